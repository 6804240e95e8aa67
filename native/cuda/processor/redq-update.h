// Gradient steps of soft actor-critic with an ensemble of critics (REDQ, Chen et al. 2021, 2101.05982; with dropout DroQ, Hiraoka et
// al. 2022, 2110.02034) on the processor, as src/rl/redq/redq-graph.ts has them, with the same parameters in the same places: steps of
// the critics and their targets, and steps of policy and temperature.
#pragma once

#include "soft-update.h"

namespace reverie::processor {

struct RedqSpec : SoftSpec {
  /** Critics that a step's targets go by, and the share of hidden units of critics that are left out. */
  int drawn;
  float dropout;
};

/** Of each hidden layer, 1 where a unit is kept, for steps one after another: [steps, members, batchSize, width]; none without dropout. */
using UnitMasks = std::vector<const std::uint8_t*>;

/** `theta` is that of the critics, each layer's side by side, as `target` is. */
struct CriticState : Learned {
  float* target;
};

struct CriticBatches : Transitions {
  int steps;
  /** [steps, drawn] */
  const std::int32_t* drawn;
  UnitMasks own, next;
  /** [steps] Adam's scalars. */
  const float *adamAlpha, *adamEpsilon;
};

struct PolicyBatches {
  int steps;
  const float *obs, *noise;
  UnitMasks own;
  const float *adamAlpha, *adamEpsilon;
};

class RedqUpdate : SoftUpdate {
 public:
  /** Throws std::invalid_argument for sizes that are none. */
  RedqUpdate(const RedqSpec& spec, const Width& width);

  std::size_t criticSize() const { return criticSize_; }
  /** [policy | log temperature] */
  std::size_t thetaSize() const { return thetaSize_; }

  /** @param criticLoss @param q [steps] */
  void runCritics(const CriticState& state, const float* theta, const CriticBatches& batches, float* criticLoss, float* q);

  /** By the mean of all critics. @param policyLoss @param alpha @param entropy [steps] */
  void runPolicy(const Learned& theta, const float* critics, const PolicyBatches& batches, float* policyLoss, float* alpha,
                 float* entropy);

 private:
  void learnCritics(const CriticState& state, const float* theta, float alpha, const CriticBatches& batches, int step, int row);
  void criticise(const float* critics, float alpha, const PolicyBatches& batches, int step, int row);
  /** Of the block's rows, the first of which is `row` of its step; null without dropout. */
  const UnitFactors* factorsOf(const UnitMasks& masks, int members, int step, int member, int row);

  const int drawn_;
  const float kept_;
  AlignedFloats criticGradient_, thetaGradient_;
  UnitFactors factors_;
};

}  // namespace reverie::processor
