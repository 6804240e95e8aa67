#include "td3-bc-update.h"

#include <algorithm>
#include <cmath>

namespace reverie::processor {

namespace {

float clipped(float value, float most) { return std::min(std::max(value, -most), most); }

}  // namespace

Td3BcUpdate::Td3BcUpdate(const Td3BcSpec& spec, const Width& width)
    : ActorCritic(spec, {1, static_cast<std::size_t>(std::max(0, spec.actionDim))}, true, width),
      alpha_(spec.alpha),
      targetNoise_(spec.targetNoise),
      targetNoiseClip_(spec.targetNoiseClip),
      gradient_(thetaSize_),
      slopes_(static_cast<std::size_t>(spec.batchSize + ROW_BLOCK) * spec.actionDim) {}

void Td3BcUpdate::run(const Td3BcState& state, const Td3BcBatches& batches, const Td3BcMetrics& metrics) {
  for (int i = 0; i < batches.steps; i++) step(state, batches, i, metrics);
}

void Td3BcUpdate::step(const Td3BcState& state, const Td3BcBatches& batches, int step, const Td3BcMetrics& metrics) {
  const bool isMoved = batches.policyStep[step] > 0.5f;
  const auto first = static_cast<std::size_t>(step) * spec_.batchSize;
  squares_ = values_ = cloning_ = value_ = size_ = 0;
  for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) {
    takeTransitions(batches, first + row, std::min(ROW_BLOCK, spec_.batchSize - row));
    targets(state.target);
    for (int critic = 0; critic < 2; critic++) learnCritic(state.theta, critic, nullptr, gradient_.data(), row > 0);
    judgePolicy(state.theta, row, isMoved);
  }
  const double rows = spec_.batchSize, elements = rows * spec_.actionDim, scale = size_ / rows + 1e-6;
  for (int row = 0; isMoved && row < spec_.batchSize; row += ROW_BLOCK) {
    takeObservations(batches.obs, first + row, std::min(ROW_BLOCK, spec_.batchSize - row));
    takeActions(batches.action, first + row);
    learnPolicy(state.theta, static_cast<float>(-alpha_ / (scale * rows)), row);
  }
  adam(state, gradient_.data(), 0, criticSize_, batches.adamAlpha[step], batches.adamEpsilon[step]);
  if (isMoved) {
    adam(state, gradient_.data(), criticSize_, policyEnd_, batches.policyAlpha[step], batches.policyEpsilon[step]);
    width_.training->follow(state.target, state.theta, static_cast<std::int64_t>(thetaSize_), spec_.tau);
  }
  metrics.criticLoss[step] = static_cast<float>(squares_ / rows);
  metrics.cloningLoss[step] = static_cast<float>(cloning_ / elements);
  metrics.policyLoss[step] = static_cast<float>(cloning_ / elements - alpha_ * (value_ / rows) / scale);
  metrics.q[step] = static_cast<float>(values_ / (2 * rows));
}

/** y = r + discount * the lesser of Q'(s', clip(pi'(s') + clipped noise)) */
void Td3BcUpdate::targets(const float* target) {
  const float* mode = block_.policy.forward(target, block_.next.data(), block_.rows);
  const float* noise = block_.nextNoise.data();
  float* const action = nextActions();
  for (int i = 0; i < spec_.actionDim * ROW_BLOCK; i++) {
    action[i] = clipped(clipped(mode[i], 1.0f) + clipped(noise[i] * targetNoise_, targetNoiseClip_), 1.0f);
  }
  for (int critic = 0; critic < 2; critic++) lessen(target, critic, nullptr, critic == 0);
  endTargets();
}

void Td3BcUpdate::judgePolicy(const float* theta, int row, bool isMoved) {
  const float* mode = block_.policy.forward(theta, block_.here.data(), block_.rows);
  for (int column = 0; column < spec_.actionDim; column++) {
    for (int i = column * ROW_BLOCK; i < column * ROW_BLOCK + block_.rows; i++) {
      const double distance = mode[i] - actions()[i];
      cloning_ += distance * distance;
      actions()[i] = clipped(mode[i], 1.0f);
    }
  }
  block_.critic.turnTo(critics_.front());
  const float* q = block_.critic.forward(theta, block_.here.data(), block_.rows);
  for (int i = 0; i < block_.rows; i++) {
    value_ += q[i];
    size_ += std::fabs(static_cast<double>(q[i]));
  }
  if (!isMoved) return;
  std::fill(block_.critic.outputGradient(), block_.critic.outputGradient() + ROW_BLOCK, 1.0f);
  block_.critic.inputGradients(theta, spec_.obsDim, slopes_.data() + static_cast<std::size_t>(row) * spec_.actionDim, false);
}

/** @param valueShare what a row's value counts in the loss */
void Td3BcUpdate::learnPolicy(const float* theta, float valueShare, int row) {
  const float* mode = block_.policy.forward(theta, block_.here.data(), block_.rows);
  const float* slope = slopes_.data() + static_cast<std::size_t>(row) * spec_.actionDim;
  const float twice = 2.0f / (static_cast<float>(spec_.batchSize) * static_cast<float>(spec_.actionDim));
  float* const gradient = block_.policy.outputGradient();
  for (int i = 0; i < spec_.actionDim * ROW_BLOCK; i++) {
    const float byValue = clipped(mode[i], 1.0f) == mode[i] ? slope[i] * valueShare : 0.0f;
    gradient[i] = byValue + twice * (mode[i] - actions()[i]);
  }
  block_.policy.parameterGradients(theta, gradient_.data(), row > 0);
}

}  // namespace reverie::processor
