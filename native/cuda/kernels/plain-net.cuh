// The forward pass of a multilayer perceptron of any width in float: a block takes 64 rows through a layer, 64 columns at a
// time, four rows by four columns a thread. Weights stream through shared memory in blocks of 16 inputs by 64 outputs.
#pragma once

#include "number.cuh"
#include "tile.cuh"

namespace reverie {

struct alignas(16) Quad {
  float at[4];
};

class PlainNet {
 public:
  static constexpr int warpRows = PLAIN_ROWS / (PLAIN_THREADS / 32);
  using Number = Exact;

  REVERIE_DEVICE PlainNet(const SharedLayout& layout, const ScratchArgs& scratch)
      : layout_(layout), scratch_(scratch), memory_(scratch.memory + scratch.bytesPerBlock * static_cast<unsigned>(block())) {}

  struct Stream {};
  template <class MemberOf>
  REVERIE_DEVICE Stream stream(const NetworkArgs&, int, MemberOf) {
    return Stream{};
  }

  REVERIE_DEVICE WarpRows& rows() { return rowsOf(warpOf()); }
  REVERIE_DEVICE int firstRow() const { return warpOf() * warpRows; }
  REVERIE_DEVICE void settleRows() { syncBlock(); }
  REVERIE_DEVICE void settleAnswers() { syncBlock(); }

  /** Of this warp's rows; `forward` counts from the block's first. */
  REVERIE_DEVICE Answers answers(const NetworkArgs& network, int, int pass) {
    const int size = network.outputs * stride;
    float* at = reinterpret_cast<float*>(memory_ + scratch_.answers) + static_cast<std::int64_t>(pass) * size;
    return Answers{at + firstRow(), stride, size};
  }

  template <class Tiles>
  REVERIE_DEVICE void encode(const NetworkArgs& network, const Tiles& inputs) {
    float* to = activations(0);
    const int columns = network.layer[0].steps * PLAIN_DEPTH;
    for (int i = thread(); i < columns * PLAIN_ROWS; i += PLAIN_THREADS) {
      const int row = i % PLAIN_ROWS, column = i / PLAIN_ROWS;
      const WarpRows& owner = rowsOf(row / warpRows);
      const bool isRow = row % warpRows < owner.count;
      to[column * stride + row] = isRow ? inputs.input(inputs.row(owner.place[row % warpRows]), column) : 0.0f;
    }
    syncBlock();
  }

  REVERIE_DEVICE void forward(Stream&, const NetworkArgs& network, int member, int passes, int pass) {
    for (int layer = 0; layer < network.layers; layer++) {
      const LayerShape& shape = network.layer[layer];
      const char* weights = network.weights + static_cast<std::uint64_t>(member) * network.bytes + shape.offset;
      const bool isLast = layer + 1 == network.layers;
      float* to = isLast ? answers(network, passes, pass).at - firstRow() : activations((layer + 1) % 2);
      runLayer(network, shape, weights, activations(layer % 2), to, isLast);
    }
  }

 private:
  static constexpr int stride = PLAIN_ROWS + 4;
  static constexpr int blockBytes = PLAIN_DEPTH * PLAIN_COLUMNS * 4;

  REVERIE_DEVICE WarpRows& rowsOf(int warp) { return reinterpret_cast<WarpRows*>(sharedMemory() + layout_.warpRows)[warp]; }

  REVERIE_DEVICE float* activations(int which) {
    const std::uint32_t bytes = layout_.activationBytes;
    if (bytes > 0) return reinterpret_cast<float*>(sharedMemory() + layout_.activations + which * (bytes / 2));
    const std::uint64_t half = (scratch_.bytesPerBlock - scratch_.activations) / 2;
    return reinterpret_cast<float*>(memory_ + scratch_.activations + which * half);
  }

  REVERIE_DEVICE void fetch(const char* weights, int index, int count) {
    char* slots = sharedMemory() + layout_.ring;
    const int at = thread() * 16;
    if (index < count)
      copyAsync(slots + (index % 2) * blockBytes + at, weights + static_cast<std::int64_t>(index) * blockBytes + at);
    copyCommit();
  }

  REVERIE_DEVICE void runLayer(const NetworkArgs& network, const LayerShape& shape, const char* weights, const float* from,
                               float* to, bool isLast) {
    const int count = shape.chunks * shape.steps;
    const float* bias = reinterpret_cast<const float*>(weights + static_cast<std::int64_t>(count) * blockBytes);
    const int row = 4 * (thread() % 16), column = 4 * (thread() / 16);
    fetch(weights, 0, count);
    for (int chunk = 0, index = 0; chunk < shape.chunks; chunk++) {
      float sums[4][4];
      for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 4; i++) sums[j][i] = bias[chunk * PLAIN_COLUMNS + column + j];
      }
      for (int step = 0; step < shape.steps; step++, index++) {
        fetch(weights, index + 1, count);
        copyWait<1>();
        syncBlock();
        addProducts(sums, from + step * PLAIN_DEPTH * stride + row, index % 2, column);
        syncBlock();
      }
      keep(sums, network, chunk * PLAIN_COLUMNS + column, row, to, isLast);
    }
    syncBlock();
  }

  REVERIE_DEVICE void addProducts(float (&sums)[4][4], const float* from, int slot, int column) {
    const float* weights = reinterpret_cast<const float*>(sharedMemory() + layout_.ring + slot * blockBytes) + column;
    REVERIE_UNROLL
    for (int k = 0; k < PLAIN_DEPTH; k++) {
      const Quad a = *reinterpret_cast<const Quad*>(from + k * stride);
      const Quad b = *reinterpret_cast<const Quad*>(weights + k * PLAIN_COLUMNS);
      REVERIE_UNROLL
      for (int j = 0; j < 4; j++) {
        REVERIE_UNROLL
        for (int i = 0; i < 4; i++) sums[j][i] += a.at[i] * b.at[j];
      }
    }
  }

  static REVERIE_DEVICE void keep(const float (&sums)[4][4], const NetworkArgs& network, int column, int row, float* to,
                                  bool isLast) {
    for (int j = 0; j < 4; j++) {
      if (isLast && column + j >= network.outputs) return;
      for (int i = 0; i < 4; i++) {
        to[static_cast<std::int64_t>(column + j) * stride + row + i] =
            isLast ? sums[j][i] : activate(sums[j][i], network.activation);
      }
    }
  }

  static REVERIE_DEVICE float activate(float x, Activation activation) {
    if (activation == Activation::swish) return Exact::swish(x);
    return activation == Activation::tanh ? Exact::tanh(x) : x < 0.0f ? 0.0f : x;
  }

  const SharedLayout& layout_;
  const ScratchArgs& scratch_;
  char* memory_;
};

}  // namespace reverie
