// Steps and rollouts on any device against the reference in doubles: small ones of every kind, and many rows, of which some are looked
// at. On a GPU they are as many as may be asked for.
#include <algorithm>
#include <cmath>

#include "cases.h"
#include "parts.h"

namespace reverie::test {
namespace {

constexpr StepOptions ts1{true, false, false}, doubt{true, false, true};

void checkStep(Checks& checks, Device& device, const StepCase& c, Precision precision, std::optional<TileHeight> height = std::nullopt) {
  const StepInputs inputs(c);
  const Answered got = stepOn(device, inputs.spec, precision, inputs.request, height);
  compareStep(checks, inputs.spec, got, reference::step(inputs.spec, inputs.request, precision), precision, describe(c, precision));
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

/** Rows 0, stride, 2 stride ... of [rows, columns]. */
std::vector<float> thinned(const std::vector<float>& values, std::size_t columns, std::size_t stride) {
  std::vector<float> out;
  for (std::size_t at = 0; at < values.size(); at += stride * columns) {
    for (std::size_t j = 0; j < columns; j++) out.push_back(values[at + j]);
  }
  return out;
}

/** A step of many rows, and rollouts of as many branches, none of which ends. */
void checkMany(Checks& checks, Device& device, Precision precision) {
  const bool isFast = !kernelsFile.empty();
  const std::int64_t rows = isFast ? 1'000'003 : 1'003;
  const std::int64_t stride = isFast ? 4'999 : 31;
  const ModelShape shape{17, 6, 0, true, false, 5, std::vector<int>(isFast ? 4 : 2, isFast ? 200 : 24)};
  const StepInputs inputs({shape, rows, ts1});
  const EnsembleSpec& spec = inputs.spec;
  Answered got = stepOn(device, spec, precision, inputs.request);
  got.nextObs = thinned(got.nextObs, 17, static_cast<std::size_t>(stride));
  got.reward = thinned(got.reward, 1, static_cast<std::size_t>(stride));
  compareStep(checks, spec, got, reference::step(spec, inputs.request, precision, stride), precision, "a step of many rows");

  const RolloutCase c{"many", precision, shape, PolicyHead::squashed, Activation::relu, {32}, rows, 4, ts1, INFINITY};
  RolloutInputs live(c);
  live.request.deliverEvery = static_cast<int>(stride);
  const RolloutAnswer lived = rolloutOn(device, c, live, live.request);
  const std::int64_t branches = (rows + stride - 1) / stride;
  if (!checks.that(lived.rows == branches * c.horizon && lived.lived == rows * c.horizon && lived.nonFinite == 0, "every branch lives"))
    return;
  for (int step = 0; step < c.horizon; step++) {
    Batch batch{std::vector<float>(static_cast<std::size_t>(rows) * 17), std::vector<float>(static_cast<std::size_t>(rows) * 6)};
    Answered after;
    bool isChained = true;
    for (std::int64_t i = 0; i < branches; i++) {
      const std::int64_t row = i * c.horizon + step, branch = i * stride;
      const float* const before = step == 0 ? &live.starts[branch * 17] : &lived.nextObs[(row - 1) * 17];
      isChained = isChained && lived.branch[row] == branch && std::equal(before, before + 17, &lived.obs[row * 17]);
      std::copy_n(&lived.obs[row * 17], 17, &batch.obs[branch * 17]);
      std::copy_n(&lived.action[row * 6], 6, &batch.action[branch * 6]);
      after.nextObs.insert(after.nextObs.end(), &lived.nextObs[row * 17], &lived.nextObs[row * 17] + 17);
      after.reward.push_back(lived.reward[row]);
    }
    checks.that(isChained, "every row of many begins where the one before it ended");
    const StepRequest asked{rows, batch.obs.data(), batch.action.data(), &live.modelStreams[step], false, ts1};
    compareStep(checks, live.spec, after, reference::step(live.spec, asked, precision, stride), precision, "rollouts of many branches");
  }
}

}  // namespace

int checkReferences() {
  Checks checks("references");
  const auto device = makeDevice();
  checkSteps(checks, *device);
  for (const RolloutCase& c : rolloutCases()) {
    const RolloutInputs inputs(c);
    compareRollout(checks, c, inputs, rolloutOn(*device, c, inputs, inputs.request));
  }
  for (const Precision precision : {Precision::fp32, Precision::tf32}) checkMany(checks, *device, precision);
  return checks.finish();
}

}  // namespace reverie::test
