// Gradient steps of TD3+BC (Fujimoto and Gu 2021, 2106.06860) on the processor: twin critics on smoothed targets, and a policy that
// follows the first of them and stays near the actions of the data, as src/rl/td3-bc/td3-bc-graph.ts has them, with the same
// parameters in the same places.
#pragma once

#include "actor-critic.h"

namespace reverie::processor {

/** Of two critics. */
struct Td3BcSpec : ActorCriticSpec {
  /** How much value counts against staying near the actions of the data. */
  float alpha;
  /** Deviation of the noise that smooths the actions of targets, and the most of it. */
  float targetNoise, targetNoiseClip;
};

/** theta = [critics | policy | log-deviations, which nothing moves] with Adam's moments, and as large a target. */
struct Td3BcState : Learned {
  float* target;
};

struct Td3BcBatches : Transitions {
  int steps;
  /** [steps] Adam's scalars for critics and policy; and 1 where the policy and all targets move, else 0. */
  const float *adamAlpha, *adamEpsilon, *policyAlpha, *policyEpsilon, *policyStep;
};

/** [steps] each. */
struct Td3BcMetrics {
  float *criticLoss, *policyLoss, *cloningLoss, *q;
};

class Td3BcUpdate : ActorCritic {
 public:
  /** Throws std::invalid_argument for sizes that are none. */
  Td3BcUpdate(const Td3BcSpec& spec, const Width& width);

  std::size_t stateSize() const { return thetaSize_; }

  void run(const Td3BcState& state, const Td3BcBatches& batches, const Td3BcMetrics& metrics);

 private:
  void step(const Td3BcState& state, const Td3BcBatches& batches, int step, const Td3BcMetrics& metrics);
  void targets(const float* target);
  /** Keeps for rows from `row` of the step on how the first critic's value changes with the policy's actions, where `isMoved`. */
  void judgePolicy(const float* theta, int row, bool isMoved);
  void learnPolicy(const float* theta, float valueShare, int row);

  const float alpha_, targetNoise_, targetNoiseClip_;
  AlignedFloats gradient_;
  /** Of all rows of a step, a block after the other. */
  AlignedFloats slopes_;
  /** Over the rows of a step so far, of the policy's actions. */
  double cloning_ = 0, value_ = 0, size_ = 0;
};

}  // namespace reverie::processor
