// The fast forward pass of a multilayer perceptron on tensor cores. A warp takes 16 or 32 rows through all layers by itself:
// the accumulators of a layer, activated, are the A fragments of the next one in the same lanes, so activations never leave
// the warp; they wait in the lane's own words of shared memory while registers still hold the layer's input.
// Weights are packed in B-fragment order (engine/ensemble-pack.cc) and streamed through a ring that all warps read.
#pragma once

#include "number.cuh"
#include "ring.cuh"
#include "tile.cuh"

namespace reverie {

struct alignas(16) Fragment {
  std::uint32_t at[4];
};

struct Bf16 {
  /** Columns of an A fragment, and fragments that 16 columns of a layer's output make. */
  static constexpr int depth = 16, fragmentsPerChunk = 1;
  using Number = Fast;

  static REVERIE_DEVICE void multiply(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    mmaBf16(c, a, b);
  }

  /** Swish of twice the number: hidden layers of swish are packed halved, which is exact and saves a multiplication. */
  static REVERIE_DEVICE float swish(float half) { return half * tanhFast(half) + half; }
  static REVERIE_DEVICE float tanh(float x) { return tanhFast(x); }

  /** Word `i` of the A fragment whose first column is `first`, from input(half, column): half 1 is the row eight below. */
  template <class Input>
  static REVERIE_DEVICE std::uint32_t encode(const Input& input, int i, int first) {
    const int column = first + 2 * (laneOf() & 3) + 8 * (i >> 1);
    return packBf16(input(i & 1, column), input(i & 1, column + 1));
  }

  /** Accumulators of 16 columns as A fragments. */
  static REVERIE_DEVICE void chain(Fragment (&to)[1], const float (&c)[2][4]) {
    to[0] = Fragment{
        {packBf16(c[0][0], c[0][1]), packBf16(c[0][2], c[0][3]), packBf16(c[1][0], c[1][1]), packBf16(c[1][2], c[1][3])}};
  }
};

/** Columns 2t and 2t + 1 of each eight lie where PTX puts t and t + 4; the packed weights' rows are exchanged alike. */
struct Tf32 {
  static constexpr int depth = 8, fragmentsPerChunk = 2;
  using Number = Fast;

  static REVERIE_DEVICE void multiply(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    mmaTf32(c, a, b);
  }

  static REVERIE_DEVICE float swish(float x) { return Fast::swish(x); }
  static REVERIE_DEVICE float tanh(float x) { return Fast::tanh(x); }

  template <class Input>
  static REVERIE_DEVICE std::uint32_t encode(const Input& input, int i, int first) {
    return tf32Bits(input(i & 1, first + 2 * (laneOf() & 3) + (i >> 1)));
  }

  static REVERIE_DEVICE void chain(Fragment (&to)[2], const float (&c)[2][4]) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      to[half] = Fragment{{tf32Bits(c[half][0]), tf32Bits(c[half][2]), tf32Bits(c[half][1]), tf32Bits(c[half][3])}};
    }
  }
};

/**
 * `steps` fragments are the widest layer; `tiles` of 16 rows go to a warp. Networks that are `isPadded` have all layers but
 * the first padded to exactly `steps`, so that their loops are of known length.
 */
template <class P, int steps, int tiles, bool isPadded>
class FusedNet {
 public:
  static constexpr int warpRows = 16 * tiles;
  using Number = typename P::Number;

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
    typename Tiles::Row rowsOfLane[tiles][2];
    REVERIE_UNROLL
    for (int i = 0; i < 2 * tiles; i++) {
      const int row = 8 * i + laneOf() / 4;
      rowsOfLane[i / 2][i % 2] = inputs.row(own.place[row < own.count ? row : 0]);
    }
    for (int step = 0; step < network.layer[0].steps; step++) {
      Fragment fragments[tiles];
      REVERIE_UNROLL
      for (int tile = 0; tile < tiles; tile++) {
        const auto input = [&](int half, int column) { return inputs.input(rowsOfLane[tile][half], column); };
        REVERIE_UNROLL
        for (int i = 0; i < 4; i++) fragments[tile].at[i] = P::encode(input, i, step * P::depth);
      }
      REVERIE_UNROLL
      for (int tile = 0; tile < tiles; tile++) at(tile, step) = fragments[tile];
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
  /**
   * Chunks of 16 columns in work at once. One where narrow layers leave registers to a second block, or a network of unknown
   * depths would run out of them.
   */
  static constexpr int atOnce = !isPadded || (tiles == 2 && P::depth * steps <= 64) ? 1 : 2;

  /** Fragments of a first layer as most bodies have it: code for the widest layer would step over the rest of them. */
  static constexpr int shallow = 48 / P::depth < steps ? 48 / P::depth : steps;

  /** Fragments of a layer's input that a lane holds. */
  template <int most>
  struct Inputs {
    std::uint32_t at[tiles][most][4];
  };

  REVERIE_DEVICE char* activations() {
    return sharedMemory() + layout_.activations + static_cast<unsigned>(warpOf()) * layout_.activationBytes;
  }
  /** Fragments there is room for in a tile: of a policy, those of its own widest layer or of the model's. */
  REVERIE_DEVICE int room() const {
    return isPadded ? steps : static_cast<int>(layout_.activationBytes / (32 * sizeof(Fragment) * tiles));
  }
  REVERIE_DEVICE Fragment& at(int tile, int step) {
    return reinterpret_cast<Fragment*>(activations())[(tile * room() + step) * 32 + laneOf()];
  }

  /** `most` fragments make the layer's input; exactly so many where it `isWhole`. */
  template <int most, bool isWhole, class Stream>
  REVERIE_DEVICE void runLayer(Stream& stream, const NetworkArgs& network, const LayerShape& shape, bool isLast, bool isIdle,
                               int passes, int pass) {
    Inputs<most> inputs;
    const int depth = isWhole ? most : shape.steps;
    REVERIE_UNROLL
    for (int tile = 0; tile < tiles; tile++) {
      REVERIE_UNROLL
      for (int step = 0; step < most; step++) {
        // Beyond the layer's depth too: what is loaded there is never used, but a condition would cost registers.
        const Fragment fragment = at(tile, isPadded || step < room() ? step : 0);
        REVERIE_UNROLL
        for (int i = 0; i < 4; i++) inputs.at[tile][step][i] = fragment.at[i];
      }
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
    float sums[count][tiles][2][4];
    REVERIE_UNROLL
    for (int i = 0; i < count; i++) addBias(weights + i * chunkBytes(depth) + depth * FRAGMENT_BYTES, sums[i]);
    REVERIE_UNROLL
    for (int step = 0; step < most; step++) {
      if (!isWhole && step >= depth) continue;
      REVERIE_UNROLL
      for (int i = 0; i < count; i++) addProducts(sums[i], inputs, step, loadWeights(weights + i * chunkBytes(depth), step));
    }
    REVERIE_UNROLL
    for (int i = 0; i < count; i++) {
      REVERIE_UNROLL
      for (int tile = 0; tile < tiles; tile++) {
        if (isLast) {
          keepAnswers(sums[i][tile], tile, first + i, network.outputs, answers(network, passes, pass));
        } else {
          keepActivations(sums[i][tile], tile, first + i, network.activation);
        }
      }
    }
  }

  static REVERIE_DEVICE uint4 loadWeights(const char* chunk, int step) {
    return loadShared(chunk + step * FRAGMENT_BYTES + static_cast<unsigned>(laneOf()) * 16);
  }

  template <int most>
  static REVERIE_DEVICE void addProducts(float (&sums)[tiles][2][4], const Inputs<most>& inputs, int step, const uint4& b) {
    const std::uint32_t halves[2][2] = {{b.x, b.y}, {b.z, b.w}};
    REVERIE_UNROLL
    for (int tile = 0; tile < tiles; tile++) {
      P::multiply(sums[tile][0], inputs.at[tile][step], halves[0]);
      P::multiply(sums[tile][1], inputs.at[tile][step], halves[1]);
    }
  }

  static REVERIE_DEVICE void addBias(const char* bias, float (&sums)[tiles][2][4]) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      const float* pair = reinterpret_cast<const float*>(bias) + 8 * half + 2 * (laneOf() & 3);
      const float even = pair[0], odd = pair[1];
      REVERIE_UNROLL
      for (int tile = 0; tile < tiles; tile++) {
        sums[tile][half][0] = sums[tile][half][2] = even;
        sums[tile][half][1] = sums[tile][half][3] = odd;
      }
    }
  }

  REVERIE_DEVICE void keepActivations(float (&sums)[2][4], int tile, int chunk, LayerActivation activation) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) sums[half][i] = activate(sums[half][i], activation);
    }
    Fragment fragments[P::fragmentsPerChunk];
    P::chain(fragments, sums);
    REVERIE_UNROLL
    for (int i = 0; i < P::fragmentsPerChunk; i++) at(tile, chunk * P::fragmentsPerChunk + i) = fragments[i];
  }

  static REVERIE_DEVICE float activate(float x, LayerActivation activation) {
    if (isPadded || activation == LayerActivation::swish) return P::swish(x);
    return activation == LayerActivation::tanh ? P::tanh(x) : x < 0.0f ? 0.0f : x;
  }

  REVERIE_DEVICE void keepAnswers(const float (&sums)[2][4], int tile, int chunk, int outputs, const Answers& answers) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) {
        const int column = 16 * chunk + 8 * half + 2 * (laneOf() & 3) + (i & 1);
        if (column < outputs) answers(0, column, 16 * tile + laneOf() / 4 + 8 * (i >> 1)) = sums[half][i];
      }
    }
  }

  const SharedLayout& layout_;
  const ScratchArgs& scratch_;
};

}  // namespace reverie
