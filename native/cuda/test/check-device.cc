// Steps and rollouts on any device against those by vector code: small ones of every kind, and many rows; on a GPU as many as may be
// asked for.
#include <cmath>

#include "cases.h"
#include "parts.h"

namespace reverie::test {
namespace {

constexpr StepOptions ts1{true, false, false}, doubt{true, false, true};

void checkStep(Checks& checks, Device& device, const StepCase& c, Precision precision, std::optional<TileHeight> height = std::nullopt) {
  const StepInputs inputs(c);
  const Answered got = stepOn(device, inputs.spec, precision, inputs.request, height);
  compareStep(checks, inputs.spec, inputs.request, got, precision, describe(c, precision));
}

void checkSteps(Checks& checks, Device& device) {
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    for (const StepCase& c : stepCases()) checkStep(checks, device, c, precision);
    const auto make = [&](const EnsembleSpec& spec) { return makeEnsemble(device, spec, precision); };
    checkRowsApart(checks, precision == Precision::fp32 ? "fp32" : "tf32", make);
  }
  checkStep(checks, device, {{111, 8, 0, true, true, 2, {128}}, 3, doubt}, Precision::tf32);
  checkStep(checks, device, {{111, 8, 0, true, false, 2, {208}}, 3, ts1}, Precision::tf32);
  checkStep(checks, device, {{9, 2, 0, true, false, 2, {256, 256}}, 5, ts1}, Precision::tf32);
  checkStep(checks, device, {{9, 2, 0, true, false, 2, {400, 40}}, 5, doubt}, Precision::fp32);
  // The sizes of MBPO, in whole tiles.
  checkStep(checks, device, {{17, 6, 0, true, false, 1, {200, 200, 200, 200}}, 261, ts1}, Precision::tf32, TileHeight{8});
  checkStep(checks, device, {{17, 6, 0, true, false, 1, {200, 200, 200, 200}}, 130, ts1}, Precision::tf32, TileHeight{4});
}

/** A step of many rows, and rollouts of as many branches, none of which ends; a few of these are delivered. */
void checkMany(Checks& checks, Device& device, Precision precision) {
  const bool isFast = !kernelsFile.empty();
  const ModelShape shape{17, 6, 0, true, false, 5, std::vector<int>(isFast ? 4 : 2, isFast ? 200 : 24)};
  const std::int64_t rows = isFast ? 1'000'003 : 1'003;
  checkStep(checks, device, {shape, rows, ts1}, precision);
  const RolloutCase c{"many", precision, shape, PolicyHead::squashed, Activation::relu, {32}, rows, 4, ts1, INFINITY};
  RolloutInputs inputs(c);
  inputs.request.deliverEvery = 31;
  compareRollout(checks, c, inputs, inputs.request, rolloutOn(device, c, inputs, inputs.request));
}

}  // namespace

int checkDevice() {
  Checks checks("device");
  const auto device = makeDevice();
  checkSteps(checks, *device);
  for (const RolloutCase& c : rolloutCases()) {
    const RolloutInputs inputs(c);
    compareRollout(checks, c, inputs, inputs.request, rolloutOn(*device, c, inputs, inputs.request));
  }
  for (const Precision precision : {Precision::fp32, Precision::tf32}) checkMany(checks, *device, precision);
  return checks.finish();
}

}  // namespace reverie::test
