// Rollouts on the emulated device against the reference in doubles.
#include "check-ensemble.h"
#include "rollout-cases.h"

namespace reverie::test {

int checkEnsembleRollout() {
  Checks checks("ensemble rollout");
  for (const RolloutCase& c : rolloutCases()) {
    const RolloutInputs inputs(c);
    compareRollout(checks, c, inputs, rolloutOn({}, c, inputs, inputs.request));
  }
  return checks.finish();
}

}  // namespace reverie::test
