// Steps of the ensemble on the emulated device against the reference in doubles.
#include "check-ensemble.h"
#include "step-cases.h"

namespace reverie::test {
namespace {

void run(Checks& checks, const StepCase& c, Precision precision, std::optional<TileHeight> height = std::nullopt) {
  const auto device = emulator::makeEmulatedDevice();
  const EnsembleSpec spec = randomSpec(c.shape, 11);
  const Batch batch = randomBatch(c.shape, c.rows, 23);
  const auto streams = streamsOf(c);
  const StepRequest request{c.rows, batch.obs.data(), batch.action.data(), streams.data(), c.hasStreamPerRow, c.options};
  const Answered got = stepOn(*device, spec, precision, request, height);
  compareStep(checks, spec, got, reference::step(spec, request, precision), precision, describe(c, precision));
}

constexpr StepOptions ts1{true, false, false}, doubt{true, false, true};

void checkShapes(Checks& checks) {
  for (const StepCase& c : stepCases()) {
    for (const Precision precision : {Precision::fp32, Precision::tf32}) run(checks, c, precision);
  }
}

void checkWide(Checks& checks) {
  run(checks, {{111, 8, 0, true, true, 2, {128}}, 3, doubt}, Precision::tf32);
  run(checks, {{111, 8, 0, true, false, 2, {208}}, 3, ts1}, Precision::tf32);
  run(checks, {{9, 2, 0, true, false, 2, {256, 256}}, 5, ts1}, Precision::tf32);
  run(checks, {{9, 2, 0, true, false, 2, {400, 40}}, 5, doubt}, Precision::fp32);
  // The sizes of MBPO, in whole tiles.
  run(checks, {{17, 6, 0, true, false, 1, {200, 200, 200, 200}}, 261, ts1}, Precision::tf32, TileHeight{8});
  run(checks, {{17, 6, 0, true, false, 1, {200, 200, 200, 200}}, 130, ts1}, Precision::tf32, TileHeight{4});
}

}  // namespace

int checkEnsembleStep() {
  Checks checks("ensemble step");
  checkShapes(checks);
  checkWide(checks);
  return checks.finish();
}

}  // namespace reverie::test
