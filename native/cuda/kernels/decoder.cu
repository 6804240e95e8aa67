// The decoder's kernels. A launch takes each of its rows through so many tokens; a block has up to sixteen sequences (decode) or
// sixteen positions of one prompt (prefill) at a time. Names end in the width of head they hold: 32 times their number.
#include "decoder-layers.cuh"
#include "decoder-sample.cuh"

namespace reverie::decoder {

/** Sixteen sequences' newest tokens. */
template <class T>
REVERIE_DEVICE void takeSequences(const Args& args, const Tile<T>& tile) {
  if (warpOf() == 0) {
    const int row = laneOf(), index = block() * args.rowsPerBlock + row;
    const int slot = row < args.rowsPerBlock && index < args.orderCount ? args.order[index] : -1;
    const bool isRunning = slot >= 0 && args.slots[slot].status == DecodeStatus::running;
    setRows(tile, slot, isRunning ? args.slots[slot].position : -1);
  }
  syncBlock();
}

/** Sixteen positions of a prompt whose last token is at `end`. */
template <class T>
REVERIE_DEVICE void takePositions(const Tile<T>& tile, int slot, int begin, int end) {
  if (warpOf() == 0) setRows(tile, slot, begin + laneOf() < end ? begin + laneOf() : -1);
  syncBlock();
}

template <class T, int dimBlocks>
REVERIE_DEVICE void decode(const Args& args) {
  const Tile<T> tile = makeTile<T>(args);
  clearTile(args);
  for (int step = 0; step < args.steps; step++) {
    syncBlock();
    takeSequences(args, tile);
    if (*tile.used == 0) return;
    runLayers<T, dimBlocks>(args, tile);
    writeLogits(args, tile);
    if (args.isSampling == 0) return;
    for (int row = warpOf(); row < TILE_ROWS; row += WARPS) {
      if (tile.position[row] >= 0) advance(args, tile.slot[row]);
    }
  }
}

/** All tokens of prompts but their last, into the cache. */
template <class T, int dimBlocks>
REVERIE_DEVICE void prefill(const Args& args) {
  const Tile<T> tile = makeTile<T>(args);
  for (int i = block(); i < args.orderCount; i += blocks()) {
    const int slot = args.order[i], end = args.slots[slot].position;
    // Padding is multiplied by zeros, but what a broken prompt left there may be no number.
    syncBlock();
    clearTile(args);
    for (int begin = 0; begin < end; begin += TILE_ROWS) {
      syncBlock();
      takePositions(tile, slot, begin, end);
      runLayers<T, dimBlocks>(args, tile);
    }
  }
}

}  // namespace reverie::decoder

#define REVERIE_DECODER(suffix, T, dimBlocks, minBlocks)                                                       \
  REVERIE_KERNEL(decoderDecode##suffix, reverie::decoder::Args, reverie::decoder::THREADS, minBlocks) {        \
    reverie::decoder::decode<T, dimBlocks>(args);                                                              \
  }                                                                                                            \
  REVERIE_KERNEL(decoderPrefill##suffix, reverie::decoder::Args, reverie::decoder::THREADS, minBlocks) {       \
    reverie::decoder::prefill<T, dimBlocks>(args);                                                             \
  }

REVERIE_DECODER(Bf16x2, reverie::decoder::Half, 2, reverie::decoder::BLOCKS_PER_MULTIPROCESSOR)
REVERIE_DECODER(Bf16x4, reverie::decoder::Half, 4, 1)
REVERIE_DECODER(Fp32, float, 0, 1)
#ifndef REVERIE_WIDEST_ALONE
REVERIE_DECODER(Bf16x1, reverie::decoder::Half, 1, reverie::decoder::BLOCKS_PER_MULTIPROCESSOR)
REVERIE_DECODER(Bf16x3, reverie::decoder::Half, 3, 1)
#endif
