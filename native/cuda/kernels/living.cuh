// The living branches of a rollout in the order of their starts: after each step the ones that ended are taken out. A branch's
// rank among the living decides its random words (src/synth/rollout/chunk.ts), so ranks must be exact.
#pragma once

#include "groups.cuh"

namespace reverie {

/** An equal part of the ranks: [first, end). */
struct Part {
  std::uint32_t first, end;
};

REVERIE_DEVICE Part partOf(std::uint32_t rows, int part, int parts) {
  const std::uint32_t size = segmentRows(rows, static_cast<std::uint32_t>(parts));
  const std::uint32_t first = static_cast<std::uint32_t>(part) * size;
  if (first >= rows) return Part{rows, rows};
  return Part{first, first + size < rows ? first + size : rows};
}

/** Words of shared memory that a walk takes. */
constexpr int WALK_WORDS = MAX_WARPS;

class Living {
 public:
  REVERIE_DEVICE Living(const RolloutArgs& args, std::uint32_t* counters) : args_(args), counters_(counters) {}

  /** Rows of a step. */
  REVERIE_DEVICE std::uint32_t rowsOf(int step) const {
    if (step == 0) return args_.branches;
    std::uint32_t rows = 0;
    for (int first = 0; first < blocks(); first += 32) rows += sumOf(step, first);
    return rows;
  }

  /** Lists this block's part of the living of `step`, of `rows`; `before` were the rows of the step before. */
  REVERIE_DEVICE void list(int step, std::uint32_t rows, std::uint32_t before) const {
    const Part own = partOf(rows, block(), blocks());
    std::uint32_t* living = args_.living[step % 2];
    if (step == 0) {
      for (std::uint32_t rank = own.first + static_cast<unsigned>(thread()); rank < own.end;
           rank += static_cast<unsigned>(threads())) {
        living[rank] = rank;
      }
    } else if (own.first < own.end) {
      walk(step, own, before);
    }
    syncBlock();
  }

 private:
  REVERIE_DEVICE std::uint32_t countOf(int step, int part) const {
    return part < blocks() ? args_.alive[static_cast<std::int64_t>(step) * blocks() + part] : 0;
  }

  REVERIE_DEVICE std::uint32_t sumOf(int step, int first) const {
    std::uint32_t total;
    sumBelow(countOf(step, first + laneOf()), total);
    return total;
  }

  /** Finds the part of the old ranks in which the survivor of rank `rank` is, and how many survive before that part. */
  REVERIE_DEVICE int find(int step, std::uint32_t rank, std::uint32_t& before) const {
    before = 0;
    for (int first = 0; first < blocks(); first += 32) {
      std::uint32_t total;
      const std::uint32_t below = before + sumBelow(countOf(step, first + laneOf()), total);
      const bool isLater = below <= rank;
      const int parts = countBits(ballot(isLater));
      if (rank < before + total) {
        before = shuffle(below, parts - 1);
        return first + parts - 1;
      }
      before += total;
    }
    return blocks();
  }

  /** Goes over the old ranks from where the part's first survivor may be until the part is complete. */
  REVERIE_DEVICE void walk(int step, Part own, std::uint32_t before) const {
    const std::uint32_t* old = args_.living[(step + 1) % 2];
    std::uint32_t* living = args_.living[step % 2];
    std::uint32_t passed;
    const int part = find(step, own.first, passed);
    for (std::uint32_t from = partOf(before, part, blocks()).first; passed < own.end;
         from += static_cast<unsigned>(threads())) {
      const std::uint32_t rank = from + static_cast<unsigned>(thread());
      const bool isAlive = rank < before && args_.verdict[rank] == static_cast<std::uint8_t>(Verdict::goesOn);
      std::uint32_t total;
      const std::uint32_t to = passed + countBelow(isAlive, total);
      if (isAlive && to >= own.first && to < own.end) living[to] = old[rank];
      passed += total;
    }
  }

  /** Lower threads of the block with `is`, and all threads with it. */
  REVERIE_DEVICE std::uint32_t countBelow(bool is, std::uint32_t& total) const {
    const unsigned lanes = ballot(is);
    if (laneOf() == 0) counters_[warpOf()] = static_cast<std::uint32_t>(countBits(lanes));
    syncBlock();
    std::uint32_t below = static_cast<std::uint32_t>(countBits(lanes & ((1u << laneOf()) - 1u)));
    total = 0;
    for (int warp = 0; warp < threads() / 32; warp++) {
      if (warp < warpOf()) below += counters_[warp];
      total += counters_[warp];
    }
    syncBlock();
    return below;
  }

  const RolloutArgs& args_;
  std::uint32_t* counters_;
};

}  // namespace reverie
