#include "network-training.h"

#include <algorithm>

namespace reverie::processor {

std::vector<TrainedNetwork> networksAt(std::size_t& at, const std::vector<int>& sizes, const TrainedNetwork& like, std::size_t copies) {
  std::vector<TrainedNetwork> networks(copies, like);
  for (std::size_t i = 1; i < sizes.size(); i++) {
    const auto in = static_cast<std::size_t>(sizes[i - 1]), out = static_cast<std::size_t>(sizes[i]);
    for (std::size_t copy = 0; copy < copies; copy++) {
      networks[copy].layers.push_back({sizes[i - 1], sizes[i], at + copy * in * out, at + copies * in * out + copy * out});
    }
    at += copies * (in + 1) * out;
  }
  return networks;
}

namespace {

void multiply(float* columns, const AlignedFloats& factors, int features) {
  const float* const by = factors.data();
  for (int i = 0; i < features * ROW_BLOCK; i++) columns[i] *= by[i];
}

/** Adds what the stream holds, but at its beginning; and the stream goes on from the sum. */
void goOn(float* columns, AlignedFloats& stream, int features, bool isBeginning) {
  float* const held = stream.data();
  for (int i = 0; i < features * ROW_BLOCK; i++) {
    if (!isBeginning) columns[i] += held[i];
    held[i] = columns[i];
  }
}

}  // namespace

NetworkRows::NetworkRows(const TrainedNetwork& network, const Width& width)
    : network_(&network), kernels_(*width.training), kept_(network.layers.size()) {
  int widest = 0;
  for (std::size_t i = 0; i < kept_.size(); i++) {
    const int out = padded(network.layers[i].out);
    widest = std::max(widest, out);
    const auto size = static_cast<std::size_t>(out) * ROW_BLOCK;
    kept_[i] = {AlignedFloats(size), AlignedFloats(i + 1 < kept_.size() ? size : 0), AlignedFloats(ROW_BLOCK)};
  }
  for (AlignedFloats* each : {&gradients_[0], &gradients_[1], &turned_}) {
    *each = AlignedFloats(static_cast<std::size_t>(widest) * ROW_BLOCK);
  }
  if (network.isResidual) stream_ = AlignedFloats(static_cast<std::size_t>(padded(network.layers[0].out)) * ROW_BLOCK);
}

HiddenUnits NetworkRows::units(std::size_t layer) {
  Layer& kept = kept_[layer];
  const Activation end = isStream(layer) ? Activation::none : network_->activation;
  const bool isNormalised = network_->isNormalised || isStream(layer);
  return {network_->layers[layer].out, padded(rows_),     end, isNormalised, kept.before.data(),
          kept.after.data(),           kept.precision.data()};
}

const float* NetworkRows::inputOf(std::size_t layer) const {
  if (layer == 0) return input_;
  const Layer& before = kept_[layer - 1];
  return (isStream(layer - 1) ? before.before : before.after).data();
}

const float* NetworkRows::forward(const float* parameters, const float* input, int rows, const std::vector<AlignedFloats>* factors) {
  input_ = input;
  rows_ = rows;
  factors_ = factors;
  for (std::size_t i = 0; i < kept_.size(); i++) {
    const TrainedLayer& layer = network_->layers[i];
    kernels_.product({parameters + layer.w, 1, layer.out, inputOf(i), ROW_BLOCK, kept_[i].before.data(), ROW_BLOCK, layer.out,
                      padded(rows), layer.in, parameters + layer.b, false});
    if (i + 1 == kept_.size()) break;
    if (isStream(i)) goOn(kept_[i].before.data(), stream_, layer.out, i == 0);
    if (factors != nullptr) multiply(kept_[i].before.data(), (*factors)[i], layer.out);
    kernels_.hidden(units(i));
  }
  return kept_.back().before.data();
}

void NetworkRows::backward(const float* parameters, float* gradient, bool gradientGoesOn, float* inputGradient, int firstInput,
                           bool inputGoesOn) {
  for (std::size_t i = kept_.size(); i-- > 0;) {
    const TrainedLayer& layer = network_->layers[i];
    float* const g = gradients_[i % 2].data();
    if (i + 1 < kept_.size()) {
      kernels_.hiddenBack(units(i), g);
      if (factors_ != nullptr) multiply(g, (*factors_)[i], layer.out);
      if (isStream(i)) goOn(g, stream_, layer.out, i + 2 == kept_.size());
    }
    if (gradient != nullptr) addParameters(layer, inputOf(i), g, gradient, gradientGoesOn);
    if (i == 0 && inputGradient == nullptr) return;
    const int first = i == 0 ? firstInput : 0;
    float* const to = i == 0 ? inputGradient : gradients_[(i - 1) % 2].data();
    const float* w = parameters + layer.w + static_cast<std::size_t>(first) * layer.out;
    kernels_.product({w, layer.out, 1, g, ROW_BLOCK, to, ROW_BLOCK, layer.in - first, padded(rows_), layer.out, nullptr,
                      i == 0 && inputGoesOn});
  }
}

void NetworkRows::addParameters(const TrainedLayer& layer, const float* input, const float* g, float* gradient, bool goesOn) {
  static const float one = 1.0f;
  const int stride = padded(layer.out);
  kernels_.transpose(g, ROW_BLOCK, stride, padded(rows_), turned_.data(), stride);
  kernels_.product({input, ROW_BLOCK, 1, turned_.data(), stride, gradient + layer.w, layer.out, layer.in, layer.out, rows_,
                    nullptr, goesOn});
  kernels_.product(
      {&one, 0, 0, turned_.data(), stride, gradient + layer.b, layer.out, 1, layer.out, rows_, nullptr, goesOn});
}

}  // namespace reverie::processor
