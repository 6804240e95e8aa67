// Steps and rollouts of the ensemble against doubles: shapes that fill no tile, and millions of rows of which a sample is looked at.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check.h"
#include "expected.h"

namespace reverie::bench {
namespace {

constexpr std::int64_t sampledRows = 400;

/** All of few rows; of many some hundreds, by an odd stride that meets every place in a tile, and the last ones. */
std::vector<std::int64_t> sampleOf(std::int64_t rows) {
  const std::int64_t stride = rows <= sampledRows ? 1 : rows / sampledRows | 1;
  std::vector<std::int64_t> sample;
  for (std::int64_t row = 0; row < rows; row += stride) sample.push_back(row);
  for (std::int64_t row = std::max(sample.back() + 1, rows - 70); row < rows; row++) sample.push_back(row);
  return sample;
}

struct StepCase {
  Precision precision;
  std::int64_t rows;
  int members;
  StepOptions options;
  bool hasStreamPerRow;

  std::string name() const {
    std::string text = std::string("step ") + nameOf(precision) + " rows=" + std::to_string(rows) +
                       " members=" + std::to_string(members) + (options.isTs1 ? " ts1" : " mean");
    if (options.isDeterministic) text += " mode";
    if (options.withDisagreement) text += " disagreement";
    return text + (hasStreamPerRow ? " stream-per-row" : "");
  }
};

void checkStep(Device& device, const Shape& shape, const StepCase& asked, CheckReport& report) {
  const auto spec = randomEnsemble(shape, asked.members, 11);
  const auto obs = randomNormals(asked.rows * shape.obs, 12), action = randomUniforms(asked.rows * shape.action, 13);
  const auto streams = randomStreams(asked.hasStreamPerRow ? asked.rows : 1, 14);
  const float poison = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> nextObs(obs.size(), poison), reward(asked.rows, poison), doubt(asked.rows, poison);
  const auto ensemble = makeEnsemble(device, spec, asked.precision);
  ensemble->step({asked.rows, obs.data(), action.data(), streams.data(), asked.hasStreamPerRow, asked.options},
                 {nextObs.data(), reward.data(), nullptr, asked.options.withDisagreement ? doubt.data() : nullptr});
  long unwritten = 0;
  for (const float value : nextObs) unwritten += !std::isfinite(value);
  for (const float value : reward) unwritten += !std::isfinite(value);
  if (unwritten > 0) return report.put(asked.name(), false, std::to_string(unwritten) + " numbers not written or not finite");
  Deviation changes, doubts;
  for (const std::int64_t r : sampleOf(asked.rows)) {
    const float* from = obs.data() + r * shape.obs;
    const RowPlace place = asked.hasStreamPerRow ? RowPlace{0, 1} : RowPlace{r, asked.rows};
    const auto expected = expectedStep(spec, asked.options, streams[asked.hasStreamPerRow ? r : 0], place, from,
                                       action.data() + r * shape.action);
    for (int j = 0; j < shape.obs; j++) {
      changes.add(double{nextObs[r * shape.obs + j]} - from[j], expected.nextObs[j] - from[j]);
    }
    changes.add(reward[r], expected.reward);
    if (asked.options.withDisagreement) doubts.add(doubt[r], expected.disagreement);
  }
  report.put(asked.name(), changes, toleranceOf(asked.precision));
  if (asked.options.withDisagreement) report.put(asked.name() + ": doubt", doubts, toleranceOf(asked.precision));
}

struct RolloutCase {
  Precision precision;
  std::int64_t branches;
  int horizon, members, policyLayers, deliverEvery;
  bool withDisagreement;

  std::string name() const {
    return std::string("rollout ") + nameOf(precision) + " branches=" + std::to_string(branches) +
           " horizon=" + std::to_string(horizon) + " members=" + std::to_string(members) +
           (policyLayers > 0 ? " policy" : "") + (withDisagreement ? " disagreement" : "");
  }
};

/** A rollout, and what it was made of. */
struct Lived {
  EnsembleSpec spec;
  PolicySpec policy;
  std::vector<float> starts;
  std::vector<RandomStream> act, model;
  StepOptions options;
  RolloutAnswer answer;
};

Lived live(Device& device, const Shape& shape, const RolloutCase& asked) {
  Lived lived{randomEnsemble(shape, asked.members, 21), randomPolicy(shape, asked.policyLayers, 22),
              randomNormals(asked.branches * shape.obs, 23), randomStreams(asked.horizon, 24),
              randomStreams(asked.horizon, 25), {}, {}};
  lived.options.withDisagreement = asked.withDisagreement;
  RolloutRequest request{};
  request.branches = asked.branches;
  request.starts = lived.starts.data();
  request.horizon = asked.horizon;
  request.policy = &lived.policy;
  request.step = lived.options;
  request.disagreementLimit = std::numeric_limits<float>::infinity();
  request.actStreams = lived.act.data();
  request.modelStreams = lived.model.data();
  request.deliverEvery = asked.deliverEvery;
  makeEnsemble(device, lived.spec, asked.precision)->rollout(request, lived.answer);
  return lived;
}

/** Rows must be there, in order, and each begin where the one before it ended, to the bit. */
std::string brokenChain(const Lived& lived, const RolloutCase& asked, int obsDim) {
  const RolloutAnswer& answer = lived.answer;
  const std::int64_t delivered = (asked.branches + asked.deliverEvery - 1) / asked.deliverEvery;
  if (answer.lived != asked.branches * asked.horizon) return "lived " + std::to_string(answer.lived);
  if (answer.nonFinite != 0) return "not finite " + std::to_string(answer.nonFinite);
  if (answer.rows != delivered * asked.horizon) return "rows " + std::to_string(answer.rows);
  for (std::int64_t row = 0; row < answer.rows; row++) {
    const std::int64_t branch = row / asked.horizon * asked.deliverEvery, step = row % asked.horizon;
    if (answer.branch[row] != branch || answer.step[row] != step) return "row " + std::to_string(row) + " is another";
    const float* before = step == 0 ? lived.starts.data() + branch * obsDim : answer.nextObs.data() + (row - 1) * obsDim;
    for (int j = 0; j < obsDim; j++) {
      if (answer.obs[row * obsDim + j] != before[j]) return "row " + std::to_string(row) + " begins elsewhere";
    }
  }
  return "";
}

void compareRows(const Lived& lived, const RolloutCase& asked, const Shape& shape, CheckReport& report) {
  const RolloutAnswer& answer = lived.answer;
  Deviation actions, densities, changes;
  for (const std::int64_t row : sampleOf(answer.rows)) {
    const float* from = answer.obs.data() + row * shape.obs;
    const float* action = answer.action.data() + row * shape.action;
    const int h = static_cast<int>(answer.step[row]);
    const std::int64_t branch = answer.branch[row];
    const auto acted = expectedAction(lived.policy, lived.act[h], branch, from);
    const auto stepped = expectedStep(lived.spec, lived.options, lived.model[h], {branch, asked.branches}, from, action);
    for (int j = 0; j < shape.action; j++) actions.add(action[j], acted.action[j]);
    densities.add(answer.logProb[row], acted.logProb);
    for (int j = 0; j < shape.obs; j++) {
      changes.add(double{answer.nextObs[row * shape.obs + j]} - from[j], stepped.nextObs[j] - from[j]);
    }
    changes.add(answer.reward[row], stepped.reward);
  }
  report.put(asked.name(), changes, toleranceOf(asked.precision));
  report.put(asked.name() + ": actions", actions, toleranceOf(asked.precision));
  report.put(asked.name() + ": densities", densities, toleranceOf(asked.precision));
}

void checkRollout(Device& device, const Shape& shape, const RolloutCase& asked, CheckReport& report) {
  const Lived lived = live(device, shape, asked);
  const std::string broken = brokenChain(lived, asked, shape.obs);
  report.put(asked.name() + ": chain", broken.empty(), broken.empty() ? "every row follows the one before it" : broken);
  if (!broken.empty()) return;
  compareRows(lived, asked, shape, report);
  if (asked.deliverEvery != 1) return;
  double sum = 0, size = 0;
  for (const float reward : lived.answer.reward) {
    sum += reward;
    size += std::abs(reward);
  }
  const double error = std::abs(sum - lived.answer.rewardSum) / size;
  report.put(asked.name() + ": sum of rewards", error < 1e-5, "error " + std::to_string(error) + " of the sum of sizes");
}

}  // namespace

void checkSteps(Device& device, const Shape& shape, CheckSize size, CheckReport& report) {
  const bool isFull = size == CheckSize::full;
  StepOptions ts1, mean, doubt, mode;
  mean.isTs1 = false;
  doubt.withDisagreement = true;
  mode.isDeterministic = true;
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    std::vector<StepCase> cases{{precision, 1, 5, ts1, false},  {precision, 67, 5, ts1, false},
                                {precision, 67, 5, mean, false}, {precision, 67, 7, doubt, false},
                                {precision, 33, 5, mode, false}, {precision, 40, 3, ts1, true}};
    if (isFull) {
      for (const std::int64_t rows : {1'000, 8'191, 100'003, 2'000'003}) cases.push_back({precision, rows, 5, ts1, false});
      cases.push_back({precision, 1'000'001, 7, doubt, false});
      cases.push_back({precision, 100'003, 5, ts1, true});
    }
    for (const auto& asked : cases) report.run(asked.name(), [&] { checkStep(device, shape, asked, report); });
  }
}

void checkRollouts(Device& device, const Shape& shape, CheckSize size, CheckReport& report) {
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    std::vector<RolloutCase> cases{{precision, 70, 3, 5, 0, 1, false}, {precision, 45, 2, 7, 2, 1, true}};
    if (size == CheckSize::full) {
      cases.push_back({precision, 1'000, 16, 5, 2, 1, false});
      cases.push_back({precision, 100'003, 16, 5, 2, 97, false});
      cases.push_back({precision, 1'000'003, 16, 5, 0, 997, false});
      cases.push_back({precision, 300'001, 4, 7, 2, 101, true});
    }
    for (const auto& asked : cases) report.run(asked.name(), [&] { checkRollout(device, shape, asked, report); });
  }
}

}  // namespace reverie::bench
