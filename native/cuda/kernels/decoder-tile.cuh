// The rows a block of the decoder works on, in shared memory: residual stream in float, operands of matrices in the precision
// of the model (Half is bf16). Nothing here waits for anybody: callers put barriers between steps.
#pragma once

#include "decoder-args.h"
#include "lane.cuh"

namespace reverie::decoder {

using Half = std::uint16_t;

REVERIE_DEVICE float read(const float* from) { return *from; }
REVERIE_DEVICE float read(const Half* from) { return floatOfBf16(*from); }
REVERIE_DEVICE void write(float* to, float value) { *to = value; }
REVERIE_DEVICE void write(Half* to, float value) { *to = static_cast<Half>(packBf16(value, 0.0f)); }
REVERIE_DEVICE void writePair(float* to, float a, float b) {
  to[0] = a;
  to[1] = b;
}
/** `to` is at an even element. */
REVERIE_DEVICE void writePair(Half* to, float a, float b) { *reinterpret_cast<std::uint32_t*>(to) = packBf16(a, b); }

template <class T>
struct Tile {
  float* residual;
  /** Normalised residual: operand of qkv, gate and up, head. */
  T* input;
  int inputStride;
  /** Queries, which attention replaces by what it gathers; then the hidden units. */
  T* wide;
  int wideStride;
  /** [TILE_ROWS] each; position -1 where there is nothing to do. */
  int* slot;
  int* position;
  /** Rows up to the last that has something to do, and parts of the longest context among them. */
  int* used;
  int* parts;
  /** Tasks of attention taken. */
  int* taken;
};

REVERIE_DEVICE int partsOf(int position) { return position / CONTEXT_CHUNK + 1; }

template <class T>
REVERIE_DEVICE Tile<T> makeTile(const Args& args) {
  char* memory = sharedMemory();
  int* rows = reinterpret_cast<int*>(memory + args.shared.rows);
  return Tile<T>{reinterpret_cast<float*>(memory),
                 reinterpret_cast<T*>(memory + args.shared.input),
                 args.shared.inputStride,
                 reinterpret_cast<T*>(memory + args.shared.wide),
                 args.shared.wideStride,
                 rows,
                 rows + TILE_ROWS,
                 rows + 2 * TILE_ROWS,
                 rows + 2 * TILE_ROWS + 1,
                 rows + 2 * TILE_ROWS + 2};
}

/** Idle rows and padding are multiplied too, by zeros at most: they must hold numbers. */
REVERIE_DEVICE void clearTile(const Args& args) {
  auto* words = reinterpret_cast<std::uint32_t*>(sharedMemory());
  for (int i = thread(); i < args.shared.bytes / 4; i += threads()) words[i] = 0;
}

/** Notes what the lanes' rows are to do, those of the first sixteen. By one warp. */
template <class T>
REVERIE_DEVICE void setRows(const Tile<T>& tile, int slot, int position) {
  const int row = laneOf();
  if (row < TILE_ROWS) {
    tile.slot[row] = slot;
    tile.position[row] = position;
  }
  int used = position < 0 || row >= TILE_ROWS ? 0 : row + 1, parts = used == 0 ? 0 : partsOf(position);
  REVERIE_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) {
    const int otherUsed = shuffleXor(used, mask), otherParts = shuffleXor(parts, mask);
    used = otherUsed > used ? otherUsed : used;
    parts = otherParts > parts ? otherParts : parts;
  }
  if (row == 0) {
    *tile.used = used;
    *tile.parts = parts;
  }
}

template <class T>
REVERIE_DEVICE void embed(const Args& args, const Tile<T>& tile) {
  for (int row = warpOf(); row < TILE_ROWS; row += WARPS) {
    const int position = tile.position[row];
    if (position < 0) continue;
    const int token = args.tokens[static_cast<std::int64_t>(tile.slot[row]) * args.context + position];
    const T* from = static_cast<const T*>(args.embedding) + static_cast<std::int64_t>(token) * args.dModel;
    for (int i = laneOf(); i < args.dModel; i += 32) tile.residual[row * args.dModel + i] = read(from + i);
  }
}

/** RMSNorm (1910.07467) of the residual into `input`. */
template <class T>
REVERIE_DEVICE void normalise(const Args& args, const Tile<T>& tile, const float* scale) {
  for (int row = warpOf(); row < TILE_ROWS; row += WARPS) {
    const float* from = tile.residual + row * args.dModel;
    float squares = 0.0f;
    for (int i = laneOf(); i < args.dModel; i += 32) squares = fusedMultiplyAdd(from[i], from[i], squares);
    REVERIE_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) squares += shuffleXor(squares, mask);
    const float factor = 1.0f / squareRoot(squares / static_cast<float>(args.dModel) + args.normEps);
    T* to = tile.input + row * tile.inputStride;
    for (int i = laneOf(); i < args.dModel; i += 32) write(to + i, from[i] * factor * scale[i]);
  }
}

}  // namespace reverie::decoder
