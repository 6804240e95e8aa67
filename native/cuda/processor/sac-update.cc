#include "sac-update.h"

#include <algorithm>
#include <stdexcept>

namespace reverie::processor {

/** A block of rows and what becomes of them, [features, ROW_BLOCK]; and sums over the rows of a step so far. */
struct SacUpdate::Block {
  Block(const SacSpec& spec, const TrainedNetwork (&critics)[2], const TrainedNetwork& policy, const Width& width)
      : first(critics[0], width), second(critics[1], width), policy(policy, width) {
    const auto columns = [](int count) { return AlignedFloats(static_cast<std::size_t>(padded(count)) * ROW_BLOCK); };
    for (AlignedFloats* each : {&here, &next}) *each = columns(spec.obsDim + spec.actionDim);
    for (AlignedFloats* each : {&noise, &nextNoise, &actionGradient}) *each = columns(spec.actionDim);
    for (AlignedFloats* each : {&reward, &discount, &weight, &target, &logProb}) *each = columns(1);
  }

  int rows = 0;
  /** Observation and then action. */
  AlignedFloats here, next;
  AlignedFloats noise, nextNoise, actionGradient, reward, discount, weight, target, logProb;
  NetworkRows first, second, policy;

  double squares = 0, values = 0, policyLoss = 0, logProbs = 0;
};

namespace {

/** `features` columns of rows that lie one after another, as [features, ROW_BLOCK]; rows beyond the last are zero. */
void turnInto(const float* from, int rows, int features, float* to) {
  for (int f = 0; f < features; f++) {
    float* const column = to + f * ROW_BLOCK;
    for (int row = 0; row < rows; row++) column[row] = from[row * features + f];
    std::fill(column + rows, column + ROW_BLOCK, 0.0f);
  }
}

}  // namespace

SacUpdate::SacUpdate(const SacSpec& spec, const Width& width) : spec_(spec), width_(width) {
  const auto isSize = [](int size) { return size >= 1 && size <= 1 << 20; };
  const auto actions = static_cast<std::size_t>(spec.actionDim);
  if (!isSize(spec.obsDim) || !isSize(spec.actionDim) || !isSize(spec.batchSize) || spec.hidden.empty() ||
      !std::all_of(spec.hidden.begin(), spec.hidden.end(), isSize) || spec.scale.size() != actions ||
      spec.bias.size() != actions || spec.activation == LayerEnd::none) {
    throw std::invalid_argument("a learner whose sizes do not fit each other");
  }
  std::vector<int> sizes = {spec.obsDim + spec.actionDim};
  sizes.insert(sizes.end(), spec.hidden.begin(), spec.hidden.end());
  sizes.push_back(1);
  const auto critics = networksAt(size_, sizes, spec.activation, spec.normalisesCritics, 2);
  std::copy(critics.begin(), critics.end(), critics_);
  criticSize_ = size_;
  sizes.front() = spec.obsDim;
  sizes.back() = 2 * spec.actionDim;
  policy_ = networksAt(size_, sizes, spec.activation, false, 1).front();
  size_++;
  gradient_ = AlignedFloats(size_);
  block_ = std::make_unique<Block>(spec_, critics_, policy_, width);
}

SacUpdate::~SacUpdate() = default;

void SacUpdate::run(const SacState& state, const SacBatches& batches, const SacMetrics& metrics) {
  for (int i = 0; i < batches.steps; i++) step(state, batches, i, metrics);
}

void SacUpdate::step(const SacState& state, const SacBatches& batches, int step, const SacMetrics& metrics) {
  float temperature[2 * PADDING] = {state.theta[size_ - 1]};
  width_.exponential(temperature, 1);
  const float alpha = temperature[0];
  Block& block = *block_;
  block.squares = block.values = block.policyLoss = block.logProbs = 0;
  for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) {
    const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
    take(batches, first, std::min(ROW_BLOCK, spec_.batchSize - row));
    targets(state, alpha);
    learnCritics(state.theta, row > 0);
    learnPolicy(state.theta, alpha, row > 0);
  }
  const double rows = spec_.batchSize;
  gradient_.data()[size_ - 1] = static_cast<float>(-(block.logProbs / rows + spec_.targetEntropy));
  const auto adam = [&](std::size_t from, std::size_t to, float rate) {
    width_.training->adam(state.theta + from, state.m + from, state.v + from, gradient_.data() + from,
                          static_cast<std::int64_t>(to - from), batches.adamAlpha[step] * rate, batches.adamEpsilon[step]);
  };
  adam(0, criticSize_, 1.0f);
  adam(criticSize_, size_ - 1, spec_.actorRate);
  adam(size_ - 1, size_, spec_.temperatureRate);
  width_.training->follow(state.target, state.theta, static_cast<std::int64_t>(criticSize_), spec_.tau);
  metrics.criticLoss[step] = static_cast<float>(block.squares / rows);
  metrics.policyLoss[step] = static_cast<float>(block.policyLoss / rows);
  metrics.alpha[step] = alpha;
  metrics.entropy[step] = static_cast<float>(-block.logProbs / rows);
  metrics.q[step] = static_cast<float>(block.values / (2 * rows));
}

void SacUpdate::take(const SacBatches& batches, std::size_t first, int rows) {
  Block& block = *block_;
  const int obs = spec_.obsDim, actions = spec_.actionDim;
  block.rows = rows;
  turnInto(batches.obs + first * obs, rows, obs, block.here.data());
  turnInto(batches.nextObs + first * obs, rows, obs, block.next.data());
  float* const action = block.here.data() + obs * ROW_BLOCK;
  turnInto(batches.action + first * actions, rows, actions, action);
  for (int column = 0; column < actions; column++) {
    const float scale = spec_.scale[column], bias = spec_.bias[column];
    if (scale == 1.0f && bias == 0.0f) continue;
    for (int row = 0; row < rows; row++) {
      float& value = action[column * ROW_BLOCK + row];
      value = (value - bias) / scale;
    }
  }
  turnInto(batches.noise + first * actions, rows, actions, block.noise.data());
  turnInto(batches.nextNoise + first * actions, rows, actions, block.nextNoise.data());
  turnInto(batches.reward + first, rows, 1, block.reward.data());
  turnInto(batches.discount + first, rows, 1, block.discount.data());
  turnInto(batches.weight + first, rows, 1, block.weight.data());
}

/** y = r + discount (min Q'(s', a') - alpha log pi(a'|s')) */
void SacUpdate::targets(const SacState& state, float alpha) {
  Block& block = *block_;
  float* const next = block.next.data();
  const float* out = block.policy.forward(state.theta, next, block.rows);
  float* const action = next + spec_.obsDim * ROW_BLOCK;
  width_.training->squash(
      {spec_.actionDim, padded(block.rows), out, block.nextNoise.data(), action, block.logProb.data()});
  const float* first = block.first.forward(state.target, next, block.rows);
  const float* second = block.second.forward(state.target, next, block.rows);
  const float *reward = block.reward.data(), *discount = block.discount.data(), *logProb = block.logProb.data();
  float* const y = block.target.data();
  for (int row = 0; row < block.rows; row++) {
    const float value = (second[row] < first[row] ? second[row] : first[row]) - alpha * logProb[row];
    y[row] = reward[row] * spec_.rewardScale + discount[row] * value;
  }
}

void SacUpdate::learnCritics(const float* theta, bool goesOn) {
  Block& block = *block_;
  const float share = 1.0f / static_cast<float>(spec_.batchSize);
  const float *y = block.target.data(), *weight = block.weight.data();
  for (NetworkRows* critic : {&block.first, &block.second}) {
    const float* q = critic->forward(theta, block.here.data(), block.rows);
    float* const gradient = critic->outputGradient();
    for (int row = 0; row < block.rows; row++) {
      const float error = q[row] - y[row];
      gradient[row] = weight[row] * error * share;
      block.squares += 0.5 * weight[row] * error * error;
      block.values += q[row];
    }
    critic->parameterGradients(theta, gradient_.data(), goesOn);
  }
}

/** Through the lesser of the critics, whose own parameters stay. */
void SacUpdate::learnPolicy(const float* theta, float alpha, bool goesOn) {
  Block& block = *block_;
  const float share = 1.0f / static_cast<float>(spec_.batchSize);
  float* const here = block.here.data();
  const float* out = block.policy.forward(theta, here, block.rows);
  const SquashedRows squashed{spec_.actionDim,           padded(block.rows), out, block.noise.data(),
                              here + spec_.obsDim * ROW_BLOCK, block.logProb.data()};
  width_.training->squash(squashed);
  const float* first = block.first.forward(theta, here, block.rows);
  const float* second = block.second.forward(theta, here, block.rows);
  float *firstGradient = block.first.outputGradient(), *secondGradient = block.second.outputGradient();
  for (int row = 0; row < block.rows; row++) {
    const bool isSecond = second[row] < first[row];
    firstGradient[row] = isSecond ? 0.0f : -share;
    secondGradient[row] = isSecond ? -share : 0.0f;
    const double logProb = block.logProb.data()[row];
    block.policyLoss += alpha * logProb - (isSecond ? second[row] : first[row]);
    block.logProbs += logProb;
  }
  block.first.inputGradients(theta, spec_.obsDim, block.actionGradient.data(), false);
  block.second.inputGradients(theta, spec_.obsDim, block.actionGradient.data(), true);
  width_.training->squashBack(squashed, block.actionGradient.data(), alpha * share, block.policy.outputGradient());
  block.policy.parameterGradients(theta, gradient_.data(), goesOn);
}

}  // namespace reverie::processor
