// A policy acting for rows on the processor: its network, then its head, as src/rl/policy-net.ts has it.
#pragma once

#include "packed-network.h"

namespace reverie::processor {

class PolicyRows {
 public:
  PolicyRows(const PolicySpec& policy, int obsDim, bool isDeterministic, const Width& width);

  int actionDim() const { return actionDim_; }

  /** Memory of one caller. */
  struct Scratch {
    AlignedFloats first, second, normals, unit, density, logits;
    std::vector<std::uint32_t> keys0, keys1, low, high, words;
  };
  Scratch makeScratch() const;

  /**
   * Acts for rows first .. first + count (BLOCK_ROWS at most) of a step: obs [rows, obsDim] to action [rows, actionDim] and the
   * log-density of what was drawn. Words of the stream: [rows, action columns or choices].
   */
  void act(const RandomStream& stream, Scratch& scratch, std::size_t first, int count, const float* obs, float* action,
           float* logProb) const;

 private:
  void drawWords(const RandomStream& stream, std::uint64_t offset, Scratch& scratch) const;
  float actGaussian(const RandomStream& stream, std::uint64_t row, Scratch& scratch, const float* outputs, float* action) const;
  float actChoice(const RandomStream& stream, std::uint64_t row, Scratch& scratch, const float* outputs, float* action) const;

  PolicySpec policy_;
  const Width& width_;
  PackedNetwork network_;
  int obsDim_, actionDim_;
  bool isDeterministic_;
  /** Words that a row takes. */
  int wordsOfRow_;
  AlignedFloats logStd_;
  /** Sum of the logarithms of the scale. */
  float logScale_ = 0;
};

}  // namespace reverie::processor
