// Gradient steps of soft actor-critic (Haarnoja et al., 1812.05905) on the processor, as src/rl/soft-actor-critic-graph.ts has them, with
// the same parameters in the same places: critics, policy, temperature and targets together; or with an ensemble of critics (REDQ, Chen
// et al. 2021, 2101.05982; with dropout DroQ, Hiraoka et al. 2022, 2110.02034) steps of the critics and their targets, and steps of
// policy and temperature.
#pragma once

#include "network-training.h"

namespace reverie::processor {

struct ActorCriticSpec {
  int obsDim, actionDim, batchSize, critics;
  /** Of critics and policy alike. */
  std::vector<int> hidden;
  Activation activation;
  bool normalisesCritics;
  /** Critics of residual blocks, all of one width; and all networks see observations scaled, as the policy's array says. */
  bool isResidual;
  float tau, rewardScale, targetEntropy;
  /** Actions are bias + scale * normalised, [actionDim]. */
  std::vector<float> scale, bias;
  /** Whether all learns together, in one array: of two critics, the policy by the lesser. Else it learns by the mean of all. */
  bool isJoint;
  /** Critics that a step's targets go by, and the share of hidden units of critics that are left out. */
  int drawn;
  float dropout;
};

/** What learns, with Adam's moments, written in place; no moments for what is only read. */
struct Learned {
  float *theta = nullptr, *m = nullptr, *v = nullptr;
};

/** Of each hidden layer, 1 where a unit is kept, for steps one after another: [steps, members, batchSize, width]; none without dropout. */
using UnitMasks = std::vector<const std::uint8_t*>;

/** What the hidden units of a critic are multiplied by: of each layer [features, ROW_BLOCK]; null for none. */
using UnitFactors = std::vector<AlignedFloats>;

/**
 * `steps` steps of `batchSize` rows, one after another; what critics alone (the policy alone) are fed may be null where they do not
 * learn. Critics: each layer's side by side, w0 [critics, in, out], b0 [critics, 1, out], …. Policy: [policy | log temperature], with
 * residual critics [policy | means of observations | their scales | log temperature]. Where
 * all learns together both are the one array [critics | policy | log temperature].
 */
struct ActorCriticRun {
  int steps = 0;
  Learned critics, policy;
  float* target = nullptr;
  /** Rows; actions in the environment's units, noise standard normal. */
  const float *obs = nullptr, *action = nullptr, *reward = nullptr, *discount = nullptr, *nextObs = nullptr, *weight = nullptr;
  const float *nextNoise = nullptr, *noise = nullptr;
  /** [steps, drawn]; null for all in their order. */
  const std::int32_t* drawn = nullptr;
  UnitMasks own, next;
  /** [steps] Adam's scalars. */
  const float *adamAlpha = nullptr, *adamEpsilon = nullptr;
  /** [steps] Answers. */
  float *criticLoss = nullptr, *q = nullptr, *policyLoss = nullptr, *alpha = nullptr, *entropy = nullptr;
};

class ActorCritic {
 public:
  /** Throws std::invalid_argument for sizes and settings that are none. */
  ActorCritic(const ActorCriticSpec& spec, const Width& width);

  /** Elements of all critics; and of the array with the policy. */
  std::size_t criticSize() const { return criticSize_; }
  std::size_t thetaSize() const { return thetaSize_; }

  void run(const ActorCriticRun& run);

 private:
  void learnCritics(const ActorCriticRun& run, float alpha, int step, int row);
  void learnCritic(const float* critics, int critic, const UnitFactors* factors, bool goesOn);
  void learnPolicy(const ActorCriticRun& run, float alpha, int step, int row);
  /** Gradients of the block's actions through critics, whose own parameters stay: through the lesser of two, or the mean of all. */
  void criticiseByLesser(const float* critics, float alpha);
  void criticiseByMean(const ActorCriticRun& run, float alpha, int step, int row);
  void adam(const Learned& learned, std::size_t from, std::size_t to, const float* gradient, float alpha, float epsilon) const;
  void standardise(const float* theta, float* obs) const;
  void takeActions(const float* action);
  float temperature(float logAlpha) const;
  float share() const { return 1.0f / static_cast<float>(spec_.batchSize); }
  /** Of the block's rows, the first of which is `row` of its step; null without dropout. */
  const UnitFactors* factorsOf(const UnitMasks& masks, int members, int step, int member, int row);

  const ActorCriticSpec spec_;
  const Width& width_;
  std::size_t criticSize_ = 0, policyStart_ = 0, policyEnd_ = 0, thetaSize_ = 0;
  std::vector<TrainedNetwork> critics_;
  TrainedNetwork policy_;
  /** Where all learns together, `gradient_` has the critics' too. */
  AlignedFloats criticGradient_, gradient_;
  const float kept_;
  UnitFactors factors_;

  /** A block of rows and what becomes of them, [features, ROW_BLOCK]; `here` and `next`: observation and then action. */
  int rows_ = 0;
  AlignedFloats here_, next_, noise_, nextNoise_, actionGradient_, reward_, discount_, weight_, target_, logProb_;
  std::unique_ptr<NetworkRows> criticRows_, secondRows_, policyRows_;
  /** Over the rows of a step so far. */
  double squares_ = 0, values_ = 0, policyLoss_ = 0, logProbs_ = 0;
};

}  // namespace reverie::processor
