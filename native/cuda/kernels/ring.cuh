// The stream of a network's packed weights into shared memory: a ring of stages that all warps of a block read, filled by
// asynchronous copies three stages ahead, across layers, networks and tiles.
#pragma once

#include "ensemble-args.h"
#include "lane.cuh"

namespace reverie {

constexpr std::uint32_t FRAGMENT_BYTES = 512;
constexpr std::uint32_t BIAS_BYTES = 64;

REVERIE_DEVICE std::uint32_t chunkBytes(int steps) { return static_cast<std::uint32_t>(steps) * FRAGMENT_BYTES + BIAS_BYTES; }

/** `memberOf(pass)` names the network that pass 0, 1, ... reads. */
template <class MemberOf>
class Ring {
 public:
  REVERIE_DEVICE Ring(const NetworkArgs& network, char* slots, std::uint32_t stageBytes, int passes, MemberOf memberOf)
      : network_(network), memberOf_(memberOf), slots_(slots), stageBytes_(stageBytes), passes_(passes) {
    if (passes_ > 0) aim();
    syncBlock();
    for (int i = 0; i < RING_STAGES - 1; i++) fetch();
  }

  /** The next stage, there for all warps; the one before it may be overwritten from now on. */
  REVERIE_DEVICE const char* next() {
    copyWait<RING_STAGES - 2>();
    syncBlock();
    fetch();
    // Three stages ahead of what is read lies the stage that was read last.
    return slots_ + (filled_ & (RING_STAGES - 1)) * stageBytes_;
  }

 private:
  REVERIE_DEVICE void fetch() {
    if (pass_ < passes_) {
      char* to = slots_ + (filled_ & (RING_STAGES - 1)) * stageBytes_;
      const char* from = base_ + ahead_.offset;
      const std::uint32_t bytes = ahead_.bytes, step = static_cast<std::uint32_t>(threads()) * 16;
      REVERIE_UNROLL_BY(4)
      for (std::uint32_t at = static_cast<std::uint32_t>(thread()) * 16; at < bytes; at += step) copyAsync(to + at, from + at);
      if (++stage_ == network_.stageCount) {
        stage_ = 0;
        pass_++;
      }
      if (pass_ < passes_) aim();
    }
    copyCommit();
    filled_++;
  }

  /** Looks up the next stage one stage early, and leaves it untouched until then, so that nobody waits for it. */
  REVERIE_DEVICE void aim() {
    if (stage_ == 0) base_ = network_.weights + memberOf_(pass_) * network_.bytes;
    ahead_ = network_.stages[stage_];
  }

  const NetworkArgs& network_;
  MemberOf memberOf_;
  char* slots_;
  std::uint32_t stageBytes_;
  int passes_, pass_ = 0, stage_ = 0;
  std::uint32_t filled_ = 0;
  StageArgs ahead_{};
  const char* base_ = nullptr;
  static_assert(RING_STAGES == 4, "stages are counted modulo four");
};

}  // namespace reverie
