// The fast forward pass of a multilayer perceptron on tensor cores, in tf32. A warp takes 16 rows through all layers by itself: the
// accumulators of a layer, activated, are the A fragments of the next one in the same lanes, so activations never leave the warp;
// they wait in the lane's own words of shared memory while registers still hold the layer's input.
// Weights are packed in B-fragment order (engine/ensemble-pack.cc) and streamed through a ring that all warps read.
// Columns 2t and 2t + 1 of each eight lie where PTX puts t and t + 4; the packed weights' rows are exchanged alike.
#pragma once

#include "number.cuh"
#include "ring.cuh"
#include "tile.cuh"

namespace reverie {

struct alignas(16) Fragment {
  std::uint32_t at[4];
};

/**
 * `steps` fragments are the widest layer. Networks that are `isPadded` have all layers but the first padded to exactly `steps`,
 * so that their loops are of known length.
 */
template <int steps, bool isPadded>
class FusedNet {
 public:
  static constexpr int warpRows = 16;
  using Number = Fast;

  REVERIE_DEVICE FusedNet(const SharedLayout& layout, const ScratchArgs& scratch) : layout_(layout), scratch_(scratch) {}

  template <class MemberOf>
  REVERIE_DEVICE Ring<MemberOf> stream(const NetworkArgs& network, int passes, MemberOf memberOf) {
    return Ring<MemberOf>(network, sharedMemory() + layout_.ring, layout_.stageBytes, passes, memberOf);
  }

  REVERIE_DEVICE WarpRows& rows() { return reinterpret_cast<WarpRows*>(sharedMemory() + layout_.warpRows)[warpOf()]; }
  REVERIE_DEVICE int firstRow() const { return warpOf() * warpRows; }
  REVERIE_DEVICE void settleRows() { syncWarp(); }
  REVERIE_DEVICE void settleAnswers() { syncWarp(); }

  /** In the warp's activations, which are free when the last layer has begun; in device memory where they do not fit. */
  REVERIE_DEVICE Answers answers(const NetworkArgs& network, int passes, int pass) {
    constexpr int stride = warpRows + 4;
    const int size = network.outputs * stride;
    if (passes == 1 && static_cast<std::uint32_t>(size) * 4 <= layout_.activationBytes) {
      return Answers{reinterpret_cast<float*>(activations()), stride, size};
    }
    char* memory = scratch_.memory + scratch_.bytesPerBlock * static_cast<unsigned>(block()) + scratch_.answers;
    float* at = reinterpret_cast<float*>(memory) + static_cast<std::int64_t>(warpOf() * passes + pass) * size;
    return Answers{at, stride, size};
  }

  /** All inputs of a step are read before any is written, so that reads do not wait for each other. */
  template <class Tiles>
  REVERIE_DEVICE void encode(const NetworkArgs& network, const Tiles& inputs) {
    const WarpRows& own = rows();
    if (own.count == 0) return;
    typename Tiles::Row rowsOfLane[2];
    REVERIE_UNROLL
    for (int i = 0; i < 2; i++) {
      const int row = 8 * i + laneOf() / 4;
      rowsOfLane[i] = inputs.row(own.place[row < own.count ? row : 0]);
    }
    for (int step = 0; step < network.layer[0].steps; step++) {
      Fragment fragment;
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) {
        fragment.at[i] = tf32Bits(inputs.input(rowsOfLane[i & 1], step * DEPTH + 2 * (laneOf() & 3) + (i >> 1)));
      }
      at(step) = fragment;
    }
  }

  template <class Stream>
  REVERIE_DEVICE void forward(Stream& stream, const NetworkArgs& network, int, int passes, int pass) {
    const bool isIdle = rows().count == 0;
    for (int layer = 0; layer < network.layers; layer++) {
      const bool isLast = layer + 1 == network.layers;
      const LayerShape& shape = network.layer[layer];
      if (isPadded && layer > 0) {
        runLayer<steps, true>(stream, network, shape, isLast, isIdle, passes, pass);
      } else if (shape.steps <= shallow) {
        runLayer<shallow, false>(stream, network, shape, isLast, isIdle, passes, pass);
      } else {
        runLayer<steps, false>(stream, network, shape, isLast, isIdle, passes, pass);
      }
    }
  }

 private:
  /** Columns of an A fragment. */
  static constexpr int DEPTH = 8;

  /** Chunks of 16 columns in work at once: one where a network of unknown depths would run out of registers. */
  static constexpr int atOnce = isPadded ? 2 : 1;

  /** Fragments of a first layer as most bodies have it: code for the widest layer would step over the rest of them. */
  static constexpr int shallow = 48 / DEPTH < steps ? 48 / DEPTH : steps;

  /** Fragments of a layer's input that a lane holds. */
  template <int most>
  struct Inputs {
    std::uint32_t at[most][4];
  };

  REVERIE_DEVICE char* activations() {
    return sharedMemory() + layout_.activations + static_cast<unsigned>(warpOf()) * layout_.activationBytes;
  }
  /** Fragments there is room for: of a policy, those of its own widest layer or of the model's. */
  REVERIE_DEVICE int room() const { return isPadded ? steps : static_cast<int>(layout_.activationBytes / (32 * sizeof(Fragment))); }
  REVERIE_DEVICE Fragment& at(int step) { return reinterpret_cast<Fragment*>(activations())[step * 32 + laneOf()]; }

  /** `most` fragments make the layer's input; exactly so many where it `isWhole`. */
  template <int most, bool isWhole, class Stream>
  REVERIE_DEVICE void runLayer(Stream& stream, const NetworkArgs& network, const LayerShape& shape, bool isLast, bool isIdle,
                               int passes, int pass) {
    Inputs<most> inputs;
    const int depth = isWhole ? most : shape.steps;
    REVERIE_UNROLL
    for (int step = 0; step < most; step++) {
      // Beyond the layer's depth too: what is loaded there is never used, but a condition would cost registers.
      const Fragment fragment = at(isPadded || step < room() ? step : 0);
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) inputs.at[step][i] = fragment.at[i];
    }
    syncWarp();
    for (int chunk = 0; chunk < shape.chunks;) {
      const char* weights = stream.next();
      const int end = chunk + shape.chunksPerStage < shape.chunks ? chunk + shape.chunksPerStage : shape.chunks;
      if (isIdle) {
        chunk = end;
        continue;
      }
      for (; chunk + atOnce <= end; chunk += atOnce, weights += atOnce * chunkBytes(depth)) {
        runChunks<most, isWhole, atOnce>(weights, depth, inputs, network, chunk, isLast, passes, pass);
      }
      if (chunk < end) runChunks<most, isWhole, 1>(weights, depth, inputs, network, chunk++, isLast, passes, pass);
    }
  }

  /**
   * `count` chunks of 16 columns at once, so that enough products do not wait for each other. Summed from the bias on in the
   * order of the inputs, so that no row depends on how rows are tiled.
   */
  template <int most, bool isWhole, int count>
  REVERIE_DEVICE void runChunks(const char* weights, int depth, const Inputs<most>& inputs, const NetworkArgs& network, int first,
                                bool isLast, int passes, int pass) {
    float sums[count][2][4];
    REVERIE_UNROLL
    for (int i = 0; i < count; i++) addBias(weights + i * chunkBytes(depth) + depth * FRAGMENT_BYTES, sums[i]);
    REVERIE_UNROLL
    for (int step = 0; step < most; step++) {
      if (!isWhole && step >= depth) continue;
      REVERIE_UNROLL
      for (int i = 0; i < count; i++) {
        const char* lane = weights + i * chunkBytes(depth) + step * FRAGMENT_BYTES + static_cast<unsigned>(laneOf()) * 16;
        const uint4 b = loadShared(lane);
        const std::uint32_t halves[2][2] = {{b.x, b.y}, {b.z, b.w}};
        mmaTf32(sums[i][0], inputs.at[step], halves[0]);
        mmaTf32(sums[i][1], inputs.at[step], halves[1]);
      }
    }
    REVERIE_UNROLL
    for (int i = 0; i < count; i++) {
      if (isLast) {
        keepAnswers(sums[i], first + i, network.outputs, answers(network, passes, pass));
      } else {
        keepActivations(sums[i], first + i, network.activation);
      }
    }
  }

  static REVERIE_DEVICE void addBias(const char* bias, float (&sums)[2][4]) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      const float* pair = reinterpret_cast<const float*>(bias) + 8 * half + 2 * (laneOf() & 3);
      sums[half][0] = sums[half][2] = pair[0];
      sums[half][1] = sums[half][3] = pair[1];
    }
  }

  /** Accumulators of 16 columns as two A fragments. */
  REVERIE_DEVICE void keepActivations(float (&sums)[2][4], int chunk, Activation activation) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      float c[4];
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) c[i] = activate(sums[half][i], activation);
      at(2 * chunk + half) = Fragment{{tf32Bits(c[0]), tf32Bits(c[2]), tf32Bits(c[1]), tf32Bits(c[3])}};
    }
  }

  static REVERIE_DEVICE float activate(float x, Activation activation) {
    if (isPadded || activation == Activation::swish) return Fast::swish(x);
    return activation == Activation::tanh ? Fast::tanh(x) : x < 0.0f ? 0.0f : x;
  }

  REVERIE_DEVICE void keepAnswers(const float (&sums)[2][4], int chunk, int outputs, const Answers& answers) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) {
        const int column = 16 * chunk + 8 * half + 2 * (laneOf() & 3) + (i & 1);
        if (column < outputs) answers(0, column, laneOf() / 4 + 8 * (i >> 1)) = sums[half][i];
      }
    }
  }

  const SharedLayout& layout_;
  const ScratchArgs& scratch_;
};

}  // namespace reverie
