// The kernels of a width, in the words of lanes.h. An output's products are summed in the order of the inputs, from the bias on,
// by multiply-adds that round once: rows, blocks and lanes share no arithmetic, so bytes depend on neither width nor batch.
#pragma once

#include "numbers.h"
#include "width.h"

namespace reverie::REVERIE_WIDTH {

using namespace reverie::processor;

// Sums that live in registers: ROWS rows of up to BLOCK vectors.
#if REVERIE_LANES == 16 || defined(REVERIE_NEON)
constexpr int BLOCK = 4, ROWS = 6;
#elif REVERIE_LANES == 8
constexpr int BLOCK = 2, ROWS = 6;
#else
constexpr int BLOCK = 2, ROWS = 4;
#endif

/** Rows of a tile: a narrow one needs more of them, for as many sums under way. */
template <int vectors>
constexpr int TILE_ROWS = vectors == 1 ? 2 * ROWS : ROWS;

template <Activation end>
inline Floats ended(Floats x) {
  if (end == Activation::relu) return choose(x < all(0.0f), all(0.0f), x);
  if (end == Activation::tanh) return hyperbolicTangent(x);
  if (end == Activation::swish) return x / (all(1.0f) + exponentialOf<true>(x));
  return x;
}

/** y = ended(bias + x w) of so many rows and vectors of outputs. */
template <Activation end, int rows, int vectors>
void tile(const float* x, std::int64_t xStride, const float* w, const float* bias, int steps, float* y, std::int64_t yStride) {
  Floats sums[rows][vectors];
  REVERIE_UNROLL
  for (int r = 0; r < rows; r++) {
    REVERIE_UNROLL
    for (int v = 0; v < vectors; v++) sums[r][v] = load(bias + v * LANES);
  }
  for (int i = 0; i < steps; i++, w += vectors * LANES) {
    Floats weights[vectors];
    REVERIE_UNROLL
    for (int v = 0; v < vectors; v++) weights[v] = load(w + v * LANES);
    REVERIE_UNROLL
    for (int r = 0; r < rows; r++) {
      const Floats value = all(x[r * xStride + i]);
      REVERIE_UNROLL
      for (int v = 0; v < vectors; v++) sums[r][v] = multiplyAdd(value, weights[v], sums[r][v]);
    }
  }
  REVERIE_UNROLL
  for (int r = 0; r < rows; r++) {
    REVERIE_UNROLL
    for (int v = 0; v < vectors; v++) store(y + r * yStride + v * LANES, ended<end>(sums[r][v]));
  }
}

/** The rows that are left over, fewer than `most`. */
template <Activation end, int most, int vectors>
void rest(int rows, const float* x, std::int64_t xStride, const float* w, const float* bias, int steps, float* y,
          std::int64_t yStride) {
  if constexpr (most > 1) {
    if (rows == most - 1) {
      tile<end, most - 1, vectors>(x, xStride, w, bias, steps, y, yStride);
    } else {
      rest<end, most - 1, vectors>(rows, x, xStride, w, bias, steps, y, yStride);
    }
  }
}

template <Activation end, int vectors>
void block(const PackedLayer& layer, const float* w, const float* bias, const float* x, std::int64_t xStride, int rows, float* y,
           std::int64_t yStride) {
  constexpr int most = TILE_ROWS<vectors>;
  int row = 0;
  for (; row + most <= rows; row += most) {
    tile<end, most, vectors>(x + row * xStride, xStride, w, bias, layer.in, y + row * yStride, yStride);
  }
  rest<end, most, vectors>(rows - row, x + row * xStride, xStride, w, bias, layer.in, y + row * yStride, yStride);
}

template <Activation end>
void blocks(const PackedLayer& layer, const float* x, std::int64_t xStride, int rows, float* y, std::int64_t yStride) {
  const float* w = layer.weights;
  for (int first = 0; first < layer.vectors;) {
    const int vectors = blockOf(first, layer.vectors, BLOCK);
    const float* bias = layer.bias + first * LANES;
    float* to = y + first * LANES;
    if (vectors == 1) block<end, 1>(layer, w, bias, x, xStride, rows, to, yStride);
    if (vectors == 2) block<end, 2>(layer, w, bias, x, xStride, rows, to, yStride);
    if constexpr (BLOCK > 2) {
      if (vectors == 3) block<end, 3>(layer, w, bias, x, xStride, rows, to, yStride);
      if (vectors == 4) block<end, 4>(layer, w, bias, x, xStride, rows, to, yStride);
    }
    w += static_cast<std::int64_t>(layer.in) * vectors * LANES;
    first += vectors;
  }
}

inline void runLayer(const PackedLayer& layer, const float* x, std::int64_t xStride, int rows, float* y, std::int64_t yStride) {
  switch (layer.end) {
    case Activation::relu:
      return blocks<Activation::relu>(layer, x, xStride, rows, y, yStride);
    case Activation::tanh:
      return blocks<Activation::tanh>(layer, x, xStride, rows, y, yStride);
    case Activation::swish:
      return blocks<Activation::swish>(layer, x, xStride, rows, y, yStride);
    default:
      return blocks<Activation::none>(layer, x, xStride, rows, y, yStride);
  }
}

inline void drawWords(const WordBlocks& from, int count, std::uint32_t* to) {
  for (int first = 0; first < count; first += LANES) {
    Bits c[4] = {loadBits(from.low + first), loadBits(from.high + first), Bits{}, Bits{}};
    philox(loadBits(from.key0 + first), loadBits(from.key1 + first), c[0], c[1], c[2], c[3]);
    std::uint32_t planes[4][LANES];
    for (int k = 0; k < 4; k++) storeBits(planes[k], c[k]);
    const int end = count - first < LANES ? count - first : LANES;
    for (int i = 0; i < end; i++) {
      for (int k = 0; k < 4; k++) to[4 * (first + i) + k] = planes[k][i];
    }
  }
}

inline void drawNormals(const std::uint32_t* words, int count, float* to) {
  for (int i = 0; i < count; i += LANES) store(to + i, normalOf(loadBits(words + i)));
}

/** exp(min) + exp(max) sigmoid(raw - max) is the twice bounded log-variance of PETS (1805.12114, appendix A.1). */
inline Floats varianceOf(const OutputScales& scales, int elite, int first, const float* answers) {
  const std::int64_t at = static_cast<std::int64_t>(elite) * scales.stride + first;
  const Floats raw = load(answers + scales.outputs + first);
  return multiplyAdd(load(scales.varianceMax + at), sigmoid(raw - load(scales.logVarMax + at)), load(scales.varianceMin + at));
}

inline void changeOf(const OutputScales& scales, const RowAnswers& row, float* to) {
  for (int first = 0; first < scales.outputs; first += LANES) {
    Floats mean = load(row.at + first), variance = Floats{};
    if (row.elite >= 0) {
      if (row.normals != nullptr) variance = varianceOf(scales, row.elite, first, row.at);
    } else {
      mean = Floats{};
      for (int e = 0; e < row.elites; e++) {
        mean += load(row.at + e * row.eliteStride + first);
        if (row.normals != nullptr) variance += varianceOf(scales, e, first, row.at + e * row.eliteStride);
      }
      mean /= all(static_cast<float>(row.elites));
      variance /= all(static_cast<float>(row.elites));
    }
    if (row.normals != nullptr) mean = multiplyAdd(squareRoot(variance), load(row.normals + first), mean);
    store(to + first, multiplyAdd(mean, load(scales.scale + first), load(scales.mean + first)));
  }
}

/**
 * Tanh of a Gaussian (Haarnoja et al. 2018, 1801.01290, appendix C), or a Gaussian cut to [-1, 1] with the density before the
 * cut.
 */
inline void actGaussian(const GaussianRow& row) {
  const Floats halfLogTwoPi = all(0.918938533204672742f), twoLogTwo = all(1.386294361119890619f);
  for (int first = 0; first < row.columns; first += LANES) {
    const Floats noise = row.normals == nullptr ? Floats{} : load(row.normals + first);
    Floats logStd = load(row.logStd + first);
    if (row.isSquashed) logStd = clamp(logStd, all(-10.0f), all(2.0f));
    const Floats before = multiplyAdd(exponential(logStd), noise, load(row.mean + first));
    Floats density = multiplyAdd(all(-0.5f) * noise, noise, negative(logStd)) - halfLogTwoPi;
    if (row.isSquashed) {
      density += all(2.0f) * (before + softplus(all(-2.0f) * before)) - twoLogTwo;
      store(row.unit + first, hyperbolicTangent(before));
    } else {
      store(row.unit + first, clamp(before, all(-1.0f), all(1.0f)));
    }
    store(row.density + first, density);
  }
}

template <Floats (*function)(Floats)>
void inPlace(float* values, int count) {
  for (int i = 0; i < count; i += LANES) store(values + i, function(load(values + i)));
}

constexpr Width table(const char* name, const TrainingKernels& training) {
  return {name,
          LANES,
          BLOCK,
          runLayer,
          drawWords,
          drawNormals,
          changeOf,
          actGaussian,
          inPlace<sigmoid>,
          inPlace<exponential>,
          inPlace<logarithm>,
          &training};
}

}  // namespace reverie::REVERIE_WIDTH
