// The tiles of one step of the policy: this block's part of the living branches.
#pragma once

#include "act.cuh"
#include "living.cuh"

namespace reverie {

/** Row of the record for a branch at a step, or NO_SLOT where it is not delivered. */
REVERIE_DEVICE std::uint32_t slotOf(const RolloutArgs& args, std::uint32_t branch, int step) {
  const RecordArgs& record = args.record;
  if (record.deliverEvery == 0 || branch % record.deliverEvery != 0) return NO_SLOT;
  return branch / record.deliverEvery * record.steps + static_cast<std::uint32_t>(step);
}

/** Start of row `row` in a matrix of `columns` columns. */
REVERIE_DEVICE std::uint64_t startOf(std::uint32_t row, int columns) {
  return static_cast<std::uint64_t>(row) * static_cast<unsigned>(columns);
}

class PolicyTiles {
 public:
  REVERIE_DEVICE PolicyTiles(const RolloutArgs& args, int step, Part part, int tileRows)
      : args_(args), obs_(args.obs[step % 2]), living_(args.living[step % 2]), step_(step), part_(part), tileRows_(tileRows) {}

  REVERIE_DEVICE int passes() const { return 1; }
  REVERIE_DEVICE int count() const {
    return static_cast<int>((part_.end - part_.first + static_cast<unsigned>(tileRows_) - 1) /
                            static_cast<unsigned>(tileRows_));
  }
  REVERIE_DEVICE int member(int, int) const { return 0; }

  REVERIE_DEVICE void load(int tile, WarpRows& rows, int firstRow, int capacity) const {
    const std::uint32_t first = part_.first + static_cast<unsigned>(tile * tileRows_ + firstRow);
    const std::uint32_t left = first < part_.end ? part_.end - first : 0;
    const int count = left < static_cast<unsigned>(capacity) ? static_cast<int>(left) : capacity;
    if (laneOf() == 0) rows.count = count;
    if (laneOf() >= count) return;
    const std::uint32_t rank = first + static_cast<unsigned>(laneOf());
    rows.rank[laneOf()] = rank;
    rows.place[laneOf()] = living_[rank];
    rows.slot[laneOf()] = slotOf(args_, living_[rank], step_);
  }

  /** Where the elements of one row's input are. */
  struct Row {
    const float* obs;
  };

  REVERIE_DEVICE Row row(std::uint32_t place) const { return Row{obs_ + startOf(place, args_.policy.obsDim)}; }

  REVERIE_DEVICE float input(const Row& row, int column) const {
    const float value = row.obs[column < args_.policy.obsDim ? column : 0];
    return column < args_.policy.obsDim ? value : 0.0f;
  }

  REVERIE_DEVICE void finish(WarpRows& rows, const Answers& answers) const {
    if (laneOf() >= rows.count) return;
    const int actionDim = args_.policy.actionDim;
    float* action = args_.action + startOf(rows.place[laneOf()], actionDim);
    Actor actor(args_.policy, args_.actStreams[step_], answers);
    const float density = actor.act(laneOf(), rows.rank[laneOf()], action);
    const std::uint32_t slot = rows.slot[laneOf()];
    if (slot == NO_SLOT) return;
    for (int j = 0; j < actionDim; j++) args_.record.action[startOf(slot, actionDim) + static_cast<unsigned>(j)] = action[j];
    if (args_.record.logProb != nullptr) args_.record.logProb[slot] = density;
  }

 private:
  const RolloutArgs& args_;
  const float* obs_;
  const std::uint32_t* living_;
  int step_;
  Part part_;
  int tileRows_;
};

}  // namespace reverie
