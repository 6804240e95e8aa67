// Branched rollouts on the processor (Janner et al. 2019, 1906.08253, algorithm 2), as src/synth/rollout/chunk.ts lives a chunk.
#include <algorithm>
#include <cmath>

#include "../kernels/known.cuh"
#include "native-ensemble.h"
#include "policy-rows.h"

namespace reverie::processor {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

/** Functions of known.cuh as on every machine: the C library's differ. */
struct Portable {
  static float exp(float x) {
    float values[4] = {x};
    widths().back()->exponential(values, 1);
    return values[0];
  }

  /** Moshier's Cephes (atanf). */
  static float arcTangent(float y, float x) {
    constexpr float half = 1.57079632679489662f, quarter = 0.785398163397448310f;
    const float across = magnitude(x), up = magnitude(y);
    if (across == 0.0f && up == 0.0f) return 0.0f;
    float slope = up / across, base = 0.0f;
    if (slope > 2.41421356237309505f) {
      base = half;
      slope = -(across / up);
    } else if (slope > 0.414213562373095049f) {
      base = quarter;
      slope = (slope - 1.0f) / (slope + 1.0f);
    }
    const float z = slope * slope;
    float sum = 8.05374449538e-2f * z - 1.38776856032e-1f;
    sum = (sum * z + 1.99777106478e-1f) * z - 3.33329491539e-1f;
    float angle = base + (sum * z * slope + slope);
    if (x < 0.0f) angle = 2.0f * half - angle;
    return y < 0.0f ? -angle : angle;
  }
};

/** Rows in the order in which they were lived. */
struct LivedRows {
  Column<float> obs, action, reward, nextObs, logProb, disagreement;
  Column<std::uint8_t> verdict, terminated;
  Column<std::uint32_t> branch, step;
};

template <class T>
void append(Column<T>& to, const std::vector<T>& from, std::size_t row, std::size_t width) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * width);
  to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
}

/** Rows `order` of `from`, [rows, width]. */
template <class T>
Column<T> gathered(const Column<T>& from, const std::vector<std::size_t>& order, std::size_t width) {
  Column<T> to;
  if (from.empty()) return to;
  to.resize(order.size() * width);
  for (std::size_t i = 0; i < order.size(); i++) std::copy_n(from.data() + order[i] * width, width, to.data() + i * width);
  return to;
}

}  // namespace

class NativeRollout {
 public:
  NativeRollout(NativeEnsemble& ensemble, const RolloutRequest& request, RolloutAnswer& answer)
      : ensemble_(ensemble),
        request_(request),
        answer_(answer),
        shape_(ensemble.shape_),
        policy_(*request.policy, shape_.obsDim, request.isPolicyDeterministic, ensemble.blocks_.width()),
        obsDim_(size(shape_.obsDim)),
        actionDim_(size(policy_.actionDim())),
        options_(request.step),
        lastRow_(size(request.branches), NO_ROW) {
    hasLimit_ = std::isfinite(request.disagreementLimit);
    options_.withDisagreement = options_.withDisagreement || hasLimit_;
  }

  void run() {
    living_.resize(size(request_.branches));
    for (std::size_t i = 0; i < living_.size(); i++) living_[i] = static_cast<std::uint32_t>(i);
    obs_.assign(request_.starts, request_.starts + living_.size() * obsDim_);
    for (int step = 0; step < request_.horizon; step++) {
      answer_.alive.push_back(static_cast<std::int64_t>(living_.size()));
      answer_.lived += static_cast<std::int64_t>(living_.size());
      if (living_.empty()) continue;
      act(step);
      predict(step);
      judge(step);
    }
    layOut();
  }

 private:
  static constexpr std::size_t NO_ROW = ~std::size_t{0};

  void act(int step) {
    const std::size_t rows = living_.size(), blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    action_.resize(rows * actionDim_);
    logProb_.resize(rows);
    ensemble_.team_.run(blocks, [&](std::size_t i) {
      const std::size_t first = i * BLOCK_ROWS;
      const int count = static_cast<int>(std::min<std::size_t>(BLOCK_ROWS, rows - first));
      scratches_.with([&] { return policy_.makeScratch(); },
                      [&](PolicyRows::Scratch& scratch) {
                        policy_.act(request_.actStreams[step], scratch, first, count, obs_.data(), action_.data(), logProb_.data());
                      });
    });
  }

  void predict(int step) {
    const std::size_t rows = living_.size();
    nextObs_.resize(rows * obsDim_);
    reward_.resize(rows);
    terminated_.assign(rows, 0);
    disagreement_.resize(options_.withDisagreement ? rows : 0);
    isNonFinite_.resize(rows);
    const StepRequest asked{static_cast<std::int64_t>(rows), obs_.data(), action_.data(), request_.modelStreams + step, false,
                            options_};
    const StepAnswer into{nextObs_.data(), reward_.data(), terminated_.data(),
                          options_.withDisagreement ? disagreement_.data() : nullptr};
    ensemble_.runStep({&asked, &into, isNonFinite_.data()});
  }

  /** Records the rows, and keeps those that live on. */
  void judge(int step) {
    std::size_t alive = 0;
    for (std::size_t row = 0; row < living_.size(); row++) {
      const float *obs = obs_.data() + row * obsDim_, *next = nextObs_.data() + row * obsDim_;
      if (!shape_.learnsReward) {
        reward_[row] = knownReward<Portable>(request_.reward, obs, action_.data() + row * actionDim_, next);
      }
      if (!shape_.learnsTermination) terminated_[row] = knownEnd(request_.ends, next) ? 1 : 0;
      const Verdict verdict = verdictOf(step, row);
      count(row, verdict);
      record(step, row, verdict);
      if (verdict != Verdict::goesOn) continue;
      std::copy_n(next, obsDim_, obs_.begin() + static_cast<std::ptrdiff_t>(alive * obsDim_));
      living_[alive++] = living_[row];
    }
    living_.resize(alive);
    obs_.resize(alive * obsDim_);
  }

  /** Doubt goes first: where the model is not believed, neither is the end it tells. */
  Verdict verdictOf(int step, std::size_t row) const {
    if (hasLimit_ && !(disagreement_[row] <= request_.disagreementLimit)) {
      return request_.dropsDoubted ? Verdict::dropped : Verdict::doubted;
    }
    if (terminated_[row] != 0) return Verdict::terminated;
    return step + 1 == request_.horizon ? Verdict::outOfHorizon : Verdict::goesOn;
  }

  void count(std::size_t row, Verdict verdict) {
    answer_.terminatedRows += verdict == Verdict::terminated;
    answer_.outOfHorizon += verdict == Verdict::outOfHorizon;
    answer_.doubted += verdict == Verdict::doubted || verdict == Verdict::dropped;
    answer_.nonFinite += isNonFinite_[row] != 0 || !isFinite(reward_[row]);
    if (verdict == Verdict::dropped) return;
    const double reward = reward_[row];
    answer_.rewardSum += reward;
    answer_.rewardSquares += reward * reward;
  }

  void record(int step, std::size_t row, Verdict verdict) {
    const std::uint32_t branch = living_[row];
    if (request_.deliverEvery == 0 || branch % static_cast<std::uint32_t>(request_.deliverEvery) != 0) return;
    std::size_t& last = lastRow_[branch];
    if (verdict == Verdict::dropped) {
      if (last != NO_ROW) rows_.verdict[last] = static_cast<std::uint8_t>(Verdict::dropped);
      return;
    }
    last = rows_.branch.size();
    append(rows_.obs, obs_, row, obsDim_);
    append(rows_.action, action_, row, actionDim_);
    append(rows_.nextObs, nextObs_, row, obsDim_);
    rows_.reward.push_back(reward_[row]);
    if (!request_.isPolicyDeterministic) rows_.logProb.push_back(logProb_[row]);
    if (options_.withDisagreement) rows_.disagreement.push_back(disagreement_[row]);
    rows_.verdict.push_back(static_cast<std::uint8_t>(verdict));
    rows_.terminated.push_back(terminated_[row]);
    rows_.branch.push_back(branch);
    rows_.step.push_back(static_cast<std::uint32_t>(step));
  }

  /** Brings the rows of each branch together. */
  void layOut() {
    const std::size_t rows = rows_.branch.size();
    std::vector<std::size_t> next(size(request_.branches) + 1), order(rows);
    for (const std::uint32_t branch : rows_.branch) next[branch + 1]++;
    for (std::size_t i = 1; i < next.size(); i++) next[i] += next[i - 1];
    for (std::size_t row = 0; row < rows; row++) order[next[rows_.branch[row]]++] = row;
    answer_.rows = static_cast<std::int64_t>(rows);
    answer_.obs = gathered(rows_.obs, order, obsDim_);
    answer_.action = gathered(rows_.action, order, actionDim_);
    answer_.nextObs = gathered(rows_.nextObs, order, obsDim_);
    answer_.reward = gathered(rows_.reward, order, 1);
    answer_.logProb = gathered(rows_.logProb, order, 1);
    answer_.disagreement = gathered(rows_.disagreement, order, 1);
    answer_.verdict = gathered(rows_.verdict, order, 1);
    answer_.terminated = gathered(rows_.terminated, order, 1);
    answer_.branch = gathered(rows_.branch, order, 1);
    answer_.step = gathered(rows_.step, order, 1);
  }

  NativeEnsemble& ensemble_;
  const RolloutRequest& request_;
  RolloutAnswer& answer_;
  const EnsembleSpec& shape_;
  const PolicyRows policy_;
  const std::size_t obsDim_, actionDim_;
  StepOptions options_;
  bool hasLimit_ = false;

  /** Branches that live, and their step, by rank. */
  std::vector<std::uint32_t> living_;
  std::vector<float> obs_, action_, logProb_, nextObs_, reward_, disagreement_;
  std::vector<std::uint8_t> terminated_, isNonFinite_;
  ScratchPool<PolicyRows::Scratch> scratches_;
  LivedRows rows_;
  /** Row of each branch that was recorded last. */
  std::vector<std::size_t> lastRow_;
};

void NativeEnsemble::rollout(const RolloutRequest& request, RolloutAnswer& answer) {
  requireRunnable(request, shape_);
  answer = RolloutAnswer{};
  NativeRollout(*this, request, answer).run();
}

}  // namespace reverie::processor
