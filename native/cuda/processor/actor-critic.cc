#include "actor-critic.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace reverie::processor {
namespace {

/** Times its width that a residual block is wide inside. */
constexpr int EXPANSION = 4;

void requireWhole(const ActorCriticSpec& spec) {
  const auto isSize = [](int size) { return size >= 1 && size <= 1 << 20; };
  const auto actions = static_cast<std::size_t>(spec.actionDim);
  if (!isSize(spec.obsDim) || !isSize(spec.actionDim) || !isSize(spec.batchSize) || !isSize(spec.critics) ||
      spec.hidden.empty() || !std::all_of(spec.hidden.begin(), spec.hidden.end(), isSize) || spec.scale.size() != actions ||
      spec.bias.size() != actions || spec.activation == Activation::none) {
    throw std::invalid_argument("a learner whose sizes do not fit each other");
  }
  const bool isOneWidth = std::adjacent_find(spec.hidden.begin(), spec.hidden.end(), std::not_equal_to<>()) == spec.hidden.end();
  if (spec.drawn < 1 || spec.drawn > spec.critics || !(spec.dropout >= 0 && spec.dropout < 1) ||
      (spec.isResidual && (spec.critics != 2 || spec.dropout != 0 || spec.normalisesCritics || !isOneWidth)) ||
      (spec.isJoint && (spec.isResidual || spec.critics != 2 || spec.drawn != 2 || spec.dropout != 0))) {
    throw std::invalid_argument("critics whose settings do not fit each other");
  }
}

/** `features` columns of rows that lie one after another, as [features, ROW_BLOCK]; rows beyond the last are zero. */
void turnInto(const float* from, int rows, int features, float* to) {
  for (int f = 0; f < features; f++) {
    float* const column = to + f * ROW_BLOCK;
    for (int row = 0; row < rows; row++) column[row] = from[row * features + f];
    std::fill(column + rows, column + ROW_BLOCK, 0.0f);
  }
}

}  // namespace

ActorCritic::ActorCritic(const ActorCriticSpec& spec, const Width& width)
    : spec_(spec), width_(width), kept_(static_cast<float>(1 / (1 - static_cast<double>(spec.dropout)))) {
  requireWhole(spec);
  std::vector<int> sizes = {spec.obsDim + spec.actionDim};
  if (spec.isResidual) sizes.push_back(spec.hidden.front());
  for (const int units : spec.hidden) {
    if (spec.isResidual) sizes.push_back(EXPANSION * units);
    sizes.push_back(units);
  }
  sizes.push_back(1);
  const TrainedNetwork critic{{}, spec.activation, spec.normalisesCritics, spec.isResidual};
  critics_ = networksAt(criticSize_, sizes, critic, static_cast<std::size_t>(spec.critics));
  sizes = {spec.obsDim};
  sizes.insert(sizes.end(), spec.hidden.begin(), spec.hidden.end());
  sizes.push_back(2 * spec.actionDim);
  policyEnd_ = policyStart_ = spec.isJoint ? criticSize_ : 0;
  policy_ = networksAt(policyEnd_, sizes, {{}, spec.activation, false, false}, 1).front();
  thetaSize_ = policyEnd_ + (spec.isResidual ? 2 * spec.obsDim : 0) + 1;
  gradient_ = AlignedFloats(thetaSize_);
  if (!spec.isJoint) criticGradient_ = AlignedFloats(criticSize_);
  for (const int units : spec.hidden) {
    if (spec.dropout > 0) factors_.emplace_back(static_cast<std::size_t>(units) * ROW_BLOCK);
  }
  const auto columns = [](int count) { return AlignedFloats(static_cast<std::size_t>(padded(count)) * ROW_BLOCK); };
  for (AlignedFloats* each : {&here_, &next_}) *each = columns(spec.obsDim + spec.actionDim);
  for (AlignedFloats* each : {&noise_, &nextNoise_, &actionGradient_}) *each = columns(spec.actionDim);
  for (AlignedFloats* each : {&reward_, &discount_, &weight_, &target_, &logProb_}) *each = columns(1);
  criticRows_ = std::make_unique<NetworkRows>(critics_.front(), width);
  if (spec.isJoint || spec.isResidual) secondRows_ = std::make_unique<NetworkRows>(critics_.back(), width);
  policyRows_ = std::make_unique<NetworkRows>(policy_, width);
}

void ActorCritic::run(const ActorCriticRun& run) {
  const bool learnsCritics = run.critics.m != nullptr, learnsPolicy = run.policy.m != nullptr;
  const double rows = spec_.batchSize;
  for (int step = 0; step < run.steps; step++) {
    const float alpha = temperature(run.policy.theta[thetaSize_ - 1]);
    squares_ = values_ = policyLoss_ = logProbs_ = 0;
    // All by the parameters of before the step.
    for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) {
      const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
      rows_ = std::min(ROW_BLOCK, spec_.batchSize - row);
      turnInto(run.obs + first * spec_.obsDim, rows_, spec_.obsDim, here_.data());
      standardise(run.policy.theta, here_.data());
      if (learnsCritics) learnCritics(run, alpha, step, row);
      if (learnsPolicy) learnPolicy(run, alpha, step, row);
    }
    const float rate = run.adamAlpha[step], epsilon = run.adamEpsilon[step];
    if (learnsCritics) {
      adam(run.critics, 0, criticSize_, (spec_.isJoint ? gradient_ : criticGradient_).data(), rate, epsilon);
      width_.training->follow(run.target, run.critics.theta, static_cast<std::int64_t>(criticSize_), spec_.tau);
      run.criticLoss[step] = static_cast<float>(squares_ / rows);
      run.q[step] = static_cast<float>(values_ / (spec_.critics * rows));
    }
    if (learnsPolicy) {
      gradient_.data()[thetaSize_ - 1] = static_cast<float>(-(logProbs_ / rows + spec_.targetEntropy));
      adam(run.policy, policyStart_, policyEnd_, gradient_.data(), rate, epsilon);
      adam(run.policy, thetaSize_ - 1, thetaSize_, gradient_.data(), rate, epsilon);
      run.policyLoss[step] = static_cast<float>(policyLoss_ / rows);
      run.alpha[step] = alpha;
      run.entropy[step] = static_cast<float>(-logProbs_ / rows);
    }
  }
}

/** By y = r + discount (min Q'(s', a') - alpha log pi(a'|s')), from the block of rows that begins with `row`. */
void ActorCritic::learnCritics(const ActorCriticRun& run, float alpha, int step, int row) {
  const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
  const int obs = spec_.obsDim, actions = spec_.actionDim;
  takeActions(run.action + first * actions);
  turnInto(run.nextObs + first * obs, rows_, obs, next_.data());
  standardise(run.policy.theta, next_.data());
  turnInto(run.nextNoise + first * actions, rows_, actions, nextNoise_.data());
  turnInto(run.reward + first, rows_, 1, reward_.data());
  turnInto(run.discount + first, rows_, 1, discount_.data());
  turnInto(run.weight + first, rows_, 1, weight_.data());
  const float* out = policyRows_->forward(run.policy.theta, next_.data(), rows_);
  width_.training->squash({actions, padded(rows_), out, nextNoise_.data(), next_.data() + obs * ROW_BLOCK, logProb_.data()});
  float* const y = target_.data();
  for (int i = 0; i < spec_.drawn; i++) {
    criticRows_->turnTo(critics_[run.drawn != nullptr ? run.drawn[step * spec_.drawn + i] : i]);
    const float* q = criticRows_->forward(run.target, next_.data(), rows_, factorsOf(run.next, spec_.drawn, step, i, row));
    for (int at = 0; at < rows_; at++) y[at] = i == 0 || q[at] < y[at] ? q[at] : y[at];
  }
  for (int at = 0; at < rows_; at++) {
    y[at] = y[at] - alpha * logProb_.data()[at];
    y[at] = reward_.data()[at] * spec_.rewardScale + discount_.data()[at] * y[at];
  }
  for (int critic = 0; critic < spec_.critics; critic++) {
    learnCritic(run.critics.theta, critic, factorsOf(run.own, spec_.critics, step, critic, row), row > 0);
  }
}

void ActorCritic::learnCritic(const float* critics, int critic, const UnitFactors* factors, bool goesOn) {
  const float *y = target_.data(), *weight = weight_.data();
  criticRows_->turnTo(critics_[critic]);
  const float* q = criticRows_->forward(critics, here_.data(), rows_, factors);
  float* const gradient = criticRows_->outputGradient();
  for (int row = 0; row < rows_; row++) {
    const float error = q[row] - y[row];
    gradient[row] = weight[row] * error * share();
    squares_ += 0.5 * weight[row] * error * error;
    values_ += q[row];
  }
  criticRows_->parameterGradients(critics, (spec_.isJoint ? gradient_ : criticGradient_).data(), goesOn);
}

/** By its own actions, in the place of those that were lived. */
void ActorCritic::learnPolicy(const ActorCriticRun& run, float alpha, int step, int row) {
  const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
  turnInto(run.noise + first * spec_.actionDim, rows_, spec_.actionDim, noise_.data());
  const float* out = policyRows_->forward(run.policy.theta, here_.data(), rows_);
  const SquashedRows acted{spec_.actionDim, padded(rows_), out, noise_.data(), here_.data() + spec_.obsDim * ROW_BLOCK, logProb_.data()};
  width_.training->squash(acted);
  if (spec_.isJoint || spec_.isResidual) {
    criticiseByLesser(run.critics.theta, alpha);
  } else {
    criticiseByMean(run, alpha, step, row);
  }
  for (int at = 0; at < rows_; at++) logProbs_ += logProb_.data()[at];
  width_.training->squashBack(acted, actionGradient_.data(), alpha * share(), policyRows_->outputGradient());
  policyRows_->parameterGradients(run.policy.theta, gradient_.data(), row > 0);
}

void ActorCritic::criticiseByLesser(const float* critics, float alpha) {
  NetworkRows &first = *criticRows_, &second = *secondRows_;
  first.turnTo(critics_.front());
  const float *firstValue = first.forward(critics, here_.data(), rows_), *secondValue = second.forward(critics, here_.data(), rows_);
  float *firstGradient = first.outputGradient(), *secondGradient = second.outputGradient();
  for (int row = 0; row < rows_; row++) {
    const bool isSecond = secondValue[row] < firstValue[row];
    firstGradient[row] = isSecond ? 0.0f : -share();
    secondGradient[row] = isSecond ? -share() : 0.0f;
    const double logProb = logProb_.data()[row];
    policyLoss_ += alpha * logProb - (isSecond ? secondValue[row] : firstValue[row]);
  }
  first.inputGradients(critics, spec_.obsDim, actionGradient_.data(), false);
  second.inputGradients(critics, spec_.obsDim, actionGradient_.data(), true);
}

void ActorCritic::criticiseByMean(const ActorCriticRun& run, float alpha, int step, int row) {
  const float* const critics = run.critics.theta;
  const int count = spec_.critics;
  for (int at = 0; at < rows_; at++) policyLoss_ += static_cast<double>(alpha) * logProb_.data()[at];
  for (int critic = 0; critic < count; critic++) {
    criticRows_->turnTo(critics_[critic]);
    const float* q = criticRows_->forward(critics, here_.data(), rows_, factorsOf(run.own, count, step, critic, row));
    float* const gradient = criticRows_->outputGradient();
    for (int at = 0; at < rows_; at++) {
      policyLoss_ -= static_cast<double>(q[at]) / count;
      gradient[at] = -share() / static_cast<float>(count);
    }
    criticRows_->inputGradients(critics, spec_.obsDim, actionGradient_.data(), critic > 0);
  }
}

void ActorCritic::adam(const Learned& learned, std::size_t from, std::size_t to, const float* gradient, float alpha,
                       float epsilon) const {
  width_.training->adam(learned.theta + from, learned.m + from, learned.v + from, gradient + from,
                        static_cast<std::int64_t>(to - from), alpha, epsilon);
}

/** Observations as networks see them: by the mean and the scale that follow the policy, none of which learns. */
void ActorCritic::standardise(const float* theta, float* obs) const {
  if (!spec_.isResidual) return;
  const float *mean = theta + policyEnd_, *scale = mean + spec_.obsDim;
  for (int column = 0; column < spec_.obsDim; column++) {
    for (int row = 0; row < rows_; row++) {
      float& value = obs[column * ROW_BLOCK + row];
      value = (value - mean[column]) * scale[column];
    }
  }
}

/** Those that were lived, normalised. */
void ActorCritic::takeActions(const float* action) {
  float* const to = here_.data() + spec_.obsDim * ROW_BLOCK;
  turnInto(action, rows_, spec_.actionDim, to);
  for (int column = 0; column < spec_.actionDim; column++) {
    const float scale = spec_.scale[column], bias = spec_.bias[column];
    if (scale == 1.0f && bias == 0.0f) continue;
    for (int row = 0; row < rows_; row++) {
      float& value = to[column * ROW_BLOCK + row];
      value = (value - bias) / scale;
    }
  }
}

float ActorCritic::temperature(float logAlpha) const {
  float lanes[2 * PADDING] = {logAlpha};
  width_.exponential(lanes, 1);
  return lanes[0];
}

const UnitFactors* ActorCritic::factorsOf(const UnitMasks& masks, int members, int step, int member, int row) {
  if (factors_.empty()) return nullptr;
  for (std::size_t layer = 0; layer < factors_.size(); layer++) {
    const auto width = static_cast<std::size_t>(spec_.hidden[layer]);
    const std::size_t first = (static_cast<std::size_t>(step) * members + member) * spec_.batchSize + row;
    const std::uint8_t* const mask = masks[layer] + first * width;
    float* const to = factors_[layer].data();
    for (std::size_t f = 0; f < width; f++) {
      for (int i = 0; i < rows_; i++) to[f * ROW_BLOCK + i] = mask[i * width + f] != 0 ? kept_ : 0.0f;
    }
  }
  return &factors_;
}

}  // namespace reverie::processor
