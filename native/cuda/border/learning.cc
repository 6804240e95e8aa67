// See learning.h.

#include "learning.h"

#include <memory>
#include <mutex>

#include "../processor/actor-critic.h"
#include "../processor/member-update.h"
#include "read.h"
#include "work.h"

namespace reverie::border {

namespace {

/** What JavaScript holds, so that one learner is never taken for another. */
struct AnyLearner {
  virtual ~AnyLearner() = default;
};

using Held = std::shared_ptr<AnyLearner>;

/** One learner does one thing at a time, as its rows lie in memory of its own. */
template <class Spec, class Update>
struct Learner : AnyLearner {
  Learner(const Spec& spec, const processor::Width& width) : spec(spec), update(spec, width) {}

  const Spec spec;
  std::mutex mutex;
  Update update;
};

using ActorCriticLearner = Learner<processor::ActorCriticSpec, processor::ActorCritic>;
using MemberLearner = Learner<processor::MemberSpec, processor::MemberUpdate>;

template <class L, class Spec>
Napi::Value makeLearner(Napi::Env env, const Spec& spec, const Napi::Value& width) {
  try {
    const std::string name = width.As<Napi::String>().Utf8Value();
    auto* held = new Held(std::make_shared<L>(spec, processor::widthNamed(name)));
    return Napi::External<Held>::New(env, held, [](Napi::Env, Held* gone) { delete gone; });
  } catch (const std::invalid_argument& error) {
    refuse(env, error.what());
  }
}

/** The learner and the number of steps, followed by `objects` objects. */
template <class L>
std::pair<std::shared_ptr<L>, int> askedOf(const Napi::CallbackInfo& info, std::size_t objects) {
  bool isWhole = info[0].IsExternal() && info[1].IsNumber();
  for (std::size_t i = 0; i < objects; i++) isWhole = isWhole && info[2 + i].IsObject();
  if (!isWhole) refuse(info.Env(), "gradient steps take a learner, their number and arrays by name");
  const auto learner = std::dynamic_pointer_cast<L>(*info[0].As<Napi::External<Held>>().Data());
  if (!learner) refuse(info.Env(), "a learner of another kind");
  const int steps = info[1].As<Napi::Number>().Int32Value();
  if (steps < 1) refuse(info.Env(), "no steps");
  return {learner, steps};
}

/** Begins the work, and keeps the arrays of the objects from the third argument on until it is done. */
template <class L, class Run>
Napi::Value begin(const Napi::CallbackInfo& info, std::shared_ptr<L> learner, Run run) {
  std::vector<Napi::Value> kept;
  for (std::size_t i = 2; i < info.Length(); i++) {
    const auto object = info[i].As<Napi::Object>();
    const Napi::Array names = object.GetPropertyNames();
    for (std::uint32_t j = 0; j < names.Length(); j++) kept.push_back(object.Get(names.Get(j)));
  }
  auto job = [learner, run] {
    const std::lock_guard<std::mutex> lock(learner->mutex);
    run(learner->update);
  };
  return Work::begin(info.Env(), job, [](Napi::Env env) { return env.Undefined(); }, kept);
}

std::vector<int> sizesAt(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  if (!value.IsArray()) refuse(from.Env(), std::string(name) + " is no array");
  const auto array = value.As<Napi::Array>();
  std::vector<int> sizes;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value size = array.Get(i);
    if (!size.IsNumber()) refuse(from.Env(), std::string(name) + " has what is no number");
    sizes.push_back(size.As<Napi::Number>().Int32Value());
  }
  return sizes;
}

float floatAt(const Napi::Object& from, const char* name) { return static_cast<float>(numberAt(from, name)); }

/** Adam's arrays of `size` elements, the first of them by its name. */
processor::Learned learnedAt(const Napi::Object& from, const char* theta, std::size_t size) {
  return {floatsAt(from, theta, size), floatsAt(from, "m", size), floatsAt(from, "v", size)};
}

/** Of one pass, a layer each; none without dropout. */
processor::UnitMasks masksAt(const Napi::Object& from, const std::string& pass, const processor::ActorCriticSpec& spec,
                             std::size_t units) {
  processor::UnitMasks masks;
  for (std::size_t layer = 0; spec.dropout > 0 && layer < spec.hidden.size(); layer++) {
    masks.push_back(bytesAt(from, (pass + "Mask" + std::to_string(layer)).c_str(), units * spec.hidden[layer]));
  }
  return masks;
}

}  // namespace

Napi::Value makeActorCritic(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject() || !info[1].IsString()) refuse(info.Env(), "a learner takes a spec and a width");
  const auto from = info[0].As<Napi::Object>();
  processor::ActorCriticSpec spec{};
  spec.obsDim = intAt(from, "obsDim");
  spec.actionDim = intAt(from, "actionDim");
  spec.batchSize = intAt(from, "batchSize");
  spec.critics = intAt(from, "critics");
  spec.hidden = sizesAt(from, "hidden");
  spec.activation = activationAt(from);
  spec.normalisesCritics = boolAt(from, "criticLayerNorm");
  spec.isResidual = boolAt(from, "isResidual");
  spec.tau = floatAt(from, "tau");
  spec.rewardScale = floatAt(from, "rewardScale");
  spec.targetEntropy = floatAt(from, "targetEntropy");
  spec.scale = copyAt(from, "scale");
  spec.bias = copyAt(from, "bias");
  spec.isJoint = boolAt(from, "isJoint");
  spec.drawn = intAt(from, "drawn");
  spec.dropout = floatAt(from, "dropout");
  return makeLearner<ActorCriticLearner>(info.Env(), spec, info[1]);
}

Napi::Value runActorCritic(const Napi::CallbackInfo& info) {
  const auto [learner, steps] = askedOf<ActorCriticLearner>(info, 4);
  const processor::ActorCriticSpec& spec = learner->spec;
  const auto state = info[2].As<Napi::Object>(), inputs = info[3].As<Napi::Object>(), batches = info[4].As<Napi::Object>(),
             metrics = info[5].As<Napi::Object>();
  const auto count = static_cast<std::size_t>(steps);
  const std::size_t rows = count * spec.batchSize, obs = rows * spec.obsDim, actions = rows * spec.actionDim;
  const std::size_t criticSize = learner->update.criticSize(), thetaSize = learner->update.thetaSize();
  const bool learnsCritics = spec.isJoint || state.Has("critics"), learnsPolicy = spec.isJoint || !learnsCritics;
  processor::ActorCriticRun run;
  run.steps = steps;
  if (learnsPolicy) run.policy = learnedAt(state, "theta", thetaSize);
  if (spec.isJoint) {
    run.critics = run.policy;
  } else if (learnsCritics) {
    run.critics = learnedAt(state, "critics", criticSize);
    run.policy.theta = floatsAt(inputs, "theta", thetaSize);
  } else {
    run.critics.theta = floatsAt(inputs, "critics", criticSize);
  }
  run.obs = floatsAt(batches, "obs", obs);
  run.adamAlpha = floatsAt(batches, "adamAlpha", count);
  run.adamEpsilon = floatsAt(batches, "adamEpsilon", count);
  run.own = masksAt(batches, "own", spec, rows * spec.critics);
  if (learnsCritics) {
    run.target = floatsAt(state, "target", criticSize);
    run.action = floatsAt(batches, "action", actions);
    run.reward = floatsAt(batches, "reward", rows);
    run.discount = floatsAt(batches, "discount", rows);
    run.nextObs = floatsAt(batches, "nextObs", obs);
    run.weight = floatsAt(batches, "weight", rows);
    run.nextNoise = floatsAt(batches, "nextNoise", actions);
    run.next = masksAt(batches, "next", spec, rows * spec.drawn);
    if (!spec.isJoint) run.drawn = intsAt(batches, "drawn", count * spec.drawn);
    for (std::size_t i = 0; run.drawn != nullptr && i < count * spec.drawn; i++) {
      if (run.drawn[i] < 0 || run.drawn[i] >= spec.critics) refuse(info.Env(), "a critic that is not there");
    }
    run.criticLoss = floatsAt(metrics, "criticLoss", count);
    run.q = floatsAt(metrics, "q", count);
  }
  if (learnsPolicy) {
    run.noise = floatsAt(batches, "noise", actions);
    run.policyLoss = floatsAt(metrics, "policyLoss", count);
    run.alpha = floatsAt(metrics, "alpha", count);
    run.entropy = floatsAt(metrics, "entropy", count);
  }
  return begin(info, learner, [=](processor::ActorCritic& update) { update.run(run); });
}

Napi::Value makeMember(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject() || !info[1].IsString()) refuse(info.Env(), "a member takes a spec and a width");
  const auto from = info[0].As<Napi::Object>();
  const processor::MemberSpec spec{intAt(from, "inputDim"),  intAt(from, "outputDim"),     intAt(from, "batchSize"),
                                   sizesAt(from, "hidden"), boolAt(from, "termination"), floatAt(from, "logVarPenalty")};
  return makeLearner<MemberLearner>(info.Env(), spec, info[1]);
}

Napi::Value runMember(const Napi::CallbackInfo& info) {
  const auto [learner, steps] = askedOf<MemberLearner>(info, 4);
  const auto of = [&](int i) { return info[i].As<Napi::Object>(); };
  const auto count = static_cast<std::size_t>(steps), size = learner->update.stateSize();
  const auto inputs = static_cast<std::size_t>(learner->spec.inputDim), outputs = static_cast<std::size_t>(learner->spec.outputDim);
  const std::size_t rows = lengthAt(of(3), "terminated");
  const processor::MemberState state{floatsAt(of(2), "theta", size), floatsAt(of(2), "m", size), floatsAt(of(2), "v", size)};
  const processor::MemberRows data{floatsAt(of(3), "inputs", rows * inputs), floatsAt(of(3), "targets", rows * outputs),
                                   floatsAt(of(3), "terminated", rows), floatsAt(of(3), "weights", outputs),
                                   floatsAt(of(3), "decay", size)};
  const std::int32_t* chosen = intsAt(of(4), "rows", count * learner->spec.batchSize);
  for (std::size_t i = 0; i < count * learner->spec.batchSize; i++) {
    if (chosen[i] < 0 || static_cast<std::size_t>(chosen[i]) >= rows) refuse(info.Env(), "a row that is not there");
  }
  const processor::MemberSteps batches{steps, chosen, floatsAt(of(4), "alpha", count), floatsAt(of(4), "epsilon", count)};
  float* const nll = floatsAt(of(5), "nll", count);
  return begin(info, learner, [=](processor::MemberUpdate& update) { update.run(state, data, batches, nll); });
}

}  // namespace reverie::border
