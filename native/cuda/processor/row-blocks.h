// Predictions for rows of a step: blocks of rows that stay in the cache go through a network's layers, and what it answers becomes
// samples, ends and disagreement before the next block is begun.
#pragma once

#include "packed-network.h"

namespace reverie::processor {

/** Rows that go through all layers together. */
constexpr int BLOCK_ROWS = 48;

/** What the elites' answers are turned into raw units with; arrays are padded to whole vectors. */
struct Scales {
  Scales(const EnsembleSpec& spec, const Width& width);
  AlignedFloats inputMean, inputRate, varianceMin, varianceMax, logVarMax, targetMean, targetScale;
  OutputScales outputs{};
};

/** Memory of one block's work. */
struct Scratch {
  Scratch(const EnsembleSpec& spec, int stride, const Width& width);
  AlignedFloats input, first, second, answers, normals, change, ends, centre;
  std::vector<std::uint32_t> wordKeys0, wordKeys1, wordsLow, wordsHigh, words;
  std::vector<std::uint32_t> ranks;
};

/** One step's request, as blocks read it, and where their answers go. */
struct StepWork {
  const StepRequest* request;
  const StepAnswer* answer;
  /** One a row, set where a number is not finite; null where nobody asks. */
  std::uint8_t* isNonFinite = nullptr;
  /** Every elite sees every row: for their mean, or for disagreement. */
  bool asksAll() const { return !request->options.isTs1 || request->options.withDisagreement; }
};

/** Which words of a stream are whose (src/worldmodel/ensemble/step-noise.ts). */
class StepWords {
 public:
  StepWords(const StepRequest& request, int outputs) : request_(request), outputs_(static_cast<std::uint64_t>(outputs)) {}
  const RandomStream& streamOf(std::uint64_t row) const { return request_.streams[request_.hasStreamPerRow ? row : 0]; }
  std::uint64_t elite(std::uint64_t row) const { return rankOf(row); }
  std::uint64_t normals(std::uint64_t row) const { return eliteWords() + rankOf(row) * outputs_; }
  std::uint64_t end(std::uint64_t row) const { return eliteWords() + rows() * outputs_ + rankOf(row); }

 private:
  std::uint64_t rankOf(std::uint64_t row) const { return request_.hasStreamPerRow ? 0 : row; }
  std::uint64_t rows() const { return request_.hasStreamPerRow ? 1 : static_cast<std::uint64_t>(request_.rows); }
  std::uint64_t eliteWords() const { return request_.options.isTs1 ? rows() : 0; }

  const StepRequest& request_;
  std::uint64_t outputs_;
};

/** The elites, packed for a width. */
class RowBlocks {
 public:
  RowBlocks(const EnsembleSpec& spec, const Width& width);

  /** Rows `rows[0 .. count)` of the step; `elite` answers them, or -1: all do. `elites`: the elite of each row, null for none. */
  void run(const StepWork& work, Scratch& scratch, int elite, const std::uint32_t* rows, int count,
           const std::uint32_t* elites) const;

  Scratch makeScratch() const { return Scratch(spec_, networks_.front().stride(), width_); }
  std::size_t bytes() const;
  /** Multiply-adds of one elite for one row. */
  double products() const { return products_; }
  const Width& width() const { return width_; }

 private:
  void gather(const StepWork& work, const std::uint32_t* rows, int count, float* to) const;
  void drawNormals(const StepWork& work, Scratch& scratch, const std::uint32_t* rows, int count) const;
  void finishRow(const StepWork& work, Scratch& scratch, std::uint32_t row, int place, const RowAnswers& answers) const;
  void judgeEnds(const StepWork& work, Scratch& scratch, const std::uint32_t* rows, int count, const float* answers,
                 int elite, const std::uint32_t* elites) const;
  float disagreement(Scratch& scratch, const float* answers) const;

  /** Without the elites' weights. */
  EnsembleSpec spec_;
  const Width& width_;
  Scales scales_;
  std::vector<PackedNetwork> networks_;
  double products_ = 0;
};

}  // namespace reverie::processor
