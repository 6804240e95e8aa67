// Layout of a rollout's device memory.
#include "rollout-memory.h"

namespace reverie {

StatePlaces placeState(const RolloutSizes& sizes, std::size_t scratchBytes, std::size_t stageBytes) {
  StatePlaces places{};
  Parts parts;
  for (std::size_t& at : places.obs) at = parts.take(sizes.branches * sizes.obsDim * 4);
  places.action = parts.take(sizes.branches * sizes.actionDim * 4);
  for (std::size_t& at : places.living) at = parts.take(sizes.branches * 4);
  places.verdict = parts.take(sizes.branches);
  places.alive = parts.take((sizes.horizon + 1) * sizes.blocks * 4);
  places.actStreams = parts.take(sizes.horizon * sizeof(RandomStream));
  places.modelStreams = parts.take(sizes.horizon * sizeof(RandomStream));
  places.order = parts.take(sizes.branches * 4);
  places.starts = parts.take(sizes.segments * (sizes.elites + 1) * 4);
  places.sums = parts.take(sizes.blocks * sizeof(RolloutSums));
  places.barrier = parts.take(4);
  places.stages = parts.take(stageBytes);
  places.scratch = parts.take(scratchBytes);
  places.end = parts.end();
  return places;
}

RecordPlaces placeRecords(const RolloutSizes& sizes, std::size_t rows) {
  RecordPlaces places{};
  Parts parts;
  places.obs = parts.take(rows * sizes.obsDim * 4);
  places.action = parts.take(rows * sizes.actionDim * 4);
  places.nextObs = parts.take(rows * sizes.obsDim * 4);
  places.reward = parts.take(rows * 4);
  places.logProb = parts.take(sizes.hasLogProb ? rows * 4 : 0);
  places.disagreement = parts.take(sizes.hasDisagreement ? rows * 4 : 0);
  places.verdict = parts.take(rows);
  places.terminated = parts.take(rows);
  places.end = parts.end();
  return places;
}

RecordArgs recordsAt(char* base, const RecordPlaces& places, const RolloutSizes& sizes) {
  const auto floats = [&](std::size_t at) { return reinterpret_cast<float*>(base + at); };
  const auto bytes = [&](std::size_t at) { return reinterpret_cast<std::uint8_t*>(base + at); };
  RecordArgs record{};
  record.obs = floats(places.obs);
  record.action = floats(places.action);
  record.nextObs = floats(places.nextObs);
  record.reward = floats(places.reward);
  record.logProb = sizes.hasLogProb ? floats(places.logProb) : nullptr;
  record.disagreement = sizes.hasDisagreement ? floats(places.disagreement) : nullptr;
  record.verdict = bytes(places.verdict);
  record.terminated = bytes(places.terminated);
  return record;
}

}  // namespace reverie
