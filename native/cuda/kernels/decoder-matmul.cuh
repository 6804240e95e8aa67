// Products of a block's rows with a weight matrix read from L2. `store(row, column, a, b)` takes columns `column` and `column` + 1
// (even), of all rows and of padding too.
#pragma once

#include "decoder-tile.cuh"

namespace reverie::decoder {

constexpr int STEPS_PER_CHUNK = DEPTH_CHUNK / 16;
/** Loads under way a lane: two chunks, 4 KB a warp. */
constexpr int RING = 2 * STEPS_PER_CHUNK;

template <class Store>
REVERIE_DEVICE void storePanel(int panel, float (&sums)[2][4], const Store& store) {
  const int row = laneOf() / 4, column = panel * PANEL_COLUMNS + 2 * (laneOf() % 4);
  REVERIE_UNROLL
  for (int tile = 0; tile < 2; tile++) {
    store(row, column + 8 * tile, sums[tile][0], sums[tile][1]);
    store(row + 8, column + 8 * tile, sums[tile][2], sums[tile][3]);
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) sums[tile][i] = 0.0f;
  }
}

REVERIE_DEVICE void multiplyStep(const Half* rows, const uint4& weights, float (&sums)[2][4]) {
  std::uint32_t a[4];
  loadMatrices(a, rows);
  const std::uint32_t left[2] = {weights.x, weights.y}, right[2] = {weights.z, weights.w};
  mmaBf16(sums[0], a, left);
  mmaBf16(sums[1], a, right);
}

/** Each warp has panels of its own, side by side, so that its weights are one stream, which it reads ahead of its sums. */
template <class Store>
REVERIE_DEVICE void multiply(const Half* input, int stride, const Matrix& matrix, const Store& store) {
  const int first = warpOf() * matrix.panels / WARPS, last = (warpOf() + 1) * matrix.panels / WARPS;
  const int chunks = (last - first) * matrix.chunks;
  const uint4* weights = static_cast<const uint4*>(matrix.weights) +
                         static_cast<std::int64_t>(first) * matrix.chunks * STEPS_PER_CHUNK * 32 + laneOf();
  const Half* rows = input + (laneOf() % 16) * stride + (laneOf() / 16) * 8;
  uint4 ring[RING] = {};
  REVERIE_UNROLL
  for (int i = 0; i < RING; i++) {
    if (i < chunks * STEPS_PER_CHUNK) ring[i] = loadStream(weights + i * 32);
  }
  float sums[2][4] = {};
  int panel = first, chunk = 0;
  for (int begun = 0; begun < chunks; begun += 2) {
    REVERIE_UNROLL
    for (int half = 0; half < 2; half++) {
      if (begun + half >= chunks) break;
      REVERIE_UNROLL
      for (int i = 0; i < STEPS_PER_CHUNK; i++) {
        uint4& word = ring[half * STEPS_PER_CHUNK + i];
        multiplyStep(rows + (chunk * STEPS_PER_CHUNK + i) * 16, word, sums);
        const int ahead = (begun + half + 2) * STEPS_PER_CHUNK + i;
        if (begun + half + 2 < chunks) word = loadStream(weights + ahead * 32);
      }
      if (++chunk == matrix.chunks) {
        storePanel(panel++, sums, store);
        chunk = 0;
      }
    }
  }
}

/** The same in float, for checking: a thread has two columns. */
template <class Store>
REVERIE_DEVICE void multiply(const float* input, int stride, const Matrix& matrix, const Store& store) {
  const int width = matrix.panels * PANEL_COLUMNS;
  for (int column = 2 * thread(); column < width; column += 2 * threads()) {
    const float* weights = static_cast<const float*>(matrix.weights) + column;
    float sums[TILE_ROWS][2] = {};
    for (int k = 0; k < matrix.chunks * DEPTH_CHUNK; k++) {
      const float a = weights[static_cast<std::int64_t>(k) * width], b = weights[static_cast<std::int64_t>(k) * width + 1];
      REVERIE_UNROLL
      for (int row = 0; row < TILE_ROWS; row++) {
        const float x = input[row * stride + k];
        sums[row][0] = fusedMultiplyAdd(x, a, sums[row][0]);
        sums[row][1] = fusedMultiplyAdd(x, b, sums[row][1]);
      }
    }
    REVERIE_UNROLL
    for (int row = 0; row < TILE_ROWS; row++) store(row, column, sums[row][0], sums[row][1]);
  }
}

}  // namespace reverie::decoder
