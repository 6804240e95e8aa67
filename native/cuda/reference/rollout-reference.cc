// Rollouts of the ensemble, in doubles, as src/synth/rollout/chunk.ts lives a chunk.
#include <algorithm>
#include <cmath>

#include "ensemble-reference.h"
#include "known-reference.h"
#include "random-reference.h"

namespace reverie::reference {
namespace {

const double LOG_TWO = std::log(2.0), HALF_LOG_TWO_PI = 0.5 * std::log(2 * std::acos(-1.0));

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

struct Acted {
  std::vector<double> action;
  double logProb = 0;
};

/** Gumbel-max over logits (src/rl/policy-net.ts, categoricalOutputs). */
Acted choose(const PolicySpec& policy, const std::vector<double>& logits, const RandomStream& stream, std::uint64_t first,
             bool isMode) {
  const double peak = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - peak);
  std::size_t chosen = 0;
  double best = 0;
  for (std::size_t j = 0; j < logits.size(); j++) {
    const double uniform = 1e-7 + uniformOf(wordOf(stream, first + j)) * (1 - 2e-7);
    const double score = isMode ? logits[j] : logits[j] - std::log(-std::log(uniform));
    if (j > 0 && !(score > best)) continue;
    best = score;
    chosen = j;
  }
  return {{static_cast<double>(chosen) + policy.start}, logits[chosen] - peak - std::log(sum)};
}

Acted act(const PolicySpec& policy, const std::vector<double>& obs, const RandomStream& stream, std::uint64_t rank, bool isMode,
          Precision rounding) {
  const std::vector<double> out = forward(policy.layers, policy.activation, obs, rounding);
  if (policy.head == PolicyHead::categorical) return choose(policy, out, stream, rank * out.size(), isMode);
  Acted acted;
  const std::size_t columns = policy.scale.size();
  for (std::size_t j = 0; j < columns; j++) {
    const double noise = isMode ? 0 : normalOf(wordOf(stream, rank * columns + j));
    const bool isSquashed = policy.head == PolicyHead::squashed;
    const double logStd = isSquashed ? std::min(std::max(out[columns + j], -10.0), 2.0) : policy.logStd[j];
    const double before = out[j] + std::exp(logStd) * noise;
    acted.logProb += -0.5 * noise * noise - logStd - HALF_LOG_TWO_PI - std::log(static_cast<double>(policy.scale[j]));
    if (isSquashed) acted.logProb += 2 * (before + softplus(-2 * before)) - 2 * LOG_TWO;
    const double unit = isSquashed ? std::tanh(before) : std::min(std::max(before, -1.0), 1.0);
    acted.action.push_back(
        std::min<double>(std::max<double>(unit * policy.scale[j] + policy.bias[j], policy.low[j]), policy.high[j]));
  }
  return acted;
}

struct Living {
  std::uint32_t branch;
  std::vector<double> obs;
};

std::vector<float> rounded(const std::vector<double>& values) { return std::vector<float>(values.begin(), values.end()); }

Verdict verdictOf(const RolloutRequest& request, int step, double disagreement, bool isEnd) {
  if (std::isfinite(request.disagreementLimit) && !(disagreement <= request.disagreementLimit))
    return request.dropsDoubted ? Verdict::dropped : Verdict::doubted;
  if (isEnd) return Verdict::terminated;
  return step + 1 == request.horizon ? Verdict::outOfHorizon : Verdict::goesOn;
}

void count(RolloutResult& result, const Row& row) {
  result.terminated += row.verdict == Verdict::terminated;
  result.outOfHorizon += row.verdict == Verdict::outOfHorizon;
  result.doubted += row.verdict == Verdict::doubted || row.verdict == Verdict::dropped;
  bool isFinite = std::isfinite(row.reward);
  for (const double value : row.nextObs) isFinite = isFinite && std::isfinite(value);
  result.nonFinite += !isFinite;
  if (row.verdict == Verdict::dropped) return;
  result.rewardSum += row.reward;
  result.rewardSquares += row.reward * row.reward;
}

/** Lives one step of all living branches; answers the rows in their order. */
std::vector<Row> liveStep(const EnsembleSpec& spec, const RolloutRequest& request, int step, const std::vector<Living>& living,
                          Precision rounding, double& closestCall) {
  std::vector<float> obs, action;
  std::vector<Row> rows;
  for (std::size_t rank = 0; rank < living.size(); rank++) {
    Row row{};
    row.branch = living[rank].branch;
    row.step = static_cast<std::uint32_t>(step);
    row.obs = living[rank].obs;
    Acted acted = act(*request.policy, row.obs, request.actStreams[step], rank, request.isPolicyDeterministic, rounding);
    row.action = std::move(acted.action);
    row.logProb = acted.logProb;
    for (const float value : rounded(row.obs)) obs.push_back(value);
    for (const float value : rounded(row.action)) action.push_back(value);
    rows.push_back(std::move(row));
  }
  StepOptions options = request.step;
  options.withDisagreement = options.withDisagreement || std::isfinite(request.disagreementLimit);
  const StepRequest asked{
      static_cast<std::int64_t>(rows.size()), obs.data(), action.data(), request.modelStreams + step, false, options};
  const StepResult stepped = reference::step(spec, asked, rounding);
  const auto dim = static_cast<std::size_t>(spec.obsDim);
  for (std::size_t i = 0; i < rows.size(); i++) {
    Row& row = rows[i];
    row.nextObs.assign(stepped.nextObs.begin() + static_cast<std::ptrdiff_t>(i * dim),
                       stepped.nextObs.begin() + static_cast<std::ptrdiff_t>((i + 1) * dim));
    row.reward = spec.learnsReward ? stepped.reward[i] : knownReward(request.reward, row.obs, row.action, row.nextObs);
    row.terminated = spec.learnsTermination ? stepped.terminated[i] != 0 : knownEnd(request.ends, row.nextObs);
    if (spec.learnsTermination) closestCall = std::min(closestCall, stepped.endMargin[i]);
    if (options.withDisagreement) row.disagreement = stepped.disagreement[i];
    if (std::isfinite(request.disagreementLimit))
      closestCall = std::min(closestCall, std::fabs(row.disagreement - request.disagreementLimit));
    row.verdict = verdictOf(request, step, row.disagreement, row.terminated);
  }
  return rows;
}

}  // namespace

RolloutResult rollout(const EnsembleSpec& spec, const RolloutRequest& request, Precision rounding) {
  RolloutResult result;
  const auto dim = static_cast<std::size_t>(spec.obsDim);
  std::vector<Living> living;
  for (std::int64_t i = 0; i < request.branches; i++) {
    const float* start = request.starts + static_cast<std::size_t>(i) * dim;
    living.push_back({static_cast<std::uint32_t>(i), std::vector<double>(start, start + dim)});
  }
  std::vector<std::vector<Row>> byBranch(living.size());
  for (int step = 0; step < request.horizon; step++) {
    result.alive.push_back(static_cast<std::int64_t>(living.size()));
    result.lived += static_cast<std::int64_t>(living.size());
    if (living.empty()) continue;
    std::vector<Living> survivors;
    for (Row& row : liveStep(spec, request, step, living, rounding, result.closestCall)) {
      count(result, row);
      if (row.verdict == Verdict::goesOn) survivors.push_back({row.branch, row.nextObs});
      auto& rows = byBranch[row.branch];
      if (row.verdict != Verdict::dropped) {
        rows.push_back(std::move(row));
      } else if (!rows.empty()) {
        rows.back().verdict = Verdict::dropped;
      }
    }
    living = std::move(survivors);
  }
  for (auto& rows : byBranch) std::move(rows.begin(), rows.end(), std::back_inserter(result.rows));
  return result;
}

}  // namespace reverie::reference
