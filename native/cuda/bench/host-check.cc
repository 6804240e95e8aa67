// The same small rollouts on the device and on the host, where the same kernel sources run: what ends when, and every number.
#include <limits>

#include "../engine/emulator.h"
#include "check.h"

namespace reverie::bench {
namespace {

struct HostCase {
  std::string name;
  Precision precision = Precision::fp32;
  Shape shape;
  PolicyHead head = PolicyHead::squashed;
  StepOptions step;
  float disagreementLimit = std::numeric_limits<float>::infinity();
  bool dropsDoubted = false, isPolicyDeterministic = false, hasBounds = false, endsEarly = false;
  KnownFunction reward = KnownFunction::none, ends = KnownFunction::none;
};

constexpr int branches = 83, horizon = 4;

RolloutAnswer live(Device& device, const HostCase& asked) {
  auto spec = randomEnsemble(asked.shape, 3, 31);
  if (asked.hasBounds) {
    spec.low.assign(asked.shape.obs, -1.0f);
    spec.high.assign(asked.shape.obs, 1.0f);
  }
  const auto policy = randomPolicy(asked.shape, 1, 32, asked.head);
  const auto starts = randomUniforms(static_cast<std::size_t>(branches) * asked.shape.obs, 33);
  const auto act = randomStreams(horizon, 34), model = randomStreams(horizon, 35);
  RolloutRequest request{};
  request.branches = branches;
  request.starts = starts.data();
  request.horizon = horizon;
  request.policy = &policy;
  request.isPolicyDeterministic = asked.isPolicyDeterministic;
  request.step = asked.step;
  request.disagreementLimit = asked.disagreementLimit;
  request.dropsDoubted = asked.dropsDoubted;
  request.actStreams = act.data();
  request.modelStreams = model.data();
  request.reward = asked.reward;
  request.ends = asked.ends;
  request.deliverEvery = 1;
  RolloutAnswer answer;
  makeEnsemble(device, spec, asked.precision)->rollout(request, answer);
  return answer;
}

void addAll(Deviation& deviation, const Column<float>& got, const Column<float>& expected) {
  for (std::size_t i = 0; i < got.size(); i++) deviation.add(got[i], expected[i]);
}

void compare(Device& device, Device& host, const HostCase& asked, CheckReport& report) {
  const std::string name = "as on the host: " + asked.name;
  const RolloutAnswer ours = live(device, asked), theirs = live(host, asked);
  const bool isSame = ours.rows == theirs.rows && ours.branch == theirs.branch && ours.step == theirs.step &&
                      ours.verdict == theirs.verdict && ours.alive == theirs.alive;
  const bool areSome = !asked.endsEarly || (ours.rows > branches && ours.rows < branches * horizon);
  report.put(name + ": ends", isSame && areSome, std::to_string(ours.rows) + " rows, " + std::to_string(theirs.rows) + " there");
  if (!isSame) return;
  Deviation numbers;
  addAll(numbers, ours.obs, theirs.obs);
  addAll(numbers, ours.action, theirs.action);
  addAll(numbers, ours.nextObs, theirs.nextObs);
  addAll(numbers, ours.reward, theirs.reward);
  addAll(numbers, ours.disagreement, theirs.disagreement);
  report.put(name, numbers, asked.precision == Precision::fp32 ? 1e-4 : toleranceOf(asked.precision));
}

std::vector<HostCase> allCases() {
  std::vector<HostCase> cases;
  const Shape small{6, 2, 3, 32, 2, 32, 1};
  Shape ending = small, discrete{4, 1, 3, 32, 2, 32, 1, 2};
  ending.learnsEnds = true;
  HostCase plain;
  plain.shape = small;
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    plain.precision = precision;
    plain.name = std::string("plain ") + nameOf(precision);
    cases.push_back(plain);
  }
  HostCase ends = plain, doubt = plain, drop, gaussian = plain, mean = plain, known = plain;
  for (HostCase* each : {&ends, &doubt, &gaussian, &mean, &known}) each->precision = Precision::fp32;
  ends.name = "learned ends";
  ends.shape = ending;
  ends.endsEarly = true;
  doubt.name = "doubted rows cut";
  doubt.step.withDisagreement = true;
  doubt.disagreementLimit = 1.1f;
  doubt.endsEarly = true;
  drop = doubt;
  drop.name = "doubted rows dropped, learned ends";
  drop.shape = ending;
  drop.dropsDoubted = true;
  gaussian.name = "gaussian policy, bounded observations";
  gaussian.head = PolicyHead::gaussian;
  gaussian.hasBounds = true;
  mean.name = "members' mean, no noise, the policy's mode";
  mean.step.isTs1 = false;
  mean.step.isDeterministic = mean.isPolicyDeterministic = true;
  known.name = "discrete actions, cart-pole's reward and end";
  known.shape = discrete;
  known.endsEarly = true;
  known.reward = KnownFunction::cartpoleReward;
  known.ends = KnownFunction::cartpoleEnd;
  cases.insert(cases.end(), {ends, doubt, drop, gaussian, mean, known});
  return cases;
}

}  // namespace

void checkAgainstHost(Device& device, CheckReport& report) {
  emulator::Options options;
  options.order = emulator::Order::shuffled;
  const auto host = emulator::makeEmulatedDevice(options);
  for (const auto& asked : allCases()) report.run(asked.name, [&] { compare(device, *host, asked, report); });
}

}  // namespace reverie::bench
