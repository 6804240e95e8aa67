// A task of attention by mma. Keys are the left operand as they lie in memory: a lane's 16 bytes are eight dimensions of one
// position, and as a sum over dimensions may be taken in any order, queries are read in the same one. Values are turned
// round within the warp (transposeMatrix), so neither passes through shared memory. Scores and sums have a query head a column.
#pragma once

#include "decoder-attention.cuh"

namespace reverie::decoder {

/** Sixteen positions of one head: rows laneOf() / 4 and + 8, of each 32 dimensions the lane's eight. */
template <int dimBlocks>
struct Rows {
  uint4 words[dimBlocks][2];
};

/** Where the lane's elements of its two rows are. Positions at `end` and after are read as the last before it, for a weight of zero. */
struct Offsets {
  int at[2];
};

REVERIE_DEVICE Offsets offsetsOf(int headDim, int begin, int end) {
  const int low = begin + laneOf() / 4, dim = 8 * (laneOf() % 4);
  return Offsets{{(low < end ? low : end - 1) * headDim + dim, (low + 8 < end ? low + 8 : end - 1) * headDim + dim}};
}

template <int dimBlocks>
REVERIE_DEVICE void loadRows(Rows<dimBlocks>& rows, const Half* head, int headDim, const Offsets& offsets) {
  const int dim = 8 * (laneOf() % 4);
  REVERIE_UNROLL
  for (int half = 0; half < 2; half++) {
    REVERIE_UNROLL
    for (int i = 0; i < dimBlocks; i++) {
      rows.words[i][half] = uint4{0, 0, 0, 0};
      if (i < dimBlocks - 1 || 32 * i + dim < headDim) rows.words[i][half] = loadOnce(head + offsets.at[half] + 32 * i);
    }
  }
}

/** Scores of 16 positions (rows) for 8 query heads (columns). */
template <int dimBlocks>
REVERIE_DEVICE void score(float (&scores)[4], const Rows<dimBlocks>& keys, const uint4 (&queries)[dimBlocks]) {
  REVERIE_UNROLL
  for (int i = 0; i < 4; i++) scores[i] = 0.0f;
  REVERIE_UNROLL
  for (int i = 0; i < dimBlocks; i++) {
    const uint4 &low = keys.words[i][0], &high = keys.words[i][1];
    const std::uint32_t first[4] = {low.x, high.x, low.y, high.y}, second[4] = {low.z, high.z, low.w, high.w};
    const std::uint32_t firstQuery[2] = {queries[i].x, queries[i].y}, secondQuery[2] = {queries[i].z, queries[i].w};
    mmaBf16(scores, first, firstQuery);
    mmaBf16(scores, second, secondQuery);
  }
}

/** sums[2 i + j]: dimensions 32 i + 8 (row / 2) + 4 j + row % 2 of row = laneOf() / 4, and that + 2, for the lane's two heads. */
template <int dimBlocks>
REVERIE_DEVICE void gather(float (&sums)[2 * dimBlocks][4], const Rows<dimBlocks>& values, const std::uint32_t (&weights)[2]) {
  REVERIE_UNROLL
  for (int i = 0; i < dimBlocks; i++) {
    const uint4 &low = values.words[i][0], &high = values.words[i][1];
    const std::uint32_t first[4] = {transposeMatrix(low.x), transposeMatrix(low.y), transposeMatrix(high.x),
                                    transposeMatrix(high.y)};
    mmaBf16(sums[2 * i], first, weights);
    const std::uint32_t second[4] = {transposeMatrix(low.z), transposeMatrix(low.w), transposeMatrix(high.z),
                                     transposeMatrix(high.w)};
    mmaBf16(sums[2 * i + 1], second, weights);
  }
}

/** Online softmax (1805.02867) of two heads, 2 (laneOf() % 4) and the next. */
struct Softmax {
  float most[2], weight[2];
};

/** Turns scores of `groups` x 16 positions into weights and answers by what earlier sums shrink. */
template <int groups>
REVERIE_DEVICE void soften(Softmax& softmax, float (&scores)[groups][4], float scale, float (&shrink)[2]) {
  REVERIE_UNROLL
  for (int head = 0; head < 2; head++) {
    float most = softmax.most[head];
    REVERIE_UNROLL
    for (int i = 0; i < groups; i++) most = larger(larger(scores[i][head], scores[i][2 + head]), most);
    REVERIE_UNROLL
    for (int mask = 4; mask < 32; mask *= 2) most = larger(shuffleXor(most, mask), most);
    shrink[head] = expFast((softmax.most[head] - most) * scale);
    softmax.most[head] = most;
    float weight = softmax.weight[head] * shrink[head];
    REVERIE_UNROLL
    for (int i = 0; i < groups; i++) {
      scores[i][head] = expFast((scores[i][head] - most) * scale);
      scores[i][2 + head] = expFast((scores[i][2 + head] - most) * scale);
      weight += scores[i][head] + scores[i][2 + head];
    }
    softmax.weight[head] = weight;
  }
}

REVERIE_DEVICE void hideAfter(float (&scores)[4], int begin, int end) {
  const int position = begin + laneOf() / 4;
  if (position >= end) scores[0] = scores[1] = lowest();
  if (position + 8 >= end) scores[2] = scores[3] = lowest();
}

template <int dimBlocks>
REVERIE_DEVICE void loadQueries(uint4 (&queries)[dimBlocks], const Half* row, int headDim, const Task& task) {
  const int head = laneOf() / 4, dim = 8 * (laneOf() % 4);
  REVERIE_UNROLL
  for (int i = 0; i < dimBlocks; i++) {
    queries[i] = uint4{0, 0, 0, 0};
    if (head < task.heads && 32 * i + dim < headDim) {
      queries[i] = *reinterpret_cast<const uint4*>(row + (task.firstHead + head) * headDim + 32 * i + dim);
    }
  }
}

template <int dimBlocks, class Write>
REVERIE_DEVICE void eachSum(float (&sums)[2 * dimBlocks][4], int headDim, const Write& write) {
  const int row = laneOf() / 4;
  REVERIE_UNROLL
  for (int i = 0; i < 2 * dimBlocks; i++) {
    const int dim = 32 * (i / 2) + 8 * (row / 2) + 4 * (i % 2) + row % 2;
    if (dim >= headDim) continue;
    REVERIE_UNROLL
    for (int j = 0; j < 4; j++) write(j % 2, dim + 2 * (j / 2), sums[i][j]);
  }
}

template <int dimBlocks>
REVERIE_DEVICE void finish(const Args& args, const Tile<Half>& tile, const Task& task, Softmax& softmax,
                           float (&sums)[2 * dimBlocks][4]) {
  REVERIE_UNROLL
  for (int head = 0; head < 2; head++) {
    REVERIE_UNROLL
    for (int mask = 4; mask < 32; mask *= 2) softmax.weight[head] += shuffleXor(softmax.weight[head], mask);
  }
  const int own = 2 * (laneOf() % 4);
  // All lanes have read the queries that results replace now.
  syncWarp();
  if (!isSplit(tile, task.row)) {
    Half* to = tile.wide + task.row * tile.wideStride + (task.firstHead + own) * args.headDim;
    const float factor[2] = {1.0f / softmax.weight[0], 1.0f / softmax.weight[1]};
    eachSum<dimBlocks>(sums, args.headDim, [&](int head, int dim, float sum) {
      if (own + head < task.heads) write(to + head * args.headDim + dim, sum * factor[head]);
    });
    return;
  }
  eachSum<dimBlocks>(sums, args.headDim, [&](int head, int dim, float sum) {
    if (own + head < task.heads) partialOf(args, task.row, task.firstHead + own + head, task.part)[dim] = sum;
  });
  REVERIE_UNROLL
  for (int head = 0; head < 2; head++) {
    if (laneOf() / 4 != 0 || own + head >= task.heads) continue;
    float* to = partialOf(args, task.row, task.firstHead + own + head, task.part) + args.headDim;
    to[0] = softmax.most[head];
    to[1] = softmax.weight[head];
  }
}

/** `dimBlocks` x 32 holds headDim. Four loads of keys and four of values a lane are under way at once, more for wide heads. */
template <int dimBlocks>
REVERIE_DEVICE void attend(const Args& args, const Tile<Half>& tile, int layer, const Task& task) {
  constexpr int groups = dimBlocks == 1 ? 4 : dimBlocks == 2 ? 2 : 1;
  const int slot = tile.slot[task.row];
  const Half* keyRows = cached<Half>(args, args.keys, layer, slot, task.kvHead);
  const Half* valueRows = cached<Half>(args, args.values, layer, slot, task.kvHead);
  const float scale = 1.0f / squareRoot(static_cast<float>(args.headDim));
  uint4 queries[dimBlocks];
  loadQueries<dimBlocks>(queries, tile.wide + task.row * tile.wideStride, args.headDim, task);
  Softmax softmax{{lowest(), lowest()}, {0.0f, 0.0f}};
  float sums[2 * dimBlocks][4] = {};
  for (int begin = task.begin; begin < task.end; begin += 16 * groups) {
    Rows<dimBlocks> keys[groups], values[groups];
    Offsets offsets[groups];
    REVERIE_UNROLL
    for (int i = 0; i < groups; i++) {
      offsets[i] = offsetsOf(args.headDim, begin + 16 * i, task.end);
      loadRows<dimBlocks>(keys[i], keyRows, args.headDim, offsets[i]);
    }
    REVERIE_UNROLL
    for (int i = 0; i < groups; i++) loadRows<dimBlocks>(values[i], valueRows, args.headDim, offsets[i]);
    float scores[groups][4], shrink[2];
    REVERIE_UNROLL
    for (int i = 0; i < groups; i++) {
      score<dimBlocks>(scores[i], keys[i], queries);
      hideAfter(scores[i], begin + 16 * i, task.end);
    }
    soften<groups>(softmax, scores, scale, shrink);
    REVERIE_UNROLL
    for (int i = 0; i < 2 * dimBlocks; i++) {
      REVERIE_UNROLL
      for (int j = 0; j < 4; j++) sums[i][j] *= shrink[j % 2];
    }
    REVERIE_UNROLL
    for (int i = 0; i < groups; i++) {
      const std::uint32_t weights[2] = {transposeMatrix(packBf16(scores[i][0], scores[i][1])),
                                        transposeMatrix(packBf16(scores[i][2], scores[i][3]))};
      gather<dimBlocks>(sums, values[i], weights);
    }
  }
  finish<dimBlocks>(args, tile, task, softmax, sums);
}

}  // namespace reverie::decoder
