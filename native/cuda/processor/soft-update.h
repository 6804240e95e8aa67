// What gradient steps of soft actor-critics (Haarnoja et al., 1812.05905) are made of: a block of rows on its way through the policy
// and critics of any number. sac-update.h and redq-update.h make whole steps of it.
#pragma once

#include "network-training.h"

namespace reverie::processor {

struct SoftSpec {
  int obsDim, actionDim, batchSize, critics;
  /** Of critics and policy alike. */
  std::vector<int> hidden;
  LayerEnd activation;
  bool normalisesCritics;
  float tau, rewardScale, targetEntropy;
  /** Actions are bias + scale * normalised, [actionDim]. */
  std::vector<float> scale, bias;
};

/** Rows of steps, one after another; actions in the environment's units, noise standard normal. */
struct SoftBatches {
  const float *obs, *action, *reward, *discount, *nextObs, *weight, *nextNoise;
};

/** Adam's arrays of what learns; written in place. */
struct Learned {
  float *theta, *m, *v;
};

/** What the hidden units of a critic are multiplied by: of each layer [features, ROW_BLOCK]; null for none. */
using UnitFactors = std::vector<AlignedFloats>;

class SoftUpdate {
 protected:
  /**
   * Critics lie side by side from element 0 of their array on (w0 [critics, in, out], b0 [critics, 1, out], …); policy and log
   * temperature behind them where `isOneArray`, else in an array of their own. Throws std::invalid_argument for sizes that are none.
   */
  SoftUpdate(const SoftSpec& spec, bool isOneArray, const Width& width);

  /** A block of rows and what becomes of them, [features, ROW_BLOCK]. */
  struct Block {
    Block(const SoftSpec& spec, const TrainedNetwork& critic, const TrainedNetwork& policy, const Width& width);

    int rows = 0;
    /** Observation and then action. */
    AlignedFloats here, next;
    AlignedFloats noise, nextNoise, actionGradient, reward, discount, weight, target, logProb;
    NetworkRows critic, policy;
  };

  /** Sums over the rows of a step so far. */
  struct Sums {
    double squares = 0, values = 0, policyLoss = 0, logProbs = 0;
  };

  void takeTransitions(const SoftBatches& batches, std::size_t first, int rows);
  void takeObservations(const float* obs, std::size_t first, int rows);
  void takeNoise(const float* noise, std::size_t first);
  /** exp of the log temperature. */
  float temperature(float logAlpha) const;
  /** To begin with none; then, for critic after critic, y = r + discount (min Q'(s', a') - alpha log pi(a'|s')). */
  void beginTargets(const float* policy);
  void lessen(const float* target, int critic, const UnitFactors* factors, bool isFirst);
  void endTargets(float alpha);
  void learnCritic(const float* critics, int critic, const UnitFactors* factors, float* gradient, bool goesOn);
  /** The policy's own actions in the place of those that were lived. */
  SquashedRows act(const float* policy);
  /** By the gradients of these actions, for which a loss of `policyLoss` a row was counted. */
  void learnPolicy(const SquashedRows& acted, const float* policy, float alpha, float* gradient, bool goesOn);
  void adam(const Learned& learned, const float* gradient, std::size_t from, std::size_t to, float alpha, float epsilon) const;
  float share() const { return 1.0f / static_cast<float>(spec_.batchSize); }

  const SoftSpec spec_;
  const Width& width_;
  std::vector<TrainedNetwork> critics_;
  TrainedNetwork policy_;
  /** Elements of all critics; of the array with the policy, whose last one is the log temperature. */
  std::size_t criticSize_ = 0, thetaSize_ = 0;
  Block block_;
  Sums sums_;

 private:
  struct Networks;
  SoftUpdate(const SoftSpec& spec, Networks networks, const Width& width);
};

}  // namespace reverie::processor
