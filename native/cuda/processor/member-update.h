// Gradient steps of one member of an ensemble on the processor, as src/worldmodel/ensemble/member-training.ts has them, with the same
// parameters in the same places: a network with a Gaussian head of bounded log-variance, and a logit of the end where it is learned.
#pragma once

#include <memory>

#include "network-training.h"

namespace reverie::processor {

struct MemberSpec {
  int inputDim, outputDim, batchSize;
  std::vector<int> hidden;
  bool learnsTermination;
  /** Pull that tightens the learned bounds. */
  float logVarPenalty;
};

/** theta = [layers | upper bounds | lower bounds] with Adam's moments; written in place. */
struct MemberState {
  float *theta, *m, *v;
};

/** Normalised rows to choose from, and what counts how much. */
struct MemberRows {
  /** [rows, inputDim], [rows, outputDim], [rows] */
  const float *inputs, *targets, *terminated;
  /** [outputDim]; and of every parameter, what of it is added to its gradient. */
  const float *weights, *decay;
};

struct MemberSteps {
  int steps;
  /** [steps, batchSize] */
  const std::int32_t* rows;
  /** [steps] Adam's scalars. */
  const float *adamAlpha, *adamEpsilon;
};

class MemberUpdate {
 public:
  /** Throws std::invalid_argument for sizes that are none. */
  MemberUpdate(const MemberSpec& spec, const Width& width);
  ~MemberUpdate();

  std::size_t stateSize() const { return size_; }

  /** @param nll [steps], the mean negative log-likelihood */
  void run(const MemberState& state, const MemberRows& rows, const MemberSteps& steps, float* nll);

 private:
  struct Block;
  double learn(const float* theta, const MemberRows& rows, const std::int32_t* chosen, int count, bool goesOn);
  void take(const MemberRows& rows, const std::int32_t* chosen, int count);

  const MemberSpec spec_;
  const Width& width_;
  TrainedNetwork network_;
  std::size_t bounds_ = 0, size_ = 0;
  AlignedFloats gradient_;
  std::unique_ptr<Block> block_;
};

}  // namespace reverie::processor
