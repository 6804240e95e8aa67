// Rewards and ends that are known functions of our own environments (src/env): their numbers, names and row widths. The
// functions themselves are in known.cuh; which of them an environment has is KnownFunctions of its class.
#pragma once

namespace reverie {

enum class KnownFunction : int {
  none = 0,
  cartpoleReward,
  cartpoleEnd,
  pendulumReward,
  halfCheetahEnd,
  hopperEnd,
  walker2dEnd,
  invertedPendulumReward,
  invertedPendulumEnd,
  invertedDoublePendulumEnd,
  reacherReward,
  reacherEnd,
  cartpoleSwingupReward,
  cartpoleSwingupEnd,
  pendulumEnd,
};

struct KnownEntry {
  KnownFunction function;
  const char* environment;
  bool isReward;
  int obsDim, actionDim;
};

/** Every known function; `environment` is its id in src/env. */
constexpr KnownEntry knownFunctions[] = {
    {KnownFunction::cartpoleReward, "cartpole", true, 4, 1},
    {KnownFunction::cartpoleEnd, "cartpole", false, 4, 1},
    {KnownFunction::pendulumReward, "pendulum", true, 3, 1},
    {KnownFunction::pendulumEnd, "pendulum", false, 3, 1},
    {KnownFunction::halfCheetahEnd, "half-cheetah", false, 17, 6},
    {KnownFunction::hopperEnd, "hopper", false, 11, 3},
    {KnownFunction::walker2dEnd, "walker2d", false, 17, 6},
    {KnownFunction::invertedPendulumReward, "inverted-pendulum", true, 4, 1},
    {KnownFunction::invertedPendulumEnd, "inverted-pendulum", false, 4, 1},
    {KnownFunction::invertedDoublePendulumEnd, "inverted-double-pendulum", false, 9, 1},
    {KnownFunction::reacherReward, "reacher", true, 10, 2},
    {KnownFunction::reacherEnd, "reacher", false, 10, 2},
    {KnownFunction::cartpoleSwingupReward, "cartpole-swingup", true, 5, 1},
    {KnownFunction::cartpoleSwingupEnd, "cartpole-swingup", false, 5, 1},
};

}  // namespace reverie
