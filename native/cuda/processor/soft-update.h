// What gradient steps of soft actor-critics (Haarnoja et al., 1812.05905) are made of, whatever the number of critics. sac-update.h and
// redq-update.h make whole steps of it.
#pragma once

#include "actor-critic.h"

namespace reverie::processor {

struct SoftSpec : ActorCriticSpec {
  float targetEntropy;
};

class SoftUpdate : protected ActorCritic {
 protected:
  /** The last parameter is the log temperature. Throws std::invalid_argument for sizes that are none. */
  SoftUpdate(const SoftSpec& spec, bool isOneArray, const Width& width);

  void beginStep();
  void takeNoise(const float* noise, std::size_t first);
  /** exp of the log temperature. */
  float temperature(float logAlpha) const;
  /** The policy's next actions, for critics to `lessen`; and then y = r + discount (min Q'(s', a') - alpha log pi(a'|s')). */
  void beginTargets(const float* policy);
  void endTargets(float alpha);
  /** The policy's own actions in the place of those that were lived. */
  SquashedRows act(const float* policy);
  /** By the gradients of these actions, for which a loss of `policyLoss` a row was counted. */
  void learnPolicy(const SquashedRows& acted, const float* policy, float alpha, float* gradient, bool goesOn);
  float temperatureGradient() const;

  const float targetEntropy_;
  /** Over the rows of a step so far. */
  double policyLoss_ = 0, logProbs_ = 0;
};

}  // namespace reverie::processor
