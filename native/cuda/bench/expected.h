// What rows of a step must come to, one at a time in doubles and plain loops; written apart from reference/, so that both would
// have to be wrong in the same way.
#pragma once

#include <cstdint>
#include <vector>

#include "../engine/ensemble.h"

namespace reverie::bench {

/** A row's place in its batch, which decides its random words. */
struct RowPlace {
  std::int64_t rank, batchRows;
};

struct ExpectedStep {
  std::vector<double> nextObs;
  double reward = 0, disagreement = 0;
};

/** One row: `obs` [obsDim], `action` [actionDim]; boxes only, no learned ends. */
ExpectedStep expectedStep(const EnsembleSpec& spec, const StepOptions& options, const RandomStream& stream,
                          const RowPlace& place, const float* obs, const float* action);

struct ExpectedAction {
  std::vector<double> action;
  double logProb = 0;
};

/** What a squashed Gaussian does on a row: words [rows, actionDim] of the stream. */
ExpectedAction expectedAction(const PolicySpec& policy, const RandomStream& stream, std::int64_t rank, const float* obs);

}  // namespace reverie::bench
