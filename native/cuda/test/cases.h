// Steps and rollouts that the tests take, and what their answers are held to.
#pragma once

#include <functional>

#include "../processor/native-ensemble.h"
#include "check.h"
#include "ensemble-models.h"

namespace reverie::test {

struct StepCase {
  ModelShape shape;
  std::int64_t rows;
  StepOptions options;
  bool hasStreamPerRow = false;
};

/** Small ones of every kind. */
std::vector<StepCase> stepCases();

std::string describe(const StepCase& c, Precision precision);

/** What a case is asked with; `request` points into it. */
struct StepInputs {
  explicit StepInputs(const StepCase& c);
  StepInputs(const StepInputs&) = delete;
  StepInputs& operator=(const StepInputs&) = delete;

  EnsembleSpec spec;
  Batch batch;
  std::vector<RandomStream> streams;
  StepRequest request;
};

/** Holds a step to the same by vector code, which shares no arithmetic; ends may differ where a probability is near to its draw. */
void compareStep(Checks& checks, const EnsembleSpec& spec, const StepRequest& request, const Answered& got, Precision precision,
                 const std::string& what);

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

RolloutAnswer rolloutOn(Device& device, const RolloutCase& c, const RolloutInputs& inputs, const RolloutRequest& request,
                        std::optional<TileHeight> height = std::nullopt);

/** Holds a rollout to the same by vector code, row by row. */
void compareRollout(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutRequest& request, const RolloutAnswer& got);

/** Whether the rows are the same bytes, and all that was counted but for the sums, which depend on the number of blocks. */
bool isSame(const RolloutAnswer& a, const RolloutAnswer& b);

using MakeEnsemble = std::function<std::unique_ptr<Ensemble>(const EnsembleSpec& spec)>;

/** Rows of a step do not know of broken ones beside them; and with streams of their own they are as if alone. */
void checkRowsApart(Checks& checks, const std::string& what, const MakeEnsemble& make);

}  // namespace reverie::test
