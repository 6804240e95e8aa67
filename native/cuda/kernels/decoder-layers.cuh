// A block's rows through all layers of the model. Sequences need nothing of each other, so blocks never wait for blocks: only
// the threads of a block do, six times a layer.
#pragma once

#include "decoder-attend-bf16.cuh"
#include "decoder-attend-fp32.cuh"
#include "decoder-matmul.cuh"

namespace reverie::decoder {

REVERIE_DEVICE float swishOf(float x, const Half*) { return Fast::swish(x); }
REVERIE_DEVICE float swishOf(float x, const float*) { return Exact::swish(x); }

/** Queries, keys and values of the rows' tokens: rotated (2104.09864), keys and values to the cache. */
template <class T>
REVERIE_DEVICE void project(const Args& args, const Tile<T>& tile, int layer, const Matrix& qkv) {
  const int queryColumns = args.heads * args.headDim, keyColumns = args.kvHeads * args.headDim;
  multiply(tile.input, tile.inputStride, qkv, [&](int row, int column, float a, float b) {
    const int position = tile.position[row];
    if (position < 0 || column >= qkv.columns) return;
    if (column >= queryColumns + keyColumns) {
      const int at = column - queryColumns - keyColumns;
      T* head = cached<T>(args, args.values, layer, tile.slot[row], at / args.headDim);
      writePair(head + static_cast<std::int64_t>(position) * args.headDim + at % args.headDim, a, b);
      return;
    }
    const Rotation turn = args.rotations[position * (args.headDim / 2) + column % args.headDim / 2];
    const float first = a * turn.cosine - b * turn.sine, second = b * turn.cosine + a * turn.sine;
    if (column < queryColumns) {
      writePair(tile.wide + row * tile.wideStride + column, first, second);
    } else {
      const int at = column - queryColumns;
      T* head = cached<T>(args, args.keys, layer, tile.slot[row], at / args.headDim);
      writePair(head + static_cast<std::int64_t>(position) * args.headDim + at % args.headDim, first, second);
    }
  });
}

/** residual += operand matrix */
template <class T>
REVERIE_DEVICE void addTo(const Args& args, const Tile<T>& tile, const Matrix& matrix) {
  multiply(tile.wide, tile.wideStride, matrix, [&](int row, int column, float a, float b) {
    float* to = tile.residual + row * args.dModel + column;
    if (tile.position[row] < 0) return;
    if (column < matrix.columns) to[0] += a;
    if (column + 1 < matrix.columns) to[1] += b;
  });
}

/** SwiGLU (2002.05202) of the hidden units. */
template <class T>
REVERIE_DEVICE void expand(const Tile<T>& tile, const Matrix& gateUp) {
  multiply(tile.input, tile.inputStride, gateUp, [&](int row, int column, float gate, float up) {
    if (tile.position[row] < 0 || column >= gateUp.columns) return;
    T* to = tile.wide + row * tile.wideStride + column / 2;
    write(to, swishOf(gate, to) * up);
  });
}

template <class T, int dimBlocks>
REVERIE_DEVICE void attendAll(const Args& args, const Tile<T>& tile, int layer) {
  Task task;
  while (nextTask(args, tile, task)) attend<dimBlocks>(args, tile, layer, task);
  if (*tile.parts == 1) return;
  syncBlock();
  combine(args, tile);
}

/** All rows' tokens, from the embedding to the normalised residual that the head takes. */
template <class T, int dimBlocks>
REVERIE_DEVICE void runLayers(const Args& args, const Tile<T>& tile) {
  embed(args, tile);
  for (int i = 0; i < args.layers; i++) {
    const Layer& layer = args.layer[i];
    syncWarp();
    normalise(args, tile, layer.inputNorm);
    if (thread() == 0) *tile.taken = 0;
    syncBlock();
    project(args, tile, i, layer.qkv);
    syncBlock();
    attendAll<T, dimBlocks>(args, tile, i);
    syncBlock();
    addTo(args, tile, layer.out);
    syncBlock();
    normalise(args, tile, layer.ffnNorm);
    syncBlock();
    expand(tile, layer.gateUp);
    syncBlock();
    addTo(args, tile, layer.down);
    syncBlock();
  }
  normalise(args, tile, args.finalNorm);
  syncBlock();
}

/** Logits of the rows' next tokens. */
template <class T>
REVERIE_DEVICE void writeLogits(const Args& args, const Tile<T>& tile) {
  multiply(tile.input, tile.inputStride, args.head, [&](int row, int column, float a, float b) {
    if (tile.position[row] < 0) return;
    float* to = args.logits + static_cast<std::int64_t>(tile.slot[row]) * args.vocab + column;
    if (column < args.vocab) to[0] = a;
    if (column + 1 < args.vocab) to[1] = b;
  });
  syncBlock();
}

}  // namespace reverie::decoder
