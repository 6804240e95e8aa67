#include "sac-update.h"

#include <algorithm>

namespace reverie::processor {

SacUpdate::SacUpdate(const SacSpec& spec, const Width& width)
    : SoftUpdate(spec, true, width),
      actorRate_(spec.actorRate),
      temperatureRate_(spec.temperatureRate),
      gradient_(thetaSize_),
      second_(critics_.back(), width) {}

void SacUpdate::run(const SacState& state, const SacBatches& batches, const SacMetrics& metrics) {
  for (int i = 0; i < batches.steps; i++) step(state, batches, i, metrics);
}

void SacUpdate::step(const SacState& state, const SacBatches& batches, int step, const SacMetrics& metrics) {
  const float alpha = temperature(state.theta[thetaSize_ - 1]);
  beginStep();
  for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) {
    const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
    takeTransitions(batches, first, std::min(ROW_BLOCK, spec_.batchSize - row));
    takeNoise(batches.noise, first);
    learn(state, alpha, row > 0);
  }
  const double rows = spec_.batchSize;
  gradient_.data()[thetaSize_ - 1] = temperatureGradient();
  const float rate = batches.adamAlpha[step], epsilon = batches.adamEpsilon[step];
  adam(state, gradient_.data(), 0, criticSize_, rate, epsilon);
  adam(state, gradient_.data(), criticSize_, policyEnd_, rate * actorRate_, epsilon);
  adam(state, gradient_.data(), policyEnd_, thetaSize_, rate * temperatureRate_, epsilon);
  width_.training->follow(state.target, state.theta, static_cast<std::int64_t>(criticSize_), spec_.tau);
  metrics.criticLoss[step] = static_cast<float>(squares_ / rows);
  metrics.policyLoss[step] = static_cast<float>(policyLoss_ / rows);
  metrics.alpha[step] = alpha;
  metrics.entropy[step] = static_cast<float>(-logProbs_ / rows);
  metrics.q[step] = static_cast<float>(values_ / (2 * rows));
}

/** From the block's rows, all by the parameters of before the step. */
void SacUpdate::learn(const SacState& state, float alpha, bool goesOn) {
  beginTargets(state.theta);
  for (int critic = 0; critic < 2; critic++) lessen(state.target, critic, nullptr, critic == 0);
  endTargets(alpha);
  for (int critic = 0; critic < 2; critic++) learnCritic(state.theta, critic, nullptr, gradient_.data(), goesOn);
  const SquashedRows acted = act(state.theta);
  criticise(state.theta, alpha);
  learnPolicy(acted, state.theta, alpha, gradient_.data(), goesOn);
}

void SacUpdate::criticise(const float* theta, float alpha) {
  const float* const here = block_.here.data();
  NetworkRows& first = block_.critic;
  first.turnTo(critics_.front());
  const float *firstValue = first.forward(theta, here, block_.rows), *secondValue = second_.forward(theta, here, block_.rows);
  float *firstGradient = first.outputGradient(), *secondGradient = second_.outputGradient();
  for (int row = 0; row < block_.rows; row++) {
    const bool isSecond = secondValue[row] < firstValue[row];
    firstGradient[row] = isSecond ? 0.0f : -share();
    secondGradient[row] = isSecond ? -share() : 0.0f;
    const double logProb = block_.logProb.data()[row];
    policyLoss_ += alpha * logProb - (isSecond ? secondValue[row] : firstValue[row]);
  }
  first.inputGradients(theta, spec_.obsDim, block_.actionGradient.data(), false);
  second_.inputGradients(theta, spec_.obsDim, block_.actionGradient.data(), true);
}

}  // namespace reverie::processor
