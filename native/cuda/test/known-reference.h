// The known functions of src/env in doubles.
#pragma once

#include <cmath>
#include <vector>

#include "../kernels/known.h"

namespace reverie::reference {

using Values = std::vector<double>;

inline bool knownEnd(KnownFunction function, const Values& next) {
  const auto isBetween = [&](std::size_t j, double low, double high) { return next[j] > low && next[j] < high; };
  const auto isWithin = [&](std::size_t j, double low, double high) { return next[j] >= low && next[j] <= high; };
  const double angle = 12 * 2 * std::acos(-1.0) / 360;
  bool isHealthy = true;
  switch (function) {
    case KnownFunction::cartpoleEnd:
      return std::fabs(next[0]) > 2.4 || std::fabs(next[2]) > angle;
    case KnownFunction::hopperEnd:
      for (std::size_t j = 1; j < 11; j++) isHealthy = isHealthy && isBetween(j, -100, 100);
      return !(isHealthy && next[0] > 0.7 && isBetween(1, -0.2, 0.2));
    case KnownFunction::walker2dEnd:
      return !(isBetween(0, 0.8, 2) && isBetween(1, -1, 1));
    case KnownFunction::invertedPendulumEnd:
      return !isWithin(1, -0.2, 0.2);
    case KnownFunction::invertedDoublePendulumEnd:
      return !(0.6 * (next[3] + next[3] * next[4] - next[1] * next[2]) > 1);
    case KnownFunction::cartpoleSwingupEnd:
      return !isWithin(0, -2.4, 2.4);
    default:
      return false;
  }
}

inline double knownReward(KnownFunction function, const Values& obs, const Values& action, const Values& next) {
  const auto fall = [](double x) { return std::exp(-std::log(10.0) * x * x); };
  switch (function) {
    case KnownFunction::cartpoleReward:
      return 1;
    case KnownFunction::pendulumReward:
      return -(std::pow(std::atan2(obs[1], obs[0]), 2) + 0.1 * obs[2] * obs[2] + 0.001 * action[0] * action[0]);
    case KnownFunction::invertedPendulumReward:
      return std::fabs(next[1]) <= 0.2 ? 1 : 0;
    case KnownFunction::reacherReward:
      return -std::hypot(next[8], next[9]) - (action[0] * action[0] + action[1] * action[1]);
    case KnownFunction::cartpoleSwingupReward:
      return (0.5 * next[2] + 0.5) * (0.5 * fall(next[0] / 2) + 0.5) * (0.2 * std::fmax(0, 1 - action[0] * action[0]) + 0.8) *
             fall(next[4] / 8);
    default:
      return 0;
  }
}

}  // namespace reverie::reference
