// Attention of a block's rows over the cached keys and values: a warp takes one row, one key-value head, up to eight of its
// query heads and up to CONTEXT_CHUNK positions at a time. How positions are cut depends on nothing but the position, so a
// sequence's numbers do not depend on the batch it is in.
#pragma once

#include "decoder-tile.cuh"
#include "number.cuh"

namespace reverie::decoder {

struct Task {
  int row, kvHead;
  /** Of the model; `heads` of them. */
  int firstHead, heads;
  int part, begin, end;
};

/** Minus infinity, of which e^x is 0. */
REVERIE_DEVICE float lowest() { return floatOf(0xff800000u); }

/** Where the cache holds a row's keys (or values) of a head: [context, headDim]. */
template <class T>
REVERIE_DEVICE T* cached(const Args& args, void* cache, int layer, int slot, int kvHead) {
  const std::int64_t head = (static_cast<std::int64_t>(layer) * args.slotCount + slot) * args.kvHeads + kvHead;
  return static_cast<T*>(cache) + head * args.context * args.headDim;
}

REVERIE_DEVICE float* partialOf(const Args& args, int row, int head, int part) {
  const std::int64_t index = (static_cast<std::int64_t>(block() * TILE_ROWS + row) * args.heads + head) * args.parts + part;
  return args.partials + index * (args.headDim + 2);
}

/** The next task that is there, taken by the whole warp; false when there are no more. */
template <class T>
REVERIE_DEVICE bool nextTask(const Args& args, const Tile<T>& tile, Task& task) {
  const int group = args.heads / args.kvHeads;
  const int slices = (group + SLICE_HEADS - 1) / SLICE_HEADS;
  const int perRow = *tile.parts * args.kvHeads * slices;
  for (;;) {
    int index = 0;
    if (laneOf() == 0) index = addAtomic(tile.taken, 1);
    index = shuffle(index, 0);
    if (index >= *tile.used * perRow) return false;
    const int row = index / perRow, rest = index % perRow;
    const int part = rest / (args.kvHeads * slices), head = rest / slices % args.kvHeads, slice = rest % slices;
    const int position = tile.position[row];
    if (position < 0 || part >= partsOf(position)) continue;
    const int begin = part * CONTEXT_CHUNK, firstHead = head * group + slice * SLICE_HEADS;
    const int heads = group - slice * SLICE_HEADS;
    const int end = position + 1 < begin + CONTEXT_CHUNK ? position + 1 : begin + CONTEXT_CHUNK;
    task = Task{row, head, firstHead, heads < SLICE_HEADS ? heads : SLICE_HEADS, part, begin, end};
    return true;
  }
}

/** Whether the row's positions are attended to in several parts, to be put together by `combine`. */
template <class T>
REVERIE_DEVICE bool isSplit(const Tile<T>& tile, int row) {
  return partsOf(tile.position[row]) > 1;
}

/** Puts parts together, in their order. */
template <class T>
REVERIE_DEVICE void combine(const Args& args, const Tile<T>& tile) {
  const float scale = 1.0f / squareRoot(static_cast<float>(args.headDim));
  for (int task = warpOf(); task < *tile.used * args.heads; task += WARPS) {
    const int row = task / args.heads, head = task % args.heads;
    if (tile.position[row] < 0 || !isSplit(tile, row)) continue;
    const int parts = partsOf(tile.position[row]), size = args.headDim + 2;
    const float* from = partialOf(args, row, head, 0);
    float most = lowest(), weight = 0.0f;
    for (int part = 0; part < parts; part++) most = larger(from[part * size + args.headDim], most);
    for (int part = 0; part < parts; part++) {
      const float factor = exponential((from[part * size + args.headDim] - most) * scale);
      weight = fusedMultiplyAdd(from[part * size + args.headDim + 1], factor, weight);
    }
    T* to = tile.wide + row * tile.wideStride + head * args.headDim;
    for (int i = laneOf(); i < args.headDim; i += 32) {
      float sum = 0.0f;
      for (int part = 0; part < parts; part++) {
        const float factor = exponential((from[part * size + args.headDim] - most) * scale);
        sum = fusedMultiplyAdd(from[part * size + i], factor, sum);
      }
      write(to + i, sum / weight);
    }
  }
}

}  // namespace reverie::decoder
