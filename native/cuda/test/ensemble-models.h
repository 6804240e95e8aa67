// Random ensembles, policies and batches for the tests.
#pragma once

#include "../engine/emulator.h"
#include "../engine/ensemble-device.h"

namespace reverie::test {

struct ModelShape {
  int obsDim = 5, actionDim = 2, actionChoices = 0;
  bool learnsReward = true, learnsTermination = false;
  int elites = 3;
  std::vector<int> hidden = {24, 24};
};

EnsembleSpec randomSpec(const ModelShape& shape, std::uint32_t seed);
PolicySpec randomPolicy(const ModelShape& shape, PolicyHead head, Activation activation, const std::vector<int>& hidden,
                        std::uint32_t seed);

/** Normals of a seed. */
std::vector<float> numbers(std::size_t count, std::uint32_t seed);

struct Batch {
  std::vector<float> obs, action;
};
Batch randomBatch(const ModelShape& shape, std::int64_t rows, std::uint32_t seed);

struct Answered {
  std::vector<float> nextObs, reward, disagreement;
  std::vector<std::uint8_t> terminated;
};

/** Steps and answers everything there is. */
Answered stepOf(Ensemble& ensemble, const EnsembleSpec& spec, const StepRequest& request);
Answered stepOn(Device& device, const EnsembleSpec& spec, Precision precision, const StepRequest& request,
                std::optional<TileHeight> height = std::nullopt);

bool isSame(const Answered& a, const Answered& b);

}  // namespace reverie::test
