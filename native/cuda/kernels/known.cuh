// The known functions of known.h on rows in device memory. Ends are judged in double, as the CPU does, so that both see the
// same side of a limit; rewards are computed in float.
#pragma once

#include "known.h"
#include "number.cuh"

namespace reverie {

/** Whether low < x < high; NaN is within nothing. */
REVERIE_DEVICE bool isBetween(float x, double low, double high) { return x > low && x < high; }
REVERIE_DEVICE bool isWithin(float x, double low, double high) { return x >= low && x <= high; }

REVERIE_DEVICE bool hopperIsHealthy(const float* next) {
  bool isHealthy = next[0] > 0.7 && isBetween(next[1], -0.2, 0.2);
  for (int j = 1; j < 11; j++) isHealthy = isHealthy && isBetween(next[j], -100.0, 100.0);
  return isHealthy;
}

REVERIE_DEVICE bool doublePendulumIsUp(const float* next) {
  const double sin1 = next[1], sin2 = next[2], cos1 = next[3], cos2 = next[4];
  return 0.6 * (cos1 + cos1 * cos2 - sin1 * sin2) > 1.0;
}

/** Whether the task has ended in the next observation. */
REVERIE_DEVICE bool knownEnd(KnownFunction function, const float* next) {
  constexpr double angle = 12 * 2 * 3.141592653589793 / 360;
  switch (function) {
    case KnownFunction::cartpoleEnd:
      return next[0] < -2.4 || next[0] > 2.4 || next[2] < -angle || next[2] > angle;
    case KnownFunction::hopperEnd:
      return !hopperIsHealthy(next);
    case KnownFunction::walker2dEnd:
      return !(isBetween(next[0], 0.8, 2.0) && isBetween(next[1], -1.0, 1.0));
    case KnownFunction::invertedPendulumEnd:
      return !isWithin(next[1], -0.2, 0.2);
    case KnownFunction::invertedDoublePendulumEnd:
      return !doublePendulumIsUp(next);
    case KnownFunction::cartpoleSwingupEnd:
      return !isWithin(next[0], -2.4, 2.4);
    default:
      return false;
  }
}

template <class Number>
REVERIE_DEVICE float pendulumReward(const float* obs, const float* action) {
  const float theta = Number::arcTangent(obs[1], obs[0]);
  return -(theta * theta + 0.1f * obs[2] * obs[2] + 0.001f * action[0] * action[0]);
}

REVERIE_DEVICE float reacherReward(const float* next, const float* action) {
  const float distance = squareRoot(next[8] * next[8] + next[9] * next[9]);
  return -distance - (action[0] * action[0] + action[1] * action[1]);
}

/** Upright, centred, with small control and small velocity (dm_control's tolerances). */
template <class Number>
REVERIE_DEVICE float swingupReward(const float* next, const float* action) {
  constexpr float fall = 2.302585093f;
  const float control = larger(0.0f, 1.0f - action[0] * action[0]);
  const float centred = Number::exp(-fall * (next[0] / 2.0f) * (next[0] / 2.0f));
  const float slow = Number::exp(-fall * (next[4] / 8.0f) * (next[4] / 8.0f));
  return (0.5f * next[2] + 0.5f) * (0.5f * centred + 0.5f) * (0.2f * control + 0.8f) * slow;
}

template <class Number>
REVERIE_DEVICE float knownReward(KnownFunction function, const float* obs, const float* action, const float* next) {
  switch (function) {
    case KnownFunction::cartpoleReward:
      return 1.0f;
    case KnownFunction::pendulumReward:
      return pendulumReward<Number>(obs, action);
    case KnownFunction::invertedPendulumReward:
      return isWithin(next[1], -0.2, 0.2) ? 1.0f : 0.0f;
    case KnownFunction::reacherReward:
      return reacherReward(next, action);
    case KnownFunction::cartpoleSwingupReward:
      return swingupReward<Number>(next, action);
    default:
      return 0.0f;
  }
}

}  // namespace reverie
