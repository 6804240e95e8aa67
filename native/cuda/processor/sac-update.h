// Gradient steps of soft actor-critic (Haarnoja et al., 1812.05905) on the processor: critics, policy, temperature and targets
// together, as src/rl/sac/sac-graph.ts has them, with the same parameters in the same places.
#pragma once

#include <memory>

#include "network-training.h"

namespace reverie::processor {

struct SacSpec {
  int obsDim, actionDim, batchSize;
  /** Of critics and policy alike. */
  std::vector<int> hidden;
  LayerEnd activation;
  bool normalisesCritics;
  float tau, rewardScale, targetEntropy;
  /** Step sizes of policy and temperature relative to the critics'. */
  float actorRate, temperatureRate;
  /** Actions are bias + scale * normalised, [actionDim]. */
  std::vector<float> scale, bias;
};

/**
 * theta = [critics | policy | log temperature], each critic's layers side by side (w0 [2, in, out], b0 [2, 1, out], …), with
 * Adam's moments; target [critics]. Written in place.
 */
struct SacState {
  float *theta, *m, *v, *target;
};

/** For `steps` steps of `batchSize` rows, one after another; actions in the environment's units, noise standard normal. */
struct SacBatches {
  int steps;
  const float *obs, *action, *reward, *discount, *nextObs, *weight, *noise, *nextNoise;
  /** [steps] Adam's scalars. */
  const float *adamAlpha, *adamEpsilon;
};

/** [steps] each. */
struct SacMetrics {
  float *criticLoss, *policyLoss, *alpha, *entropy, *q;
};

class SacUpdate {
 public:
  /** Throws std::invalid_argument for sizes that are none. */
  SacUpdate(const SacSpec& spec, const Width& width);
  ~SacUpdate();

  std::size_t stateSize() const { return size_; }
  std::size_t criticSize() const { return criticSize_; }

  void run(const SacState& state, const SacBatches& batches, const SacMetrics& metrics);

 private:
  struct Block;
  struct Sums;
  void step(const SacState& state, const SacBatches& batches, int step, const SacMetrics& metrics);
  void take(const SacBatches& batches, std::size_t first, int rows);
  void targets(const SacState& state, float alpha);
  void learnCritics(const float* theta, bool goesOn);
  void learnPolicy(const float* theta, float alpha, bool goesOn);

  const SacSpec spec_;
  const Width& width_;
  TrainedNetwork critics_[2], policy_;
  std::size_t criticSize_ = 0, size_ = 0;
  AlignedFloats gradient_;
  std::unique_ptr<Block> block_;
};

}  // namespace reverie::processor
