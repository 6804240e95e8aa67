#include "soft-update.h"

namespace reverie::processor {

SoftUpdate::SoftUpdate(const SoftSpec& spec, bool isOneArray, const Width& width)
    : ActorCritic(spec, {2, 1}, isOneArray, width), targetEntropy_(spec.targetEntropy) {}

void SoftUpdate::beginStep() { squares_ = values_ = policyLoss_ = logProbs_ = 0; }

void SoftUpdate::takeNoise(const float* noise, std::size_t first) {
  turnInto(noise + first * spec_.actionDim, block_.rows, spec_.actionDim, block_.noise.data());
}

float SoftUpdate::temperature(float logAlpha) const {
  float lanes[2 * PADDING] = {logAlpha};
  width_.exponential(lanes, 1);
  return lanes[0];
}

void SoftUpdate::beginTargets(const float* policy) {
  const float* out = block_.policy.forward(policy, block_.next.data(), block_.rows);
  width_.training->squash(
      {spec_.actionDim, padded(block_.rows), out, block_.nextNoise.data(), nextActions(), block_.logProb.data()});
}

void SoftUpdate::endTargets(float alpha) {
  float* const value = block_.target.data();
  for (int row = 0; row < block_.rows; row++) value[row] = value[row] - alpha * block_.logProb.data()[row];
  ActorCritic::endTargets();
}

SquashedRows SoftUpdate::act(const float* policy) {
  const float* out = block_.policy.forward(policy, block_.here.data(), block_.rows);
  const SquashedRows acted{spec_.actionDim, padded(block_.rows), out, block_.noise.data(), actions(), block_.logProb.data()};
  width_.training->squash(acted);
  return acted;
}

void SoftUpdate::learnPolicy(const SquashedRows& acted, const float* policy, float alpha, float* gradient, bool goesOn) {
  for (int row = 0; row < block_.rows; row++) logProbs_ += block_.logProb.data()[row];
  width_.training->squashBack(acted, block_.actionGradient.data(), alpha * share(), block_.policy.outputGradient());
  block_.policy.parameterGradients(policy, gradient, goesOn);
}

float SoftUpdate::temperatureGradient() const {
  return static_cast<float>(-(logProbs_ / static_cast<double>(spec_.batchSize) + targetEntropy_));
}

}  // namespace reverie::processor
