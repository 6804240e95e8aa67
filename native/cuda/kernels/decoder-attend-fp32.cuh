// A task of attention in float, for checking: the warp takes one position after another, a lane up to four dimensions of it.
#pragma once

#include "decoder-attention.cuh"

namespace reverie::decoder {

/** Dimensions a lane has of a head of 128. */
constexpr int LANE_DIMS = 4;

REVERIE_DEVICE float dot(const float* a, const float* b, int count) {
  float sum = 0.0f;
  for (int i = laneOf(); i < count; i += 32) sum = fusedMultiplyAdd(a[i], b[i], sum);
  REVERIE_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffleXor(sum, mask);
  return sum;
}

template <int>
REVERIE_DEVICE void attend(const Args& args, const Tile<float>& tile, int layer, const Task& task) {
  const int slot = tile.slot[task.row], dims = args.headDim;
  const float* keys = cached<float>(args, args.keys, layer, slot, task.kvHead);
  const float* values = cached<float>(args, args.values, layer, slot, task.kvHead);
  const float scale = 1.0f / squareRoot(static_cast<float>(dims));
  for (int head = task.firstHead; head < task.firstHead + task.heads; head++) {
    float* own = tile.wide + task.row * tile.wideStride + head * dims;
    float most = lowest(), weight = 0.0f, sums[LANE_DIMS] = {};
    for (int position = task.begin; position < task.end; position++) {
      const float score = dot(own, keys + position * dims, dims);
      const float before = most;
      most = larger(score, most);
      const float shrink = exponential((before - most) * scale), share = exponential((score - most) * scale);
      weight = fusedMultiplyAdd(weight, shrink, share);
      REVERIE_UNROLL
      for (int i = 0; i < LANE_DIMS; i++) {
        const int dim = laneOf() + 32 * i;
        if (dim < dims) sums[i] = fusedMultiplyAdd(share, values[position * dims + dim], sums[i] * shrink);
      }
    }
    const bool isPart = isSplit(tile, task.row);
    float* to = isPart ? partialOf(args, task.row, head, task.part) : own;
    REVERIE_UNROLL
    for (int i = 0; i < LANE_DIMS; i++) {
      const int dim = laneOf() + 32 * i;
      if (dim < dims) to[dim] = isPart ? sums[i] : sums[i] / weight;
    }
    if (isPart && laneOf() == 0) {
      to[dims] = most;
      to[dims + 1] = weight;
    }
  }
}

}  // namespace reverie::decoder
