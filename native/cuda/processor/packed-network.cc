// Packing of networks for a width.
#include "packed-network.h"

#include <algorithm>
#include <cstdint>

namespace reverie::processor {
namespace {

constexpr std::size_t LINE = 64;

int vectorsOf(int outputs, const Width& width) { return (outputs + width.lanes - 1) / width.lanes; }

/** Lays the columns of weights [steps, out] block after block at `to`; answers the end. */
float* packBlocks(const float* weights, int steps, int out, const Width& width, float* to) {
  const int vectors = vectorsOf(out, width);
  for (int first = 0; first < vectors;) {
    const int block = blockOf(first, vectors, width.blockVectors);
    for (int step = 0; step < steps; step++, to += block * width.lanes) {
      const int from = first * width.lanes, count = std::min(block * width.lanes, out - from);
      const float* row = weights + static_cast<std::size_t>(step) * static_cast<std::size_t>(out) + from;
      std::copy(row, row + count, to);
    }
    first += block;
  }
  return to;
}

}  // namespace

AlignedFloats::AlignedFloats(std::size_t count) : memory_(new float[count + LINE / sizeof(float)]()), size_(count) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  start_ = memory_.get() + (LINE - address % LINE) % LINE / sizeof(float);
}

int paddedTo(int count, const Width& width) { return (vectorsOf(count, width) + 1) * width.lanes; }

PackedNetwork::PackedNetwork(const std::vector<Layer>& layers, Activation activation, const Width& width) : width_(&width) {
  std::size_t floats = 0;
  for (const Layer& layer : layers) {
    const int outputs = vectorsOf(layer.out, width) * width.lanes;
    floats += static_cast<std::size_t>(layer.in + 1) * static_cast<std::size_t>(outputs);
    stride_ = std::max({stride_, paddedTo(layer.in, width), paddedTo(layer.out, width)});
  }
  memory_ = AlignedFloats(floats);
  float* to = memory_.data();
  for (std::size_t i = 0; i < layers.size(); i++) {
    const Layer& layer = layers[i];
    const int vectors = vectorsOf(layer.out, width);
    float* weights = to;
    float* bias = packBlocks(layer.w.data(), layer.in, layer.out, width, weights);
    std::copy(layer.b.begin(), layer.b.end(), bias);
    layers_.push_back({weights, bias, layer.in, vectors, i + 1 < layers.size() ? activation : Activation::none});
    to = bias + vectors * width.lanes;
  }
}

const float* PackedNetwork::run(float* first, float* second, int rows) const {
  for (const PackedLayer& layer : layers_) {
    width_->layer(layer, first, stride_, rows, second, stride_);
    std::swap(first, second);
  }
  return first;
}

}  // namespace reverie::processor
