// The ensemble's step and rollout in doubles and plain loops: what src/worldmodel/ensemble and src/synth/rollout compute.
#pragma once

#include "../engine/ensemble.h"

namespace reverie::reference {

struct StepResult {
  std::vector<double> nextObs, reward, disagreement;
  std::vector<int> terminated, elite;
  /** How far the drawn chance was from the end's probability: near zero either verdict is right. */
  std::vector<double> endMargin;
  std::vector<double> noise;
};

/**
 * Outputs of a perceptron; hidden layers activated. Weights and inputs of products are rounded to the bits of `rounding`, and
 * nothing else: what is left between this and a kernel is the order of sums.
 */
std::vector<double> forward(const std::vector<Layer>& layers, Activation activation, std::vector<double> x,
                            Precision rounding = Precision::fp32);

/** Of rows 0, stride, 2 stride ... */
StepResult step(const EnsembleSpec& spec, const StepRequest& request, Precision rounding = Precision::fp32, std::int64_t stride = 1);

struct Row {
  std::vector<double> obs, action, nextObs;
  double reward, logProb, disagreement;
  Verdict verdict;
  bool terminated;
  std::uint32_t branch, step;
};

struct RolloutResult {
  /** Rows of the branches, each branch's steps in order; dropped ones are not here. */
  std::vector<Row> rows;
  std::int64_t lived = 0, terminated = 0, outOfHorizon = 0, doubted = 0, nonFinite = 0;
  double rewardSum = 0, rewardSquares = 0;
  std::vector<std::int64_t> alive;
  /** Smallest distance of any disagreement from the limit, and of any chance from its probability. */
  double closestCall = 1e30;
};

RolloutResult rollout(const EnsembleSpec& spec, const RolloutRequest& request, Precision rounding = Precision::fp32);

}  // namespace reverie::reference
