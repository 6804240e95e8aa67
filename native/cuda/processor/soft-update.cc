#include "soft-update.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace reverie::processor {

namespace {

/** `features` columns of rows that lie one after another, as [features, ROW_BLOCK]; rows beyond the last are zero. */
void turnInto(const float* from, int rows, int features, float* to) {
  for (int f = 0; f < features; f++) {
    float* const column = to + f * ROW_BLOCK;
    for (int row = 0; row < rows; row++) column[row] = from[row * features + f];
    std::fill(column + rows, column + ROW_BLOCK, 0.0f);
  }
}

void requireSizes(const SoftSpec& spec) {
  const auto isSize = [](int size) { return size >= 1 && size <= 1 << 20; };
  const auto actions = static_cast<std::size_t>(spec.actionDim);
  if (!isSize(spec.obsDim) || !isSize(spec.actionDim) || !isSize(spec.batchSize) || !isSize(spec.critics) ||
      spec.hidden.empty() || !std::all_of(spec.hidden.begin(), spec.hidden.end(), isSize) || spec.scale.size() != actions ||
      spec.bias.size() != actions || spec.activation == LayerEnd::none) {
    throw std::invalid_argument("a learner whose sizes do not fit each other");
  }
}

}  // namespace

struct SoftUpdate::Networks {
  Networks(const SoftSpec& spec, bool isOneArray) {
    requireSizes(spec);
    std::vector<int> sizes = {spec.obsDim + spec.actionDim};
    sizes.insert(sizes.end(), spec.hidden.begin(), spec.hidden.end());
    sizes.push_back(1);
    critics = networksAt(criticSize, sizes, spec.activation, spec.normalisesCritics, static_cast<std::size_t>(spec.critics));
    sizes.front() = spec.obsDim;
    sizes.back() = 2 * spec.actionDim;
    thetaSize = isOneArray ? criticSize : 0;
    policy = networksAt(thetaSize, sizes, spec.activation, false, 1).front();
    thetaSize++;
  }

  std::vector<TrainedNetwork> critics;
  TrainedNetwork policy;
  std::size_t criticSize = 0, thetaSize = 0;
};

SoftUpdate::Block::Block(const SoftSpec& spec, const TrainedNetwork& critic, const TrainedNetwork& policy, const Width& width)
    : critic(critic, width), policy(policy, width) {
  const auto columns = [](int count) { return AlignedFloats(static_cast<std::size_t>(padded(count)) * ROW_BLOCK); };
  for (AlignedFloats* each : {&here, &next}) *each = columns(spec.obsDim + spec.actionDim);
  for (AlignedFloats* each : {&noise, &nextNoise, &actionGradient}) *each = columns(spec.actionDim);
  for (AlignedFloats* each : {&reward, &discount, &weight, &target, &logProb}) *each = columns(1);
}

SoftUpdate::SoftUpdate(const SoftSpec& spec, bool isOneArray, const Width& width)
    : SoftUpdate(spec, Networks(spec, isOneArray), width) {}

SoftUpdate::SoftUpdate(const SoftSpec& spec, Networks networks, const Width& width)
    : spec_(spec),
      width_(width),
      critics_(std::move(networks.critics)),
      policy_(std::move(networks.policy)),
      criticSize_(networks.criticSize),
      thetaSize_(networks.thetaSize),
      block_(spec_, critics_.front(), policy_, width) {}

void SoftUpdate::takeObservations(const float* obs, std::size_t first, int rows) {
  block_.rows = rows;
  turnInto(obs + first * spec_.obsDim, rows, spec_.obsDim, block_.here.data());
}

void SoftUpdate::takeTransitions(const SoftBatches& batches, std::size_t first, int rows) {
  const int obs = spec_.obsDim, actions = spec_.actionDim;
  takeObservations(batches.obs, first, rows);
  turnInto(batches.nextObs + first * obs, rows, obs, block_.next.data());
  float* const action = block_.here.data() + obs * ROW_BLOCK;
  turnInto(batches.action + first * actions, rows, actions, action);
  for (int column = 0; column < actions; column++) {
    const float scale = spec_.scale[column], bias = spec_.bias[column];
    if (scale == 1.0f && bias == 0.0f) continue;
    for (int row = 0; row < rows; row++) {
      float& value = action[column * ROW_BLOCK + row];
      value = (value - bias) / scale;
    }
  }
  turnInto(batches.nextNoise + first * actions, rows, actions, block_.nextNoise.data());
  turnInto(batches.reward + first, rows, 1, block_.reward.data());
  turnInto(batches.discount + first, rows, 1, block_.discount.data());
  turnInto(batches.weight + first, rows, 1, block_.weight.data());
}

void SoftUpdate::takeNoise(const float* noise, std::size_t first) {
  turnInto(noise + first * spec_.actionDim, block_.rows, spec_.actionDim, block_.noise.data());
}

float SoftUpdate::temperature(float logAlpha) const {
  float lanes[2 * PADDING] = {logAlpha};
  width_.exponential(lanes, 1);
  return lanes[0];
}

void SoftUpdate::beginTargets(const float* policy) {
  float* const next = block_.next.data();
  const float* out = block_.policy.forward(policy, next, block_.rows);
  float* const action = next + spec_.obsDim * ROW_BLOCK;
  width_.training->squash(
      {spec_.actionDim, padded(block_.rows), out, block_.nextNoise.data(), action, block_.logProb.data()});
}

void SoftUpdate::lessen(const float* target, int critic, const UnitFactors* factors, bool isFirst) {
  block_.critic.turnTo(critics_[critic]);
  const float* q = block_.critic.forward(target, block_.next.data(), block_.rows, factors);
  float* const least = block_.target.data();
  for (int row = 0; row < block_.rows; row++) least[row] = isFirst || q[row] < least[row] ? q[row] : least[row];
}

void SoftUpdate::endTargets(float alpha) {
  const float *reward = block_.reward.data(), *discount = block_.discount.data(), *logProb = block_.logProb.data();
  float* const y = block_.target.data();
  for (int row = 0; row < block_.rows; row++) {
    const float value = y[row] - alpha * logProb[row];
    y[row] = reward[row] * spec_.rewardScale + discount[row] * value;
  }
}

void SoftUpdate::learnCritic(const float* critics, int critic, const UnitFactors* factors, float* gradient, bool goesOn) {
  const float *y = block_.target.data(), *weight = block_.weight.data();
  block_.critic.turnTo(critics_[critic]);
  const float* q = block_.critic.forward(critics, block_.here.data(), block_.rows, factors);
  float* const outGradient = block_.critic.outputGradient();
  for (int row = 0; row < block_.rows; row++) {
    const float error = q[row] - y[row];
    outGradient[row] = weight[row] * error * share();
    sums_.squares += 0.5 * weight[row] * error * error;
    sums_.values += q[row];
  }
  block_.critic.parameterGradients(critics, gradient, goesOn);
}

SquashedRows SoftUpdate::act(const float* policy) {
  float* const here = block_.here.data();
  const float* out = block_.policy.forward(policy, here, block_.rows);
  const SquashedRows acted{spec_.actionDim,     padded(block_.rows),             out,
                           block_.noise.data(), here + spec_.obsDim * ROW_BLOCK, block_.logProb.data()};
  width_.training->squash(acted);
  return acted;
}

void SoftUpdate::learnPolicy(const SquashedRows& acted, const float* policy, float alpha, float* gradient, bool goesOn) {
  for (int row = 0; row < block_.rows; row++) sums_.logProbs += block_.logProb.data()[row];
  width_.training->squashBack(acted, block_.actionGradient.data(), alpha * share(), block_.policy.outputGradient());
  block_.policy.parameterGradients(policy, gradient, goesOn);
}

void SoftUpdate::adam(const Learned& learned, const float* gradient, std::size_t from, std::size_t to, float alpha,
                      float epsilon) const {
  width_.training->adam(learned.theta + from, learned.m + from, learned.v + from, gradient + from,
                        static_cast<std::int64_t>(to - from), alpha, epsilon);
}

}  // namespace reverie::processor
