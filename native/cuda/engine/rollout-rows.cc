// Rows of a rollout on the host.
#include "rollout-rows.h"

#include <algorithm>
#include <cstring>

namespace reverie {
namespace {

template <class T>
void copy(Column<T>& to, std::size_t toRow, const char* from, std::size_t rows, std::size_t columns) {
  if (!to.empty() && rows * columns > 0) std::memcpy(to.data() + toRow * columns, from, rows * columns * sizeof(T));
}

template <class T>
void copy(Column<T>& to, std::size_t toRow, const Column<T>& from, std::size_t fromRow, std::size_t rows,
          std::size_t columns) {
  if (!from.empty()) copy(to, toRow, reinterpret_cast<const char*>(from.data() + fromRow * columns), rows, columns);
}

std::uint32_t lengthOf(std::uint32_t length) { return length & ~DROPPED_BIT; }

/** Joins the windows' rows of each branch. */
WindowRows join(const std::vector<WindowRows>& windows, const RolloutSizes& sizes) {
  std::size_t rows = 0;
  for (const WindowRows& window : windows) rows += window.rows();
  WindowRows joined;
  joined.resize(rows, sizes);
  joined.lengths.assign(sizes.delivered, 0);
  std::vector<std::size_t> taken(windows.size(), 0);
  std::size_t to = 0;
  for (std::size_t branch = 0; branch < sizes.delivered; branch++) {
    for (std::size_t w = 0; w < windows.size(); w++) {
      const WindowRows& from = windows[w];
      const std::uint32_t length = lengthOf(from.lengths[branch]);
      copy(joined.obs, to, from.obs, taken[w], length, sizes.obsDim);
      copy(joined.action, to, from.action, taken[w], length, sizes.actionDim);
      copy(joined.nextObs, to, from.nextObs, taken[w], length, sizes.obsDim);
      copy(joined.reward, to, from.reward, taken[w], length, 1);
      copy(joined.logProb, to, from.logProb, taken[w], length, 1);
      copy(joined.disagreement, to, from.disagreement, taken[w], length, 1);
      copy(joined.verdict, to, from.verdict, taken[w], length, 1);
      copy(joined.terminated, to, from.terminated, taken[w], length, 1);
      joined.lengths[branch] =
          (lengthOf(joined.lengths[branch]) + length) | ((joined.lengths[branch] | from.lengths[branch]) & DROPPED_BIT);
      taken[w] += length;
      to += length;
    }
  }
  return joined;
}

}  // namespace

void WindowRows::resize(std::size_t rows, const RolloutSizes& sizes) {
  obs.resize(rows * sizes.obsDim);
  action.resize(rows * sizes.actionDim);
  nextObs.resize(rows * sizes.obsDim);
  reward.resize(rows);
  logProb.resize(sizes.hasLogProb ? rows : 0);
  disagreement.resize(sizes.hasDisagreement ? rows : 0);
  verdict.resize(rows);
  terminated.resize(rows);
}

void WindowRows::put(std::size_t first, std::size_t rows, const char* from, const RecordPlaces& places,
                     const RolloutSizes& sizes) {
  copy(obs, first, from + places.obs, rows, sizes.obsDim);
  copy(action, first, from + places.action, rows, sizes.actionDim);
  copy(nextObs, first, from + places.nextObs, rows, sizes.obsDim);
  copy(reward, first, from + places.reward, rows, 1);
  copy(logProb, first, from + places.logProb, rows, 1);
  copy(disagreement, first, from + places.disagreement, rows, 1);
  copy(verdict, first, from + places.verdict, rows, 1);
  copy(terminated, first, from + places.terminated, rows, 1);
}

void layRows(std::vector<WindowRows>&& windows, const RolloutSizes& sizes, std::uint32_t deliverEvery, RolloutAnswer& answer) {
  WindowRows all = windows.size() == 1 ? std::move(windows.front()) : join(windows, sizes);
  answer.rows = static_cast<std::int64_t>(all.rows());
  answer.branch.resize(all.rows());
  answer.step.resize(all.rows());
  std::size_t row = 0;
  for (std::size_t i = 0; i < all.lengths.size(); i++) {
    const std::uint32_t length = lengthOf(all.lengths[i]);
    for (std::uint32_t step = 0; step < length; step++, row++) {
      answer.branch[row] = static_cast<std::uint32_t>(i) * deliverEvery;
      answer.step[row] = step;
    }
    const bool isDropped = (all.lengths[i] & DROPPED_BIT) != 0;
    if (isDropped && length > 0) all.verdict[row - 1] = static_cast<std::uint8_t>(Verdict::dropped);
  }
  answer.obs = std::move(all.obs);
  answer.action = std::move(all.action);
  answer.nextObs = std::move(all.nextObs);
  answer.reward = std::move(all.reward);
  answer.logProb = std::move(all.logProb);
  answer.disagreement = std::move(all.disagreement);
  answer.verdict = std::move(all.verdict);
  answer.terminated = std::move(all.terminated);
}

}  // namespace reverie
