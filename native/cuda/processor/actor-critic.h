// What gradient steps of actor-critics are made of: a block of rows on its way through the policy and critics of any number.
// soft-update.h builds on it.
#pragma once

#include "network-training.h"

namespace reverie::processor {

struct ActorCriticSpec {
  int obsDim, actionDim, batchSize, critics;
  /** Of critics and policy alike. */
  std::vector<int> hidden;
  LayerEnd activation;
  bool normalisesCritics;
  float tau, rewardScale;
  /** Actions are bias + scale * normalised, [actionDim]. */
  std::vector<float> scale, bias;
};

/** What the policy's network answers for an action element, and how many parameters lie behind the network's. */
struct PolicyForm {
  int outputsEach;
  std::size_t rest;
};

/** Rows of steps, one after another; actions in the environment's units, noise standard normal. */
struct Transitions {
  const float *obs, *action, *reward, *discount, *nextObs, *weight, *nextNoise;
};

/** Adam's arrays of what learns; written in place. */
struct Learned {
  float *theta, *m, *v;
};

/** What the hidden units of a critic are multiplied by: of each layer [features, ROW_BLOCK]; null for none. */
using UnitFactors = std::vector<AlignedFloats>;

class ActorCritic {
 protected:
  /**
   * Critics lie side by side from element 0 of their array on (w0 [critics, in, out], b0 [critics, 1, out], …); the policy and what
   * lies behind it follow where `isOneArray`, else they have an array of their own. Throws std::invalid_argument for sizes that are none.
   */
  ActorCritic(const ActorCriticSpec& spec, const PolicyForm& form, bool isOneArray, const Width& width);

  /** A block of rows and what becomes of them, [features, ROW_BLOCK]. */
  struct Block {
    Block(const ActorCriticSpec& spec, const TrainedNetwork& critic, const TrainedNetwork& policy, const Width& width);

    int rows = 0;
    /** Observation and then action. */
    AlignedFloats here, next;
    AlignedFloats noise, nextNoise, actionGradient, reward, discount, weight, target, logProb;
    NetworkRows critic, policy;
  };

  void takeTransitions(const Transitions& batches, std::size_t first, int rows);
  void takeObservations(const float* obs, std::size_t first, int rows);
  /** Those that were lived, of the rows that were taken last. */
  void takeActions(const float* action, std::size_t first);
  float* actions() { return block_.here.data() + spec_.obsDim * ROW_BLOCK; }
  float* nextActions() { return block_.next.data() + spec_.obsDim * ROW_BLOCK; }
  /** Critic after critic, the least value of the next actions; and then y = r + discount times that. */
  void lessen(const float* target, int critic, const UnitFactors* factors, bool isFirst);
  void endTargets();
  void learnCritic(const float* critics, int critic, const UnitFactors* factors, float* gradient, bool goesOn);
  void adam(const Learned& learned, const float* gradient, std::size_t from, std::size_t to, float alpha, float epsilon) const;
  float share() const { return 1.0f / static_cast<float>(spec_.batchSize); }

  const ActorCriticSpec spec_;
  const Width& width_;
  std::vector<TrainedNetwork> critics_;
  TrainedNetwork policy_;
  /** Elements of all critics; of the array with the policy, and of these what lies before the policy's rest. */
  std::size_t criticSize_ = 0, thetaSize_ = 0, policyEnd_ = 0;
  Block block_;
  /** Of the losses of critics and of their values, over the rows of a step so far. */
  double squares_ = 0, values_ = 0;

 private:
  struct Networks;
  ActorCritic(const ActorCriticSpec& spec, Networks networks, const Width& width);
};

/** `features` columns of rows that lie one after another, as [features, ROW_BLOCK]; rows beyond the last are zero. */
void turnInto(const float* from, int rows, int features, float* to);

}  // namespace reverie::processor
