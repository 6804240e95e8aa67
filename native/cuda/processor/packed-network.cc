// Packing of networks for a width.
#include "packed-network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace reverie::processor {
namespace {

constexpr std::size_t LINE = 64;

LayerEnd endOf(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return LayerEnd::relu;
    case Activation::tanh:
      return LayerEnd::tanh;
    default:
      return LayerEnd::swish;
  }
}

int vectorsOf(int outputs, const Width& width) { return (outputs + width.lanes - 1) / width.lanes; }

/** Rows of weights that the sums go through, whatever a row is: a pair of inputs is one where the processor takes pairs. */
int stepsOf(const Layer& layer, const Width& width, Precision precision) {
  if (precision == Precision::fp32) return layer.in;
  return (layer.in + 1) / 2 * (width.bfloat16->takesPairs ? 1 : 2);
}

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

std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/** Sums of bfloat16 products know no denormals. */
float withoutDenormal(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

/** Weights as steps of bfloat16, [steps, out]. */
std::vector<float> bfloat16Steps(const Layer& layer, const Width& width) {
  const auto out = static_cast<std::size_t>(layer.out), pairs = static_cast<std::size_t>(layer.in + 1) / 2;
  AlignedFloats rounded(2 * pairs * out + static_cast<std::size_t>(width.lanes));
  std::copy(layer.w.begin(), layer.w.end(), rounded.data());
  width.bfloat16->round(rounded.data(), static_cast<int>(2 * pairs * out));
  std::vector<float> steps;
  for (std::size_t pair = 0; pair < pairs; pair++) {
    const float* even = rounded.data() + 2 * pair * out;
    const float* odd = even + out;
    if (!width.bfloat16->takesPairs) {
      steps.insert(steps.end(), odd, odd + out);
      steps.insert(steps.end(), even, even + out);
      continue;
    }
    for (std::size_t j = 0; j < out; j++) {
      const std::uint32_t word = bitsOf(even[j]) >> 16 | bitsOf(odd[j]);
      float packed;
      std::memcpy(&packed, &word, sizeof(packed));
      steps.push_back(packed);
    }
  }
  return steps;
}

}  // namespace

AlignedFloats::AlignedFloats(std::size_t count) : memory_(new float[count + LINE / sizeof(float)]()), size_(count) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  start_ = memory_.get() + (LINE - address % LINE) % LINE / sizeof(float);
}

int paddedTo(int count, const Width& width) { return (vectorsOf(count, width) + 1) * width.lanes; }

PackedNetwork::PackedNetwork(const std::vector<Layer>& layers, Activation activation, const Width& width, Precision precision)
    : width_(&width), precision_(precision) {
  if (precision == Precision::tf32) throw std::invalid_argument("vector code computes in fp32 or bf16");
  std::size_t floats = 0;
  for (const Layer& layer : layers) {
    const int outputs = vectorsOf(layer.out, width) * width.lanes;
    floats += static_cast<std::size_t>(stepsOf(layer, width, precision) + 1) * static_cast<std::size_t>(outputs);
    stride_ = std::max({stride_, paddedTo(layer.in, width), paddedTo(layer.out, width)});
  }
  memory_ = AlignedFloats(floats);
  float* to = memory_.data();
  for (std::size_t i = 0; i < layers.size(); i++) {
    const Layer& layer = layers[i];
    const int vectors = vectorsOf(layer.out, width);
    float* weights = to;
    const int steps = stepsOf(layer, width, precision);
    const bool isCoarse = precision == Precision::bf16;
    const std::vector<float> rounded = isCoarse ? bfloat16Steps(layer, width) : std::vector<float>{};
    float* bias = packBlocks(isCoarse ? rounded.data() : layer.w.data(), steps, layer.out, width, weights);
    std::copy(layer.b.begin(), layer.b.end(), bias);
    if (isCoarse) std::transform(bias, bias + layer.out, bias, withoutDenormal);
    layers_.push_back({weights, bias, layer.in, steps, vectors, i + 1 < layers.size() ? endOf(activation) : LayerEnd::none});
    to = bias + vectors * width.lanes;
  }
}

const float* PackedNetwork::run(float* first, float* second, int rows) const {
  if (precision_ == Precision::bf16) {
    for (const PackedLayer& layer : layers_) width_->bfloat16->layer(layer, first, stride_, rows, second);
    return first;
  }
  for (const PackedLayer& layer : layers_) {
    width_->layer(layer, first, stride_, rows, second, stride_);
    std::swap(first, second);
  }
  return first;
}

}  // namespace reverie::processor
