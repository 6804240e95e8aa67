// See cases.h.
#include "cases.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "../engine/precision-name.h"

namespace reverie::test {
namespace {

/** Largest error of a step, in deviations of the targets, that the order of sums and the special functions of a precision may leave. */
double toleranceOfStep(Precision precision) { return precision == Precision::tf32 ? 2e-2 : 3e-5; }
double toleranceOfRollout(Precision precision) { return precision == Precision::tf32 ? 5e-2 : 2e-4; }

/** One, or one a row, across a border of 32 bits of the position. */
std::vector<RandomStream> streamsOf(const StepCase& c) {
  std::vector<RandomStream> streams;
  for (std::int64_t i = 0; i < (c.hasStreamPerRow ? c.rows : 1); i++) {
    streams.push_back(
        {static_cast<std::uint32_t>(77 + i), 5, (std::uint64_t{1} << 34) - 3 + static_cast<std::uint64_t>(7 * i)});
  }
  return streams;
}

/** Of columns, relative where they are large. */
double farthest(const Column<float>& got, const Column<float>& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); i++) {
    const double error = std::fabs(static_cast<double>(got[i]) - want[i]) / std::max(1.0, std::fabs(static_cast<double>(want[i])));
    if (!(error <= worst)) worst = std::isfinite(error) ? error : INFINITY;
  }
  return worst;
}

template <class T>
bool equal(const Column<T>& a, const Column<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

std::vector<StepCase> stepCases() {
  constexpr StepOptions ts1{true, false, false}, mean{false, false, false}, doubt{true, false, true}, mode{true, true, false},
      meanMode{false, true, true};
  return {
      {{1, 1, 0, true, false, 1, {1}}, 1, ts1},
      {{3, 1, 0, false, true, 2, {17, 17}}, 33, ts1},
      {{5, 2, 3, true, true, 3, {17, 64}}, 70, doubt},
      {{11, 3, 0, true, false, 5, {64, 64}}, 200, ts1},
      {{17, 6, 0, true, false, 2, {200, 200}}, 40, ts1},
      {{4, 1, 0, true, true, 7, {24, 24, 24}}, 129, mean},
      {{4, 1, 0, true, true, 7, {24, 24}}, 65, meanMode, true},
      {{6, 2, 0, false, false, 4, {32}}, 90, mode},
      {{6, 2, 0, true, true, 6, {32, 8, 32}}, 57, ts1, true},
      {{5, 2, 0, true, false, 3, {24, 24}}, 0, ts1},
  };
}

std::string describe(const StepCase& c, Precision precision) {
  std::string text = std::string(nameOf(precision)) + " obs " + std::to_string(c.shape.obsDim) + " hidden";
  for (const int width : c.shape.hidden) text += " " + std::to_string(width);
  text += " elites " + std::to_string(c.shape.elites) + " rows " + std::to_string(c.rows);
  if (!c.options.isTs1) text += " mean";
  if (c.options.withDisagreement) text += " doubt";
  if (c.options.isDeterministic) text += " deterministic";
  return text + (c.hasStreamPerRow ? " own streams" : "");
}

StepInputs::StepInputs(const StepCase& c)
    : spec(randomSpec(c.shape, 11)),
      batch(randomBatch(c.shape, c.rows, 23)),
      streams(streamsOf(c)),
      request{c.rows, batch.obs.data(), batch.action.data(), streams.data(), c.hasStreamPerRow, c.options} {}

void compareStep(Checks& checks, const EnsembleSpec& spec, const StepRequest& request, const Answered& got, Precision precision,
                 const std::string& what) {
  processor::NativeEnsemble vectors(spec, *processor::widths().front(), 4);
  const Answered want = stepOf(vectors, spec, request);
  double worst = 0;
  const auto see = [&](double a, double b, double scale) {
    const double error = std::fabs(a - b) / scale;
    if (!(error <= worst)) worst = std::isfinite(error) ? error : 1e9;
  };
  const auto obsDim = static_cast<std::size_t>(spec.obsDim);
  for (std::size_t i = 0; i < got.nextObs.size(); i++) see(got.nextObs[i], want.nextObs[i], spec.targetScale[i % obsDim]);
  for (std::size_t i = 0; i < got.reward.size(); i++) see(got.reward[i], want.reward[i], spec.targetScale[obsDim]);
  for (std::size_t i = 0; i < got.disagreement.size(); i++) see(got.disagreement[i], want.disagreement[i], 1);
  checks.near(worst, 0, toleranceOfStep(precision), what);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.terminated.size(); i++) wrong += got.terminated[i] != want.terminated[i];
  checks.that(wrong <= got.terminated.size() / 50, what + ": ends");
}

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
      {"known reward, mean, fp32", fp32, pendulum, squashed, tanh, {8}, 30, 3, mean, none, false, KnownFunction::pendulumReward,
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

RolloutAnswer rolloutOn(Device& device, const RolloutCase& c, const RolloutInputs& inputs, const RolloutRequest& request,
                        std::optional<TileHeight> height) {
  DeviceEnsemble ensemble(device, inputs.spec, c.precision, height);
  RolloutAnswer answer;
  ensemble.rollout(request, answer);
  return answer;
}

void compareRollout(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutRequest& request,
                    const RolloutAnswer& got) {
  processor::NativeEnsemble vectors(inputs.spec, *processor::widths().front(), 4);
  RolloutAnswer want;
  vectors.rollout(request, want);
  const double tolerance = toleranceOfRollout(c.precision), rows = static_cast<double>(want.lived);
  checks.that(got.lived == want.lived && got.alive == want.alive && got.terminatedRows == want.terminatedRows &&
                  got.doubted == want.doubted && got.outOfHorizon == want.outOfHorizon && got.nonFinite == want.nonFinite,
              c.name + ": counts");
  checks.near(got.rewardSum / rows, want.rewardSum / rows, tolerance, c.name + ": sum of rewards");
  checks.near(got.rewardSquares / rows, want.rewardSquares / rows, tolerance * 10, c.name + ": sum of squares");
  checks.that(got.branch == want.branch && got.step == want.step && got.verdict == want.verdict && got.terminated == want.terminated,
              c.name + ": branches, steps, verdicts");
  for (const auto column : {&RolloutAnswer::obs, &RolloutAnswer::action, &RolloutAnswer::reward, &RolloutAnswer::nextObs,
                            &RolloutAnswer::disagreement}) {
    checks.near(farthest(got.*column, want.*column), 0, tolerance, c.name + ": numbers");
  }
  checks.near(farthest(got.logProb, want.logProb), 0, tolerance * 10, c.name + ": densities");
}

bool isSame(const RolloutAnswer& a, const RolloutAnswer& b) {
  return a.rows == b.rows && equal(a.obs, b.obs) && equal(a.action, b.action) && equal(a.nextObs, b.nextObs) &&
         equal(a.reward, b.reward) && equal(a.logProb, b.logProb) && equal(a.disagreement, b.disagreement) &&
         a.verdict == b.verdict && a.terminated == b.terminated && a.branch == b.branch && a.step == b.step &&
         a.alive == b.alive && a.lived == b.lived && a.doubted == b.doubted;
}

void checkRowsApart(Checks& checks, const std::string& what, const MakeEnsemble& make) {
  constexpr std::size_t rows = 130, cells = rows * 5;
  for (const bool withDisagreement : {false, true}) {
    StepInputs inputs({{5, 2, 0, true, true, 3, {24, 24}}, rows, {true, false, withDisagreement}, true});
    const auto ensemble = make(inputs.spec);
    const Answered whole = stepOf(*ensemble, inputs.spec, inputs.request);
    const auto isRow = [&](const Answered& got, std::size_t at, std::size_t row) {
      return std::memcmp(&got.nextObs[at * 5], &whole.nextObs[row * 5], 20) == 0 && got.reward[at] == whole.reward[row] &&
             got.terminated[at] == whole.terminated[row] && (!withDisagreement || got.disagreement[at] == whole.disagreement[row]);
    };
    bool isAlone = true;
    for (std::size_t row = 0; row < rows; row += 13) {
      const StepRequest alone{1, &inputs.batch.obs[row * 5], &inputs.batch.action[row * 2], &inputs.streams[row], row % 2 == 0,
                              inputs.request.options};
      isAlone = isAlone && isRow(stepOf(*ensemble, inputs.spec, alone), 0, row);
    }
    checks.that(isAlone, what + ": a row with a stream of its own is as if alone");
    inputs.batch.obs[33 * 5] = std::numeric_limits<float>::quiet_NaN();
    inputs.batch.obs[34 * 5] = std::numeric_limits<float>::infinity();
    const Answered broken = stepOf(*ensemble, inputs.spec, inputs.request);
    bool isSameElsewhere = broken.nextObs.size() == cells;
    for (std::size_t row = 0; row < rows; row++) isSameElsewhere = isSameElsewhere && (row == 33 || row == 34 || isRow(broken, row, row));
    checks.that(isSameElsewhere, what + ": rows beside broken ones are as they were");
    checks.that(std::isnan(broken.nextObs[33 * 5]) && !std::isfinite(broken.nextObs[34 * 5]), what + ": broken rows show it");
  }
}

}  // namespace reverie::test
