// Rollouts on the emulated device against the reference in doubles.
#include <cmath>
#include <limits>

#include "../reference/ensemble-reference.h"
#include "check.h"
#include "rollout-cases.h"

namespace reverie::test {
namespace {

double toleranceOf(Precision precision) {
  return precision == Precision::bf16 ? 6e-2 : precision == Precision::tf32 ? 2e-2 : 2e-4;
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

void run(Checks& checks, const RolloutCase& c) {
  const RolloutInputs inputs(c);
  const RolloutAnswer got = rolloutOn({}, c, inputs, inputs.request);
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

}  // namespace

int checkEnsembleRollout() {
  Checks checks("ensemble rollout");
  for (const RolloutCase& c : rolloutCases()) run(checks, c);
  return checks.finish();
}

}  // namespace reverie::test
