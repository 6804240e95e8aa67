// Steps that the tests take.
#include "step-cases.h"

#include <cmath>

namespace reverie::test {
namespace {

/** Largest error, in deviations of the targets, that the order of sums and the special functions of a precision may leave. */
double toleranceOf(Precision precision) {
  return precision == Precision::tf32 ? 3e-3 : 3e-5;
}

const char* nameOf(Precision precision) {
  return precision == Precision::tf32 ? "tf32" : "fp32";
}

}  // namespace

std::vector<StepCase> stepCases() {
  constexpr StepOptions ts1{true, false, false}, mean{false, false, false}, doubt{true, false, true}, mode{true, true, false},
      meanMode{false, true, true};
  return {
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
}

std::string describe(const StepCase& c, Precision precision) {
  std::string text = std::string(nameOf(precision)) + " obs " + std::to_string(c.shape.obsDim) + " hidden";
  for (const int width : c.shape.hidden) text += " " + std::to_string(width);
  text += " elites " + std::to_string(c.shape.elites) + " rows " + std::to_string(c.rows);
  if (!c.options.isTs1) text += " mean";
  if (c.options.withDisagreement) text += " doubt";
  if (c.options.isDeterministic) text += " deterministic";
  return text + (c.hasStreamPerRow ? " own streams" : "");
}

std::vector<RandomStream> streamsOf(const StepCase& c) {
  std::vector<RandomStream> streams;
  for (std::int64_t i = 0; i < (c.hasStreamPerRow ? c.rows : 1); i++) {
    streams.push_back(
        {static_cast<std::uint32_t>(77 + i), 5, (std::uint64_t{1} << 34) - 3 + static_cast<std::uint64_t>(7 * i)});
  }
  return streams;
}

void compareStep(Checks& checks, const EnsembleSpec& spec, const Answered& got, const reference::StepResult& want,
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

}  // namespace reverie::test
