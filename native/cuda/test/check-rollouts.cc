// A rollout is the same however it is run: in little memory, in any order of threads, in tiles of any height; and
// what is not delivered is counted all the same. On the emulator, which can be made to differ.
#include <cmath>
#include <cstring>
#include <limits>

#include "cases.h"
#include "parts.h"

namespace reverie::test {
namespace {

RolloutAnswer emulated(const emulator::Options& options, const RolloutCase& c, const RolloutInputs& inputs,
                       const RolloutRequest& request, std::optional<TileHeight> height = std::nullopt) {
  return rolloutOn(*emulator::makeEmulatedDevice(options), c, inputs, request, height);
}

void checkOrders(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutAnswer& whole) {
  for (const auto order : {emulator::Order::backward, emulator::Order::shuffled}) {
    emulator::Options options;
    options.order = order;
    const RolloutAnswer other = emulated(options, c, inputs, inputs.request);
    checks.that(isSame(whole, other) && whole.rewardSum == other.rewardSum, c.name + ": order of threads");
  }
  emulator::Options wide;
  wide.multiprocessors = 7;
  const RolloutAnswer other = emulated(wide, c, inputs, inputs.request, TileHeight{4});
  checks.that(isSame(whole, other), c.name + ": more blocks");
  checks.near(other.rewardSum, whole.rewardSum, 1e-9 * std::fabs(whole.rewardSum), c.name + ": sum over more blocks");
}

/** The rows of one in three branches are those of all branches; without any, the sums are still there. */
void checkThinning(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutAnswer& whole) {
  RolloutRequest request = inputs.request;
  request.deliverEvery = 3;
  const RolloutAnswer thin = emulated({}, c, inputs, request);
  std::size_t at = 0;
  bool isSame = true;
  const auto obsDim = static_cast<std::size_t>(c.shape.obsDim);
  for (std::size_t i = 0; i < whole.branch.size(); i++) {
    if (whole.branch[i] % 3 != 0) continue;
    isSame = isSame && at < thin.branch.size() && thin.branch[at] == whole.branch[i] && thin.step[at] == whole.step[i] &&
             thin.verdict[at] == whole.verdict[i] &&
             std::memcmp(&thin.nextObs[at * obsDim], &whole.nextObs[i * obsDim], obsDim * 4) == 0;
    at++;
  }
  checks.that(isSame && at == thin.branch.size(), c.name + ": one branch in three");
  checks.that(thin.lived == whole.lived && thin.rewardSum == whole.rewardSum && thin.alive == whole.alive,
              c.name + ": sums over all");
  request.deliverEvery = 0;
  const RolloutAnswer none = emulated({}, c, inputs, request);
  checks.that(none.rows == 0 && none.obs.empty() && none.lived == whole.lived && none.rewardSum == whole.rewardSum,
              c.name + ": nothing delivered");
}

void checkMemory(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutAnswer& whole) {
  int smaller = 0;
  for (std::size_t kilobytes = 160; kilobytes > 0; kilobytes -= 4) {
    emulator::Options options;
    options.memoryBytes = kilobytes * 1024;
    try {
      checks.that(isSame(whole, emulated(options, c, inputs, inputs.request)),
                  c.name + ": in " + std::to_string(kilobytes) + " KB");
      smaller++;
    } catch (const OutOfMemory&) {
      break;
    }
  }
  checks.that(smaller > 3 && smaller < 39, c.name + ": runs in little memory, but not in any");
}

/** One model lives through rollouts of several sizes in turn, in memory that it keeps or, where that is little, gives back. */
void checkAgain(Checks& checks, const RolloutCase& c, const RolloutInputs& inputs, const RolloutAnswer& whole) {
  RolloutRequest shorter = inputs.request;
  shorter.branches = c.branches / 2 + 1;
  shorter.horizon = c.horizon - 1;
  const RolloutAnswer part = emulated({}, c, inputs, shorter);
  for (const std::size_t megabytes : {std::size_t{1}, std::size_t{1024}}) {
    emulator::Options options;
    options.memoryBytes = megabytes << 20;
    const auto device = emulator::makeEmulatedDevice(options);
    DeviceEnsemble ensemble(*device, inputs.spec, c.precision, std::nullopt);
    const std::size_t empty = ensemble.bytes();
    for (const bool isWhole : {false, true, false, true}) {
      RolloutAnswer answer;
      ensemble.rollout(isWhole ? inputs.request : shorter, answer);
      checks.that(isSame(answer, isWhole ? whole : part), c.name + ": once more with the same model");
    }
    checks.that(ensemble.bytes() > empty && ensemble.bytes() < empty + options.memoryBytes, c.name + ": keeps memory, not all");
  }
}

/** A broken start harms its branch alone, and its rows are counted. */
void checkBroken(Checks& checks, const RolloutCase& c, RolloutInputs& inputs, const RolloutAnswer& whole) {
  const auto obsDim = static_cast<std::size_t>(c.shape.obsDim);
  inputs.starts[7 * obsDim] = std::numeric_limits<float>::quiet_NaN();
  const RolloutAnswer broken = emulated({}, c, inputs, inputs.request);
  checks.that(broken.nonFinite > 0, c.name + ": broken rows are counted");
  bool isSame = true;
  for (std::size_t i = 0; i < broken.branch.size(); i++) {
    if (broken.branch[i] == 7 || broken.step[i] > 0) continue;
    std::size_t at = 0;
    while (whole.branch[at] != broken.branch[i] || whole.step[at] != 0) at++;
    isSame = isSame && std::memcmp(&broken.nextObs[i * obsDim], &whole.nextObs[at * obsDim], obsDim * 4) == 0;
  }
  checks.that(isSame, c.name + ": other rows are as they were");
}

}  // namespace

int checkRollouts() {
  Checks checks("rollouts");
  const auto cases = rolloutCases();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    const RolloutCase& c = cases[i];
    RolloutInputs inputs(c);
    const RolloutAnswer whole = emulated({}, c, inputs, inputs.request);
    checkOrders(checks, c, inputs, whole);
    checkThinning(checks, c, inputs, whole);
    if (i == 3) checkMemory(checks, c, inputs, whole);
    checkAgain(checks, c, inputs, whole);
    checkBroken(checks, c, inputs, whole);
  }
  return checks.finish();
}

}  // namespace reverie::test
