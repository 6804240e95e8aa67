// Steps of the ensemble on the emulated device against the reference in doubles.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "../reference/ensemble-reference.h"
#include "check-ensemble.h"
#include "check.h"

namespace reverie::test {
namespace {

/** Largest error, in deviations of the targets, that the order of sums and the special functions of a precision may leave. */
double toleranceOf(Precision precision) {
  return precision == Precision::bf16 ? 2e-2 : precision == Precision::tf32 ? 3e-3 : 3e-5;
}

const char* nameOf(Precision precision) {
  return precision == Precision::bf16 ? "bf16" : precision == Precision::tf32 ? "tf32" : "fp32";
}

struct Case {
  ModelShape shape;
  std::int64_t rows;
  StepOptions options;
  bool hasStreamPerRow = false;
};

std::string describe(const Case& c, Precision precision) {
  std::string text = std::string(nameOf(precision)) + " obs " + std::to_string(c.shape.obsDim) + " hidden";
  for (const int width : c.shape.hidden) text += " " + std::to_string(width);
  text += " elites " + std::to_string(c.shape.elites) + " rows " + std::to_string(c.rows);
  if (!c.options.isTs1) text += " mean";
  if (c.options.withDisagreement) text += " doubt";
  if (c.options.isDeterministic) text += " deterministic";
  return text + (c.hasStreamPerRow ? " own streams" : "");
}

std::vector<RandomStream> streamsOf(const Case& c) {
  std::vector<RandomStream> streams;
  for (std::int64_t i = 0; i < (c.hasStreamPerRow ? c.rows : 1); i++) {
    streams.push_back(
        {static_cast<std::uint32_t>(77 + i), 5, (std::uint64_t{1} << 34) - 3 + static_cast<std::uint64_t>(7 * i)});
  }
  return streams;
}

void compare(Checks& checks, const EnsembleSpec& spec, const Answered& got, const reference::StepResult& want,
             Precision precision, const std::string& what) {
  double worst = 0;
  const auto obsDim = static_cast<std::size_t>(spec.obsDim);
  for (std::size_t i = 0; i < got.nextObs.size(); i++) {
    worst = std::max(worst, std::fabs(got.nextObs[i] - want.nextObs[i]) / spec.targetScale[i % obsDim]);
    if (!std::isfinite(got.nextObs[i])) worst = 1e9;
  }
  for (std::size_t i = 0; i < got.reward.size(); i++)
    worst = std::max(worst, std::fabs(got.reward[i] - want.reward[i]) / spec.targetScale[obsDim]);
  for (std::size_t i = 0; i < got.disagreement.size(); i++)
    worst = std::max(worst, std::fabs(got.disagreement[i] - want.disagreement[i]));
  checks.near(worst, 0, toleranceOf(precision), what);
  int wrong = 0;
  for (std::size_t i = 0; i < got.terminated.size(); i++) {
    if (want.endMargin[i] > toleranceOf(precision)) wrong += got.terminated[i] != want.terminated[i];
  }
  checks.that(wrong == 0, what + ": ends");
}

void run(Checks& checks, const Case& c, Precision precision, std::optional<TileHeight> height = std::nullopt) {
  const auto device = emulator::makeEmulatedDevice();
  const EnsembleSpec spec = randomSpec(c.shape, 11);
  const Batch batch = randomBatch(c.shape, c.rows, 23);
  const auto streams = streamsOf(c);
  const StepRequest request{c.rows, batch.obs.data(), batch.action.data(), streams.data(), c.hasStreamPerRow, c.options};
  const Answered got = stepOn(*device, spec, precision, request, height);
  compare(checks, spec, got, reference::step(spec, request, precision), precision, describe(c, precision));
}

constexpr StepOptions ts1{true, false, false}, mean{false, false, false}, doubt{true, false, true}, mode{true, true, false},
    meanMode{false, true, true};

void checkShapes(Checks& checks) {
  const std::vector<Case> cases = {
      {{1, 1, 0, true, false, 1, {1}}, 1, ts1},
      {{3, 1, 0, false, true, 2, {17, 17}}, 33, ts1},
      {{5, 2, 3, true, true, 3, {17, 64}}, 70, doubt},
      {{11, 3, 0, true, false, 5, {64, 64}}, 200, ts1},
      {{17, 6, 0, true, false, 2, {200, 200}}, 40, ts1},
      {{4, 1, 0, true, true, 7, {24, 24, 24}}, 129, mean},
      {{4, 1, 0, true, true, 7, {24, 24}}, 65, meanMode, true},
      {{6, 2, 0, false, false, 4, {32}}, 90, mode},
      {{6, 2, 0, true, true, 6, {32, 8, 32}}, 57, ts1, true},
      {{5, 2, 0, true, false, 3, {24, 24}}, 0, ts1},
  };
  for (const Case& c : cases) {
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) run(checks, c, precision);
  }
}

void checkWide(Checks& checks) {
  run(checks, {{111, 8, 0, true, true, 2, {128}}, 3, doubt}, Precision::bf16);
  run(checks, {{111, 8, 0, true, false, 2, {208}}, 3, ts1}, Precision::tf32);
  run(checks, {{9, 2, 0, true, false, 2, {256, 256}}, 20, ts1}, Precision::bf16);
  run(checks, {{9, 2, 0, true, false, 2, {256, 256}}, 5, ts1}, Precision::tf32);
  run(checks, {{9, 2, 0, true, false, 2, {400, 40}}, 5, doubt}, Precision::fp32);
  // The sizes of MBPO, in whole tiles.
  run(checks, {{17, 6, 0, true, false, 1, {200, 200, 200, 200}}, 261, ts1}, Precision::bf16, TileHeight{2, 8});
  run(checks, {{17, 6, 0, true, false, 1, {200, 200, 200, 200}}, 130, ts1}, Precision::bf16, TileHeight{2, 4});
}

}  // namespace

int checkEnsembleStep() {
  Checks checks("ensemble step");
  checkShapes(checks);
  checkWide(checks);
  return checks.finish();
}

}  // namespace reverie::test
