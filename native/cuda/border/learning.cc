// See learning.h.

#include "learning.h"

#include <memory>
#include <mutex>

#include "../processor/member-update.h"
#include "../processor/redq-update.h"
#include "../processor/sac-update.h"
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

using RedqLearner = Learner<processor::RedqSpec, processor::RedqUpdate>;
using SacLearner = Learner<processor::SacSpec, processor::SacUpdate>;
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

processor::LayerEnd endOf(Activation activation) {
  if (activation == Activation::relu) return processor::LayerEnd::relu;
  return activation == Activation::tanh ? processor::LayerEnd::tanh : processor::LayerEnd::swish;
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

/** What actor-critics of any number of critics are told. */
processor::ActorCriticSpec actorCriticAt(const Napi::Object& from, int critics) {
  return {intAt(from, "obsDim"),
          intAt(from, "actionDim"),
          intAt(from, "batchSize"),
          critics,
          sizesAt(from, "hidden"),
          endOf(activationAt(from)),
          boolAt(from, "criticLayerNorm"),
          floatAt(from, "tau"),
          floatAt(from, "rewardScale"),
          copyAt(from, "scale"),
          copyAt(from, "bias")};
}

processor::SoftSpec softAt(const Napi::Object& from, int critics) {
  return {actorCriticAt(from, critics), floatAt(from, "targetEntropy")};
}

processor::Transitions batchesAt(const Napi::Object& from, const processor::ActorCriticSpec& spec, std::size_t steps) {
  const std::size_t rows = steps * spec.batchSize, obs = rows * spec.obsDim, actions = rows * spec.actionDim;
  return {floatsAt(from, "obs", obs),       floatsAt(from, "action", actions), floatsAt(from, "reward", rows),
          floatsAt(from, "discount", rows), floatsAt(from, "nextObs", obs),    floatsAt(from, "weight", rows),
          floatsAt(from, "nextNoise", actions)};
}

/** Adam's arrays of `size` elements, the first of them by its name. */
processor::Learned learnedAt(const Napi::Object& from, const char* theta, std::size_t size) {
  return {floatsAt(from, theta, size), floatsAt(from, "m", size), floatsAt(from, "v", size)};
}

/** Of one pass, a layer each; none without dropout. */
processor::UnitMasks masksAt(const Napi::Object& from, const std::string& pass, const processor::RedqSpec& spec,
                             std::size_t units) {
  processor::UnitMasks masks;
  for (std::size_t layer = 0; spec.dropout > 0 && layer < spec.hidden.size(); layer++) {
    masks.push_back(bytesAt(from, (pass + "Mask" + std::to_string(layer)).c_str(), units * spec.hidden[layer]));
  }
  return masks;
}

}  // namespace

Napi::Value makeSac(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject() || !info[1].IsString()) refuse(info.Env(), "a learner takes a spec and a width");
  const auto from = info[0].As<Napi::Object>();
  const processor::SacSpec spec{softAt(from, 2), floatAt(from, "actorRate"), floatAt(from, "temperatureRate")};
  return makeLearner<SacLearner>(info.Env(), spec, info[1]);
}

Napi::Value runSac(const Napi::CallbackInfo& info) {
  const auto [learner, steps] = askedOf<SacLearner>(info, 3);
  const auto of = [&](int i) { return info[i].As<Napi::Object>(); };
  const auto count = static_cast<std::size_t>(steps);
  const std::size_t actions = count * learner->spec.batchSize * learner->spec.actionDim;
  const processor::SacState state{learnedAt(of(2), "theta", learner->update.stateSize()),
                                  floatsAt(of(2), "target", learner->update.criticSize())};
  const processor::SacBatches batches{batchesAt(of(3), learner->spec, count), steps, floatsAt(of(3), "noise", actions),
                                      floatsAt(of(3), "adamAlpha", count), floatsAt(of(3), "adamEpsilon", count)};
  const processor::SacMetrics metrics{floatsAt(of(4), "criticLoss", count), floatsAt(of(4), "policyLoss", count),
                                      floatsAt(of(4), "alpha", count), floatsAt(of(4), "entropy", count),
                                      floatsAt(of(4), "q", count)};
  return begin(info, learner, [=](processor::SacUpdate& update) { update.run(state, batches, metrics); });
}

Napi::Value makeRedq(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject() || !info[1].IsString()) refuse(info.Env(), "an ensemble of critics takes a spec and a width");
  const auto from = info[0].As<Napi::Object>();
  const processor::RedqSpec spec{softAt(from, intAt(from, "critics")), intAt(from, "drawn"), floatAt(from, "dropout")};
  return makeLearner<RedqLearner>(info.Env(), spec, info[1]);
}

Napi::Value runCritics(const Napi::CallbackInfo& info) {
  const auto [learner, steps] = askedOf<RedqLearner>(info, 4);
  const auto of = [&](int i) { return info[i].As<Napi::Object>(); };
  const processor::RedqSpec& spec = learner->spec;
  const std::size_t count = steps, size = learner->update.criticSize(), rows = count * spec.batchSize, drawn = count * spec.drawn;
  const processor::CriticState state{learnedAt(of(2), "critics", size), floatsAt(of(2), "target", size)};
  const float* const theta = floatsAt(of(3), "theta", learner->update.thetaSize());
  const std::int32_t* const members = intsAt(of(4), "drawn", drawn);
  for (std::size_t i = 0; i < drawn; i++) {
    if (members[i] < 0 || members[i] >= spec.critics) refuse(info.Env(), "a critic that is not there");
  }
  const processor::CriticBatches batches{batchesAt(of(4), spec, count),
                                         steps,
                                         members,
                                         masksAt(of(4), "own", spec, rows * spec.critics),
                                         masksAt(of(4), "next", spec, rows * spec.drawn),
                                         floatsAt(of(4), "adamAlpha", count),
                                         floatsAt(of(4), "adamEpsilon", count)};
  float *const criticLoss = floatsAt(of(5), "criticLoss", count), *const q = floatsAt(of(5), "q", count);
  return begin(info, learner, [=](processor::RedqUpdate& update) { update.runCritics(state, theta, batches, criticLoss, q); });
}

Napi::Value runPolicy(const Napi::CallbackInfo& info) {
  const auto [learner, steps] = askedOf<RedqLearner>(info, 4);
  const auto of = [&](int i) { return info[i].As<Napi::Object>(); };
  const processor::RedqSpec& spec = learner->spec;
  const std::size_t count = steps, rows = count * spec.batchSize;
  const processor::Learned state = learnedAt(of(2), "theta", learner->update.thetaSize());
  const float* const critics = floatsAt(of(3), "critics", learner->update.criticSize());
  const processor::PolicyBatches batches{steps,
                                         floatsAt(of(4), "obs", rows * spec.obsDim),
                                         floatsAt(of(4), "noise", rows * spec.actionDim),
                                         masksAt(of(4), "own", spec, rows * spec.critics),
                                         floatsAt(of(4), "adamAlpha", count),
                                         floatsAt(of(4), "adamEpsilon", count)};
  float *const policyLoss = floatsAt(of(5), "policyLoss", count), *const alpha = floatsAt(of(5), "alpha", count),
               *const entropy = floatsAt(of(5), "entropy", count);
  return begin(info, learner, [=](processor::RedqUpdate& update) {
    update.runPolicy(state, critics, batches, policyLoss, alpha, entropy);
  });
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
