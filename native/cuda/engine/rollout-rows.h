// Rows of a rollout on the host: gathered window by window, then laid branch after branch.
#pragma once

#include "rollout-memory.h"

namespace reverie {

/** Kept rows of one window of steps, branch after branch. */
struct WindowRows {
  Column<float> obs, action, reward, nextObs, logProb, disagreement;
  Column<std::uint8_t> verdict, terminated;
  /** Rows of each delivered branch, with DROPPED_BIT. */
  std::vector<std::uint32_t> lengths;

  std::size_t rows() const { return reward.size(); }
  void resize(std::size_t rows, const RolloutSizes& sizes);
  /** Copies packed rows from pinned memory to rows first .. of this. */
  void put(std::size_t first, std::size_t rows, const char* from, const RecordPlaces& places, const RolloutSizes& sizes);
};

/** Fills the answer's columns from the windows, in order. */
void layRows(std::vector<WindowRows>&& windows, const RolloutSizes& sizes, std::uint32_t deliverEvery, RolloutAnswer& answer);

}  // namespace reverie
