// The tiles of one step of the ensemble: rows of one elite each (TS1), or rows in order that every elite sees.
#pragma once

#include "groups.cuh"
#include "sample.cuh"

namespace reverie {

/** `Land`: place(rank) and slot(place) of a row, and finish(sampler, rows), which does something with the answers. */
template <class Number, class Land>
class DynamicsTiles {
 public:
  REVERIE_DEVICE DynamicsTiles(const DynamicsArgs& dynamics, const GroupTable& table, const StepNoise& noise,
                               std::uint32_t rows, int tileRows, const float* obs, const float* action, Land& land)
      : dynamics_(dynamics),
        table_(table),
        noise_(noise),
        rows_(rows),
        tileRows_(tileRows),
        obs_(obs),
        action_(action),
        land_(land) {}

  REVERIE_DEVICE int passes() const { return dynamics_.asksAll ? dynamics_.elites : 1; }

  REVERIE_DEVICE int count() const {
    const int tiles = dynamics_.asksAll
                          ? static_cast<int>((rows_ + static_cast<unsigned>(tileRows_) - 1) / static_cast<unsigned>(tileRows_))
                          : table_.tiles();
    return tiles > block() ? (tiles - block() + blocks() - 1) / blocks() : 0;
  }

  REVERIE_DEVICE int member(int tile, int pass) const {
    return dynamics_.asksAll ? pass : table_.eliteOf(block() + tile * blocks());
  }

  REVERIE_DEVICE void load(int own, WarpRows& rows, int firstRow, int capacity) const {
    const int tile = block() + own * blocks();
    const int elite = dynamics_.asksAll ? -1 : table_.eliteOf(tile);
    const std::uint32_t all = elite < 0 ? rows_ : table_.rowsOf(elite);
    const std::uint32_t before = elite < 0 ? 0 : table_.tilesBefore(elite);
    const std::uint32_t first = (static_cast<std::uint32_t>(tile) - before) * static_cast<std::uint32_t>(tileRows_) +
                                static_cast<std::uint32_t>(firstRow);
    const std::uint32_t left = first < all ? all - first : 0;
    const int count = left < static_cast<std::uint32_t>(capacity) ? static_cast<int>(left) : capacity;
    if (laneOf() == 0) rows.count = count;
    if (laneOf() >= count) return;
    const std::uint32_t index = first + static_cast<std::uint32_t>(laneOf());
    const std::uint32_t rank = elite < 0 ? index : table_.rankOf(elite, index);
    const std::uint32_t place = land_.place(rank);
    rows.rank[laneOf()] = rank;
    rows.place[laneOf()] = place;
    rows.slot[laneOf()] = land_.slot(place);
    rows.elite[laneOf()] = elite >= 0 ? elite : chosenOf(place, rank);
    rows.isNonFinite[laneOf()] = 0;
    rows.reward[laneOf()] = 0.0f;
  }

  /** Where the elements of one row's input are. */
  struct Row {
    const float* obs;
    const float* action;
  };

  REVERIE_DEVICE Row row(std::uint32_t place) const {
    return Row{obs_ + static_cast<std::uint64_t>(place) * static_cast<unsigned>(dynamics_.obsDim),
               action_ + static_cast<std::uint64_t>(place) * static_cast<unsigned>(dynamics_.actionDim)};
  }

  /** Element of the network's input, in normalised units; a discrete action one-hot. */
  REVERIE_DEVICE float input(const Row& row, int column) const {
    const int known = column < dynamics_.inputDim ? column : 0;
    const bool isAction = known >= dynamics_.obsDim, isChoice = isAction && dynamics_.actionChoices > 0;
    const int actionColumn = isChoice ? 0 : known - dynamics_.obsDim;
    const float* at = isAction ? row.action + actionColumn : row.obs + known;
    const float read = *at;
    const float hot = read == static_cast<float>(dynamics_.actionStart + known - dynamics_.obsDim) ? 1.0f : 0.0f;
    const float value = ((isChoice ? hot : read) - dynamics_.inputMean[known]) * dynamics_.inputRate[known];
    return known == column ? value : 0.0f;
  }

  REVERIE_DEVICE void finish(WarpRows& rows, const Answers& answers) {
    Sampler<Number> sampler(dynamics_, noise_, answers, rows);
    land_.finish(sampler, rows);
  }

 private:
  REVERIE_DEVICE int chosenOf(std::uint32_t place, std::uint32_t rank) const {
    return dynamics_.isTs1 ? static_cast<int>(noise_.elite(place, rank, static_cast<std::uint32_t>(dynamics_.elites))) : -1;
  }

  const DynamicsArgs& dynamics_;
  const GroupTable& table_;
  const StepNoise& noise_;
  std::uint32_t rows_;
  int tileRows_;
  const float* obs_;
  const float* action_;
  Land& land_;
};

/** Words at the start of a block's shared memory: where the tiles of each elite begin. */
REVERIE_DEVICE std::uint32_t* tilesBeforeOf() { return reinterpret_cast<std::uint32_t*>(sharedMemory()); }

REVERIE_DEVICE GroupTable tableOf(const GroupArgs& groups, const DynamicsArgs& dynamics, const ScratchArgs& scratch) {
  char* memory = scratch.memory + scratch.bytesPerBlock * static_cast<unsigned>(block()) + scratch.table;
  return GroupTable(groups, dynamics.elites, reinterpret_cast<std::uint32_t*>(memory), tilesBeforeOf());
}

}  // namespace reverie
