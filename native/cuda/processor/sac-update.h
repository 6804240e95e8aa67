// Gradient steps of soft actor-critic (Haarnoja et al., 1812.05905) on the processor: critics, policy, temperature and targets
// together, as src/rl/sac/sac-graph.ts has them, with the same parameters in the same places.
#pragma once

#include "soft-update.h"

namespace reverie::processor {

/** Of two critics. */
struct SacSpec : SoftSpec {
  /** Step sizes of policy and temperature relative to the critics'. */
  float actorRate, temperatureRate;
};

/** theta = [critics | policy | log temperature] with Adam's moments; target [critics]. Written in place. */
struct SacState : Learned {
  float* target;
};

/** For `steps` steps of `batchSize` rows, one after another. */
struct SacBatches : Transitions {
  int steps;
  const float* noise;
  /** [steps] Adam's scalars. */
  const float *adamAlpha, *adamEpsilon;
};

/** [steps] each. */
struct SacMetrics {
  float *criticLoss, *policyLoss, *alpha, *entropy, *q;
};

class SacUpdate : SoftUpdate {
 public:
  /** Throws std::invalid_argument for sizes that are none. */
  SacUpdate(const SacSpec& spec, const Width& width);

  std::size_t stateSize() const { return thetaSize_; }
  std::size_t criticSize() const { return criticSize_; }

  void run(const SacState& state, const SacBatches& batches, const SacMetrics& metrics);

 private:
  void step(const SacState& state, const SacBatches& batches, int step, const SacMetrics& metrics);
  void learn(const SacState& state, float alpha, bool goesOn);
  /** Gradients of the actions in the rows, through the lesser of the critics, whose own parameters stay. */
  void criticise(const float* theta, float alpha);

  const float actorRate_, temperatureRate_;
  AlignedFloats gradient_;
  NetworkRows second_;
};

}  // namespace reverie::processor
