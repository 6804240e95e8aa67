// A tile of rows as its warps see it: which rows these are, and what the networks answered for them.
#pragma once

#include "ensemble-args.h"
#include "lane.cuh"
#include "tile-size.h"

namespace reverie {

constexpr std::uint32_t NO_SLOT = 0xffffffffu;

/** Sums of a warp, kept by its first lane. */
struct WarpSums {
  double reward, rewardSquares;
  std::uint32_t terminated, outOfHorizon, doubted, nonFinite;
};

/** The rows of one warp, in shared memory. */
struct WarpRows {
  std::int32_t count;
  /** Place in memory: row of a step, branch of a rollout. */
  std::uint32_t place[32];
  std::uint32_t rank[32];
  /** Elite that answers the row; -1 for their mean. */
  std::int32_t elite[32];
  /** Row of the record, NO_SLOT for none. */
  std::uint32_t slot[32];
  std::uint32_t isNonFinite[32];
  float reward[32];
  WarpSums sums;
};

static_assert(sizeof(WarpRows) <= WARP_ROWS_BYTES, "the host leaves this much room");

/** What the last layer answered: column j of row r of network e. Rows of a column lie side by side. */
struct Answers {
  float* at;
  std::int32_t stride;
  std::int32_t memberStride;

  REVERIE_DEVICE float& operator()(int member, int column, int row) const {
    return at[static_cast<std::int64_t>(member) * memberStride + column * stride + row];
  }
};

/**
 * Runs networks over this block's tiles. `Tiles`: how many there are, which networks see them, their rows, inputs, and what
 * is done with the answers. `Net`: FusedNet or PlainNet.
 */
template <class Net, class Tiles>
REVERIE_DEVICE void runTiles(Net& net, const NetworkArgs& network, Tiles& tiles) {
  const int passes = tiles.passes();
  const int count = tiles.count();
  const auto memberOf = [&](int pass) { return tiles.member(pass / passes, pass % passes); };
  auto stream = net.stream(network, count * passes, memberOf);
  WarpRows& rows = net.rows();
  for (int tile = 0; tile < count; tile++) {
    tiles.load(tile, rows, net.firstRow(), Net::warpRows);
    net.settleRows();
    for (int pass = 0; pass < passes; pass++) {
      net.encode(network, tiles);
      net.forward(stream, network, tiles.member(tile, pass), passes, pass);
    }
    net.settleAnswers();
    tiles.finish(rows, net.answers(network, passes, 0));
    net.settleRows();
  }
}

}  // namespace reverie
