// Rollouts that the tests live.
#pragma once

#include "check-ensemble.h"
#include "check.h"

namespace reverie::test {

struct RolloutCase {
  std::string name;
  Precision precision;
  ModelShape shape;
  PolicyHead head;
  Activation activation;
  std::vector<int> policyHidden;
  std::int64_t branches;
  int horizon;
  StepOptions step;
  double limit;
  bool dropsDoubted = false;
  KnownFunction reward = KnownFunction::none, ends = KnownFunction::none;
  bool isPolicyDeterministic = false;
  std::uint32_t seed = 1;
};

std::vector<RolloutCase> rolloutCases();

/** What a case is asked with; `request` points into it. */
struct RolloutInputs {
  explicit RolloutInputs(const RolloutCase& c);
  RolloutInputs(const RolloutInputs&) = delete;
  RolloutInputs& operator=(const RolloutInputs&) = delete;

  EnsembleSpec spec;
  PolicySpec policy;
  std::vector<float> starts;
  std::vector<RandomStream> actStreams, modelStreams;
  RolloutRequest request;
};

RolloutAnswer rolloutOn(const emulator::Options& options, const RolloutCase& c, const RolloutInputs& inputs,
                        const RolloutRequest& request, std::optional<TileHeight> height = std::nullopt);

/** Holds a rollout to the reference, row by row. */
void compareRollout(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutAnswer& got);

}  // namespace reverie::test
