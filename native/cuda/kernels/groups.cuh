// Rows of a step sorted by their elite, so that one network's weights serve a whole tile. Every block sorts a segment of the
// rows; a tile's rows are found by searching where the segments' parts begin. Nothing depends on the order of threads.
#pragma once

#include "noise.cuh"
#include "tile.cuh"

namespace reverie {

/** Sum of all lower lanes' values, and of all lanes'. */
REVERIE_DEVICE std::uint32_t sumBelow(std::uint32_t value, std::uint32_t& total) {
  std::uint32_t sum = value;
  REVERIE_UNROLL
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t below = shuffle(sum, laneOf() - step);
    if (laneOf() >= step) sum += below;
  }
  total = shuffle(sum, 31);
  return sum - value;
}

/** Rows in each of `segments` equal parts, but for the last ones. */
REVERIE_DEVICE std::uint32_t segmentRows(std::uint32_t rows, std::uint32_t segments) {
  return (rows + segments - 1) / segments;
}

/** Words of shared memory that sorting a segment takes: a counter for each warp and elite. */
constexpr int SORT_WORDS = MAX_WARPS * MAX_ELITES;
static_assert(SORT_WORDS * 4 <= SORT_BYTES && (MAX_ELITES + 1) * 4 <= CONTROL_BYTES, "the host leaves this much room");

/** Sorts one segment; all threads of the block take part. `placeOf(rank)` finds a row's place. */
template <class PlaceOf>
class SegmentSort {
 public:
  REVERIE_DEVICE SegmentSort(const GroupArgs& groups, const StepNoise& noise, std::uint32_t rows, int elites, PlaceOf placeOf,
                             std::uint32_t* counters)
      : groups_(groups), noise_(noise), rows_(rows), elites_(elites), placeOf_(placeOf), counters_(counters) {}

  REVERIE_DEVICE void run(std::uint32_t segment) {
    const std::uint32_t size = segmentRows(rows_, groups_.segments), warps = static_cast<std::uint32_t>(threads() / 32);
    first_ = segment * size < rows_ ? segment * size : rows_;
    end_ = first_ + size < rows_ ? first_ + size : rows_;
    // Whole warps' worth of rows for each warp, in order.
    const std::uint32_t share = (segmentRows(end_ - first_, warps) + 31) / 32 * 32;
    for (int i = thread(); i < SORT_WORDS; i += threads()) counters_[i] = 0;
    syncBlock();
    eachBatch(share, [&](int elite, unsigned same, std::uint32_t) {
      if (elite >= 0 && (same & lanesBelow()) == 0) counters_[counterOf(elite)] += static_cast<std::uint32_t>(countBits(same));
    });
    syncBlock();
    if (warpOf() == 0) addUp(segment, static_cast<int>(warps));
    syncBlock();
    eachBatch(share, [&](int elite, unsigned same, std::uint32_t rank) {
      const std::uint32_t at = elite >= 0 ? counters_[counterOf(elite)] : 0;
      syncWarp();
      if (elite < 0) return;
      groups_.order[at + static_cast<std::uint32_t>(countBits(same & lanesBelow()))] = rank;
      if ((same & lanesBelow()) == 0) counters_[counterOf(elite)] = at + static_cast<std::uint32_t>(countBits(same));
    });
    syncBlock();
  }

 private:
  static REVERIE_DEVICE unsigned lanesBelow() { return (1u << laneOf()) - 1u; }
  REVERIE_DEVICE int counterOf(int elite) const { return warpOf() * elites_ + elite; }

  /** `each(elite, lanes of the same elite, rank)` for this warp's rows, 32 at a time; lanes without a row have elite -1. */
  template <class Each>
  REVERIE_DEVICE void eachBatch(std::uint32_t share, Each each) {
    const std::uint32_t from = first_ + static_cast<std::uint32_t>(warpOf()) * share;
    const std::uint32_t to = from + share < end_ ? from + share : end_;
    for (std::uint32_t batch = from; batch < to; batch += 32) {
      const std::uint32_t rank = batch + static_cast<std::uint32_t>(laneOf());
      const bool isRow = rank < to;
      const int elite = isRow ? static_cast<int>(noise_.elite(placeOf_(rank), rank, static_cast<std::uint32_t>(elites_))) : -1;
      unsigned same = 0;
      for (int e = 0; e < elites_; e++) {
        const unsigned lanes = ballot(elite == e);
        if (elite == e) same = lanes;
      }
      each(elite, same, rank);
      syncWarp();
    }
  }

  /** From counts to places: elites ascending, within an elite warps ascending. */
  REVERIE_DEVICE void addUp(std::uint32_t segment, int warps) {
    std::uint32_t at = first_;
    std::uint32_t* starts = groups_.starts + segment * static_cast<std::uint32_t>(elites_ + 1);
    for (int e = 0; e < elites_; e++) {
      const std::uint32_t count = laneOf() < warps ? counters_[laneOf() * elites_ + e] : 0;
      std::uint32_t total;
      const std::uint32_t below = sumBelow(count, total);
      if (laneOf() < warps) counters_[laneOf() * elites_ + e] = at + below;
      if (laneOf() == 0) starts[e] = at;
      at += total;
    }
    if (laneOf() == 0) starts[elites_] = at;
  }

  const GroupArgs& groups_;
  const StepNoise& noise_;
  std::uint32_t rows_, first_ = 0, end_ = 0;
  int elites_;
  PlaceOf placeOf_;
  std::uint32_t* counters_;
};

/** Where the tiles of each elite begin, and which rows they are. */
class GroupTable {
 public:
  /** `table`: [elites, segments + 1] words of this block; `tilesBefore`: [elites + 1] words of shared memory. */
  REVERIE_DEVICE GroupTable(const GroupArgs& groups, int elites, std::uint32_t* table, std::uint32_t* tilesBefore)
      : groups_(groups), table_(table), tilesBefore_(tilesBefore), elites_(elites) {}

  /** All threads of the block take part. */
  REVERIE_DEVICE void build(int tileRows) {
    for (int e = warpOf(); e < elites_; e += threads() / 32) sumSegments(e);
    syncBlock();
    if (thread() == 0) {
      tilesBefore_[0] = 0;
      for (int e = 0; e < elites_; e++) {
        const std::uint32_t tiles =
            (rowsOf(e) + static_cast<std::uint32_t>(tileRows) - 1) / static_cast<std::uint32_t>(tileRows);
        tilesBefore_[e + 1] = tilesBefore_[e] + tiles;
      }
    }
    syncBlock();
  }

  REVERIE_DEVICE int tiles() const { return static_cast<int>(tilesBefore_[elites_]); }
  REVERIE_DEVICE int eliteOf(int tile) const {
    int e = 0;
    while (static_cast<std::uint32_t>(tile) >= tilesBefore_[e + 1]) e++;
    return e;
  }
  REVERIE_DEVICE std::uint32_t tilesBefore(int elite) const { return tilesBefore_[elite]; }
  REVERIE_DEVICE std::uint32_t rowsOf(int elite) const { return line(elite)[groups_.segments]; }

  /** Rank of row `index` of an elite. */
  REVERIE_DEVICE std::uint32_t rankOf(int elite, std::uint32_t index) const {
    const std::uint32_t* sums = line(elite);
    std::uint32_t low = 0, high = groups_.segments;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      if (sums[middle] <= index) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const std::uint32_t* starts = groups_.starts + low * static_cast<std::uint32_t>(elites_ + 1);
    return groups_.order[starts[elite] + index - sums[low]];
  }

 private:
  REVERIE_DEVICE std::uint32_t* line(int elite) const {
    return table_ + static_cast<std::uint32_t>(elite) * (groups_.segments + 1);
  }

  REVERIE_DEVICE void sumSegments(int elite) {
    std::uint32_t* sums = line(elite);
    std::uint32_t before = 0;
    for (std::uint32_t first = 0; first < groups_.segments; first += 32) {
      const std::uint32_t segment = first + static_cast<std::uint32_t>(laneOf());
      const std::uint32_t* starts = groups_.starts + segment * static_cast<std::uint32_t>(elites_ + 1) + elite;
      const bool isSegment = segment < groups_.segments;
      const std::uint32_t count = isSegment ? starts[1] - starts[0] : 0;
      std::uint32_t total;
      const std::uint32_t below = sumBelow(count, total);
      if (isSegment) sums[segment] = before + below;
      before += total;
    }
    if (laneOf() == 0) sums[groups_.segments] = before;
  }

  const GroupArgs& groups_;
  std::uint32_t* table_;
  std::uint32_t* tilesBefore_;
  int elites_;
};

}  // namespace reverie
