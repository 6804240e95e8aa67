#include "member-update.h"

#include <algorithm>
#include <stdexcept>

namespace reverie::processor {

/** A block of rows and what becomes of them, [features, ROW_BLOCK]. */
struct MemberUpdate::Block {
  Block(const MemberSpec& spec, const TrainedNetwork& network, const Width& width) : network(network, width) {
    const auto columns = [](int count) { return AlignedFloats(static_cast<std::size_t>(count) * ROW_BLOCK); };
    inputs = columns(spec.inputDim);
    targets = columns(spec.outputDim);
    for (AlignedFloats* each : {&terminated, &maxGradient, &minGradient, &nll}) *each = columns(1);
    boundGradients.resize(2 * static_cast<std::size_t>(spec.outputDim));
  }

  AlignedFloats inputs, targets, terminated, maxGradient, minGradient, nll;
  /** Upper and then lower bounds, summed over the rows of a step. */
  std::vector<double> boundGradients;
  NetworkRows network;
};

namespace {

/** `features` columns of chosen rows as [features, ROW_BLOCK]; rows beyond the last are zero. */
void turnInto(const float* from, const std::int32_t* chosen, int rows, int features, float* to) {
  for (int row = 0; row < rows; row++) {
    const float* const values = from + static_cast<std::size_t>(chosen[row]) * features;
    for (int f = 0; f < features; f++) to[f * ROW_BLOCK + row] = values[f];
  }
  for (int f = 0; f < features; f++) std::fill(to + f * ROW_BLOCK + rows, to + (f + 1) * ROW_BLOCK, 0.0f);
}

double sumOf(const float* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += values[i];
  return sum;
}

}  // namespace

MemberUpdate::MemberUpdate(const MemberSpec& spec, const Width& width) : spec_(spec), width_(width) {
  const auto isSize = [](int size) { return size >= 1 && size <= 1 << 20; };
  if (!isSize(spec.inputDim) || !isSize(spec.outputDim) || !isSize(spec.batchSize) || spec.hidden.empty() ||
      !std::all_of(spec.hidden.begin(), spec.hidden.end(), isSize)) {
    throw std::invalid_argument("a member whose sizes are none");
  }
  std::vector<int> sizes = {spec.inputDim};
  sizes.insert(sizes.end(), spec.hidden.begin(), spec.hidden.end());
  sizes.push_back(2 * spec.outputDim + (spec.learnsTermination ? 1 : 0));
  network_ = networksAt(bounds_, sizes, {{}, Activation::swish, false, false}, 1).front();
  size_ = bounds_ + 2 * static_cast<std::size_t>(spec.outputDim);
  gradient_ = AlignedFloats(size_);
  block_ = std::make_unique<Block>(spec_, network_, width);
}

MemberUpdate::~MemberUpdate() = default;

void MemberUpdate::run(const MemberState& state, const MemberRows& rows, const MemberSteps& steps, float* nll) {
  const auto outputs = static_cast<std::size_t>(spec_.outputDim);
  const auto size = static_cast<std::int64_t>(size_);
  for (int step = 0; step < steps.steps; step++) {
    std::vector<double>& bounds = block_->boundGradients;
    for (std::size_t j = 0; j < outputs; j++) {
      bounds[j] = static_cast<double>(spec_.logVarPenalty) * rows.weights[j];
      bounds[outputs + j] = -bounds[j];
    }
    const std::int32_t* const chosen = steps.rows + static_cast<std::size_t>(step) * spec_.batchSize;
    double sum = 0;
    for (int row = 0; row < spec_.batchSize; row += ROW_BLOCK) {
      sum += learn(state.theta, rows, chosen + row, std::min(ROW_BLOCK, spec_.batchSize - row), row > 0);
    }
    for (std::size_t j = 0; j < 2 * outputs; j++) gradient_.data()[bounds_ + j] = static_cast<float>(bounds[j]);
    width_.training->addProducts(gradient_.data(), rows.decay, state.theta, size);
    width_.training->adam(state.theta, state.m, state.v, gradient_.data(), size, steps.adamAlpha[step],
                          steps.adamEpsilon[step]);
    nll[step] = static_cast<float>(sum / (static_cast<double>(spec_.batchSize) * spec_.outputDim));
  }
}

void MemberUpdate::take(const MemberRows& rows, const std::int32_t* chosen, int count) {
  turnInto(rows.inputs, chosen, count, spec_.inputDim, block_->inputs.data());
  turnInto(rows.targets, chosen, count, spec_.outputDim, block_->targets.data());
  if (spec_.learnsTermination) turnInto(rows.terminated, chosen, count, 1, block_->terminated.data());
}

/** Gradients of a block of rows; answers the sum of its negative log-likelihoods. */
double MemberUpdate::learn(const float* theta, const MemberRows& rows, const std::int32_t* chosen, int count, bool goesOn) {
  Block& block = *block_;
  const int outputs = spec_.outputDim;
  take(rows, chosen, count);
  const float* out = block.network.forward(theta, block.inputs.data(), count);
  float* const gradient = block.network.outputGradient();
  std::fill(block.nll.data(), block.nll.data() + ROW_BLOCK, 0.0f);
  const float each = 1.0f / (static_cast<float>(spec_.batchSize) * static_cast<float>(outputs));
  for (int j = 0; j < outputs; j++) {
    const int mean = j * ROW_BLOCK, raw = (outputs + j) * ROW_BLOCK;
    width_.training->gaussianLoss({padded(count), out + mean, out + raw, block.targets.data() + mean, theta[bounds_ + j],
                                   theta[bounds_ + outputs + j], rows.weights[j], rows.weights[j] * each, gradient + mean,
                                   gradient + raw, block.maxGradient.data(), block.minGradient.data(), block.nll.data()});
    block.boundGradients[j] += sumOf(block.maxGradient.data(), count);
    block.boundGradients[outputs + j] += sumOf(block.minGradient.data(), count);
  }
  if (spec_.learnsTermination) {
    const int logit = 2 * outputs * ROW_BLOCK;
    width_.training->crossEntropyBack(out + logit, block.terminated.data(), padded(count),
                                      1.0f / static_cast<float>(spec_.batchSize), gradient + logit);
  }
  block.network.parameterGradients(theta, gradient_.data(), goesOn);
  return sumOf(block.nll.data(), count);
}

}  // namespace reverie::processor
