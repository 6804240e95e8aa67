// Rollouts that the tests live.
#include "rollout-cases.h"

#include <cmath>
#include <limits>

#include "../reference/ensemble-reference.h"

namespace reverie::test {
namespace {

double toleranceOf(Precision precision) {
  return precision == Precision::tf32 ? 2e-2 : 2e-4;
}

void compareRows(Checks& checks, const RolloutCase& c, const RolloutAnswer& got, const reference::RolloutResult& want,
                 double tolerance) {
  double worst = 0;
  const auto see = [&](double a, double b) {
    worst = std::max(worst, std::isfinite(a) ? std::fabs(a - b) / std::max(1.0, std::fabs(b)) : 1e9);
  };
  const auto obsDim = static_cast<std::size_t>(c.shape.obsDim);
  const std::size_t actionDim = got.action.size() / got.branch.size();
  bool isSame = true;
  for (std::size_t i = 0; i < want.rows.size(); i++) {
    const reference::Row& row = want.rows[i];
    isSame = isSame && got.branch[i] == row.branch && got.step[i] == row.step &&
             got.terminated[i] == (row.terminated ? 1 : 0) && got.verdict[i] == static_cast<std::uint8_t>(row.verdict);
    for (std::size_t j = 0; j < obsDim; j++) see(got.obs[i * obsDim + j], row.obs[j]);
    for (std::size_t j = 0; j < obsDim; j++) see(got.nextObs[i * obsDim + j], row.nextObs[j]);
    for (std::size_t j = 0; j < actionDim; j++) see(got.action[i * actionDim + j], row.action[j]);
    see(got.reward[i], row.reward);
    if (!got.disagreement.empty()) see(got.disagreement[i], row.disagreement);
    if (!got.logProb.empty()) see(got.logProb[i] * 0.1, row.logProb * 0.1);
  }
  checks.that(isSame, c.name + ": branches, steps, verdicts");
  checks.near(worst, 0, tolerance, c.name + ": numbers");
}

}  // namespace

std::vector<RolloutCase> rolloutCases() {
  constexpr double none = std::numeric_limits<double>::infinity();
  constexpr StepOptions ts1{true, false, false}, doubt{true, false, true}, mean{false, false, false}, mode{false, true, true};
  const ModelShape learned{5, 2, 0, true, true, 3, {24, 24}};
  const ModelShape hopper{11, 3, 0, true, false, 5, {24, 24}};
  const ModelShape chosen{4, 1, 3, true, true, 2, {17}};
  const ModelShape pendulum{3, 1, 0, false, false, 7, {12, 12}};
  constexpr Precision fp32 = Precision::fp32, tf32 = Precision::tf32;
  constexpr Activation swish = Activation::swish, tanh = Activation::tanh, relu = Activation::relu;
  constexpr PolicyHead squashed = PolicyHead::squashed, gaussian = PolicyHead::gaussian, categorical = PolicyHead::categorical;
  return {
      {"learned ends, fp32", fp32, learned, squashed, swish, {16, 16}, 150, 4, ts1, none},
      {"learned ends, tf32", tf32, learned, squashed, swish, {16, 16}, 70, 2, ts1, none, false, {}, {}, false, 3},
      {"known end, tf32", tf32, hopper, gaussian, tanh, {30}, 90, 3, ts1, none, false, {}, KnownFunction::hopperEnd, false, 2},
      {"choices, doubt drops, fp32", fp32, chosen, categorical, relu, {9, 9}, 80, 5, ts1, 0.55, true, {}, {}, false, 4},
      {"doubt truncates, tf32", tf32, hopper, squashed, relu, {20, 20}, 40, 2, doubt, 1.2, false, {}, {}, false, 5},
      {"known reward, mean, fp32",
       fp32,
       pendulum,
       squashed,
       tanh,
       {8},
       30,
       3,
       mean,
       none,
       false,
       KnownFunction::pendulumReward,
       KnownFunction::pendulumEnd},
      {"modes, tf32", tf32, learned, gaussian, relu, {70}, 20, 3, mode, none, false, {}, {}, true, 6},
      {"policy wider than the fused kernels", tf32, learned, squashed, relu, {300}, 10, 2, ts1, none, false, {}, {}, false, 7},
      {"one branch, one step", tf32, learned, squashed, swish, {16}, 1, 1, ts1, none},
  };
}

RolloutInputs::RolloutInputs(const RolloutCase& c)
    : spec(randomSpec(c.shape, c.seed)),
      policy(randomPolicy(c.shape, c.head, c.activation, c.policyHidden, c.seed + 100)),
      starts(numbers(static_cast<std::size_t>(c.branches) * static_cast<std::size_t>(c.shape.obsDim), c.seed + 200)) {
  if (c.ends == KnownFunction::hopperEnd) {
    for (std::size_t i = 0; i < starts.size(); i++) starts[i] = i % 11 == 0 ? 1.3f + 0.1f * starts[i] : 0.05f * starts[i];
    for (float& scale : spec.targetScale) scale *= 0.3f;
  }
  for (int t = 0; t < c.horizon; t++) {
    actStreams.push_back({c.seed, static_cast<std::uint32_t>(t), static_cast<std::uint64_t>(t)});
    modelStreams.push_back({static_cast<std::uint32_t>(t), c.seed, 3});
  }
  request.branches = c.branches;
  request.starts = starts.data();
  request.horizon = c.horizon;
  request.policy = &policy;
  request.isPolicyDeterministic = c.isPolicyDeterministic;
  request.step = c.step;
  request.disagreementLimit = static_cast<float>(c.limit);
  request.dropsDoubted = c.dropsDoubted;
  request.actStreams = actStreams.data();
  request.modelStreams = modelStreams.data();
  request.reward = c.reward;
  request.ends = c.ends;
}

RolloutAnswer rolloutOn(const emulator::Options& options, const RolloutCase& c, const RolloutInputs& inputs,
                        const RolloutRequest& request, std::optional<TileHeight> height) {
  const auto device = emulator::makeEmulatedDevice(options);
  DeviceEnsemble ensemble(*device, inputs.spec, c.precision, height);
  RolloutAnswer answer;
  ensemble.rollout(request, answer);
  return answer;
}

void compareRollout(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutAnswer& got) {
  const reference::RolloutResult want = reference::rollout(inputs.spec, inputs.request, c.precision);
  const double tolerance = toleranceOf(c.precision);
  checks.that(want.closestCall > tolerance / 20,
              c.name + ": is a case in which nothing hangs on rounding, " + std::to_string(want.closestCall));
  checks.that(got.lived == want.lived && got.alive == want.alive && got.terminatedRows == want.terminated &&
                  got.doubted == want.doubted && got.outOfHorizon == want.outOfHorizon && got.nonFinite == want.nonFinite,
              c.name + ": counts");
  const double share = static_cast<double>(want.lived);
  checks.near(got.rewardSum / share, want.rewardSum / share, tolerance, c.name + ": sum of rewards");
  checks.near(got.rewardSquares / share, want.rewardSquares / share, tolerance * 10, c.name + ": sum of squares");
  if (!checks.that(got.rows == static_cast<std::int64_t>(want.rows.size()), c.name + ": number of rows")) return;
  compareRows(checks, c, got, want, tolerance);
}

}  // namespace reverie::test
