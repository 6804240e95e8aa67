#include "redq-update.h"

#include <algorithm>
#include <stdexcept>

namespace reverie::processor {

RedqUpdate::RedqUpdate(const RedqSpec& spec, const Width& width)
    : SoftUpdate(spec, false, width),
      drawn_(spec.drawn),
      kept_(static_cast<float>(1 / (1 - static_cast<double>(spec.dropout)))),
      criticGradient_(criticSize_),
      thetaGradient_(thetaSize_) {
  if (drawn_ < 1 || drawn_ > spec.critics || !(spec.dropout >= 0 && spec.dropout < 1)) {
    throw std::invalid_argument("an ensemble of critics whose settings do not fit each other");
  }
  if (spec.dropout == 0) return;
  for (const int width : spec_.hidden) factors_.emplace_back(static_cast<std::size_t>(width) * ROW_BLOCK);
}

void RedqUpdate::runCritics(const CriticState& state, const float* theta, const CriticBatches& batches, float* criticLoss,
                            float* q) {
  const float alpha = temperature(theta[thetaSize_ - 1]);
  const double rows = spec_.batchSize;
  for (int step = 0; step < batches.steps; step++) {
    beginStep();
    for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) learnCritics(state, theta, alpha, batches, step, row);
    adam(state, criticGradient_.data(), 0, criticSize_, batches.adamAlpha[step], batches.adamEpsilon[step]);
    width_.training->follow(state.target, state.theta, static_cast<std::int64_t>(criticSize_), spec_.tau);
    criticLoss[step] = static_cast<float>(squares_ / rows);
    q[step] = static_cast<float>(values_ / (spec_.critics * rows));
  }
}

/** From the block of rows that begins with `row`. */
void RedqUpdate::learnCritics(const CriticState& state, const float* theta, float alpha, const CriticBatches& batches, int step,
                              int row) {
  const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
  takeTransitions(batches, first, std::min(ROW_BLOCK, spec_.batchSize - row));
  beginTargets(theta);
  for (int i = 0; i < drawn_; i++) {
    lessen(state.target, batches.drawn[step * drawn_ + i], factorsOf(batches.next, drawn_, step, i, row), i == 0);
  }
  endTargets(alpha);
  for (int critic = 0; critic < spec_.critics; critic++) {
    const UnitFactors* factors = factorsOf(batches.own, spec_.critics, step, critic, row);
    learnCritic(state.theta, critic, factors, criticGradient_.data(), row > 0);
  }
}

void RedqUpdate::runPolicy(const Learned& theta, const float* critics, const PolicyBatches& batches, float* policyLoss,
                           float* alpha, float* entropy) {
  const double rows = spec_.batchSize;
  for (int step = 0; step < batches.steps; step++) {
    beginStep();
    alpha[step] = temperature(theta.theta[thetaSize_ - 1]);
    for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) {
      const auto first = static_cast<std::size_t>(step) * spec_.batchSize + row;
      takeObservations(batches.obs, first, std::min(ROW_BLOCK, spec_.batchSize - row));
      takeNoise(batches.noise, first);
      const SquashedRows acted = act(theta.theta);
      criticise(critics, alpha[step], batches, step, row);
      learnPolicy(acted, theta.theta, alpha[step], thetaGradient_.data(), row > 0);
    }
    thetaGradient_.data()[thetaSize_ - 1] = temperatureGradient();
    adam(theta, thetaGradient_.data(), 0, thetaSize_, batches.adamAlpha[step], batches.adamEpsilon[step]);
    policyLoss[step] = static_cast<float>(policyLoss_ / rows);
    entropy[step] = static_cast<float>(-logProbs_ / rows);
  }
}

/** Gradients of the block's actions through the mean of all critics, whose own parameters stay. */
void RedqUpdate::criticise(const float* critics, float alpha, const PolicyBatches& batches, int step, int row) {
  NetworkRows& rows = block_.critic;
  const int count = spec_.critics;
  for (int i = 0; i < block_.rows; i++) policyLoss_ += static_cast<double>(alpha) * block_.logProb.data()[i];
  for (int critic = 0; critic < count; critic++) {
    rows.turnTo(critics_[critic]);
    const float* q = rows.forward(critics, block_.here.data(), block_.rows, factorsOf(batches.own, count, step, critic, row));
    float* const gradient = rows.outputGradient();
    for (int i = 0; i < block_.rows; i++) {
      policyLoss_ -= static_cast<double>(q[i]) / count;
      gradient[i] = -share() / static_cast<float>(count);
    }
    rows.inputGradients(critics, spec_.obsDim, block_.actionGradient.data(), critic > 0);
  }
}

const UnitFactors* RedqUpdate::factorsOf(const UnitMasks& masks, int members, int step, int member, int row) {
  if (factors_.empty()) return nullptr;
  for (std::size_t layer = 0; layer < factors_.size(); layer++) {
    const auto width = static_cast<std::size_t>(spec_.hidden[layer]);
    const std::size_t first = (static_cast<std::size_t>(step) * members + member) * spec_.batchSize + row;
    const std::uint8_t* const mask = masks[layer] + first * width;
    float* const to = factors_[layer].data();
    for (std::size_t f = 0; f < width; f++) {
      for (int i = 0; i < block_.rows; i++) to[f * ROW_BLOCK + i] = mask[i * width + f] != 0 ? kept_ : 0.0f;
    }
  }
  return &factors_;
}

}  // namespace reverie::processor
