#include "actor-critic.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace reverie::processor {

void turnInto(const float* from, int rows, int features, float* to) {
  for (int f = 0; f < features; f++) {
    float* const column = to + f * ROW_BLOCK;
    for (int row = 0; row < rows; row++) column[row] = from[row * features + f];
    std::fill(column + rows, column + ROW_BLOCK, 0.0f);
  }
}

namespace {

void requireSizes(const ActorCriticSpec& spec) {
  const auto isSize = [](int size) { return size >= 1 && size <= 1 << 20; };
  const auto actions = static_cast<std::size_t>(spec.actionDim);
  if (!isSize(spec.obsDim) || !isSize(spec.actionDim) || !isSize(spec.batchSize) || !isSize(spec.critics) ||
      spec.hidden.empty() || !std::all_of(spec.hidden.begin(), spec.hidden.end(), isSize) || spec.scale.size() != actions ||
      spec.bias.size() != actions || spec.activation == LayerEnd::none) {
    throw std::invalid_argument("a learner whose sizes do not fit each other");
  }
}

}  // namespace

struct ActorCritic::Networks {
  Networks(const ActorCriticSpec& spec, const PolicyForm& form, bool isOneArray) {
    requireSizes(spec);
    std::vector<int> sizes = {spec.obsDim + spec.actionDim};
    sizes.insert(sizes.end(), spec.hidden.begin(), spec.hidden.end());
    sizes.push_back(1);
    critics = networksAt(criticSize, sizes, spec.activation, spec.normalisesCritics, static_cast<std::size_t>(spec.critics));
    sizes.front() = spec.obsDim;
    sizes.back() = form.outputsEach * spec.actionDim;
    policyEnd = isOneArray ? criticSize : 0;
    policy = networksAt(policyEnd, sizes, spec.activation, false, 1).front();
    thetaSize = policyEnd + form.rest;
  }

  std::vector<TrainedNetwork> critics;
  TrainedNetwork policy;
  std::size_t criticSize = 0, thetaSize = 0, policyEnd = 0;
};

ActorCritic::Block::Block(const ActorCriticSpec& spec, const TrainedNetwork& critic, const TrainedNetwork& policy, const Width& width)
    : critic(critic, width), policy(policy, width) {
  const auto columns = [](int count) { return AlignedFloats(static_cast<std::size_t>(padded(count)) * ROW_BLOCK); };
  for (AlignedFloats* each : {&here, &next}) *each = columns(spec.obsDim + spec.actionDim);
  for (AlignedFloats* each : {&noise, &nextNoise, &actionGradient}) *each = columns(spec.actionDim);
  for (AlignedFloats* each : {&reward, &discount, &weight, &target, &logProb}) *each = columns(1);
}

ActorCritic::ActorCritic(const ActorCriticSpec& spec, const PolicyForm& form, bool isOneArray, const Width& width)
    : ActorCritic(spec, Networks(spec, form, isOneArray), width) {}

ActorCritic::ActorCritic(const ActorCriticSpec& spec, Networks networks, const Width& width)
    : spec_(spec),
      width_(width),
      critics_(std::move(networks.critics)),
      policy_(std::move(networks.policy)),
      criticSize_(networks.criticSize),
      thetaSize_(networks.thetaSize),
      policyEnd_(networks.policyEnd),
      block_(spec_, critics_.front(), policy_, width) {}

void ActorCritic::takeObservations(const float* obs, std::size_t first, int rows) {
  block_.rows = rows;
  turnInto(obs + first * spec_.obsDim, rows, spec_.obsDim, block_.here.data());
}

void ActorCritic::takeActions(const float* action, std::size_t first) {
  const int rows = block_.rows;
  turnInto(action + first * spec_.actionDim, rows, spec_.actionDim, actions());
  for (int column = 0; column < spec_.actionDim; column++) {
    const float scale = spec_.scale[column], bias = spec_.bias[column];
    if (scale == 1.0f && bias == 0.0f) continue;
    for (int row = 0; row < rows; row++) {
      float& value = actions()[column * ROW_BLOCK + row];
      value = (value - bias) / scale;
    }
  }
}

void ActorCritic::takeTransitions(const Transitions& batches, std::size_t first, int rows) {
  const int obs = spec_.obsDim, actions = spec_.actionDim;
  takeObservations(batches.obs, first, rows);
  takeActions(batches.action, first);
  turnInto(batches.nextObs + first * obs, rows, obs, block_.next.data());
  turnInto(batches.nextNoise + first * actions, rows, actions, block_.nextNoise.data());
  turnInto(batches.reward + first, rows, 1, block_.reward.data());
  turnInto(batches.discount + first, rows, 1, block_.discount.data());
  turnInto(batches.weight + first, rows, 1, block_.weight.data());
}

void ActorCritic::lessen(const float* target, int critic, const UnitFactors* factors, bool isFirst) {
  block_.critic.turnTo(critics_[critic]);
  const float* q = block_.critic.forward(target, block_.next.data(), block_.rows, factors);
  float* const least = block_.target.data();
  for (int row = 0; row < block_.rows; row++) least[row] = isFirst || q[row] < least[row] ? q[row] : least[row];
}

void ActorCritic::endTargets() {
  const float *reward = block_.reward.data(), *discount = block_.discount.data();
  float* const y = block_.target.data();
  for (int row = 0; row < block_.rows; row++) y[row] = reward[row] * spec_.rewardScale + discount[row] * y[row];
}

void ActorCritic::learnCritic(const float* critics, int critic, const UnitFactors* factors, float* gradient, bool goesOn) {
  const float *y = block_.target.data(), *weight = block_.weight.data();
  block_.critic.turnTo(critics_[critic]);
  const float* q = block_.critic.forward(critics, block_.here.data(), block_.rows, factors);
  float* const outGradient = block_.critic.outputGradient();
  for (int row = 0; row < block_.rows; row++) {
    const float error = q[row] - y[row];
    outGradient[row] = weight[row] * error * share();
    squares_ += 0.5 * weight[row] * error * error;
    values_ += q[row];
  }
  block_.critic.parameterGradients(critics, gradient, goesOn);
}

void ActorCritic::adam(const Learned& learned, const float* gradient, std::size_t from, std::size_t to, float alpha,
                      float epsilon) const {
  width_.training->adam(learned.theta + from, learned.m + from, learned.v + from, gradient + from,
                        static_cast<std::int64_t>(to - from), alpha, epsilon);
}

}  // namespace reverie::processor
