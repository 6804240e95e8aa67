// See learning.h.

#include "learning.h"

#include <memory>
#include <mutex>

#include "../processor/sac-update.h"
#include "read.h"
#include "work.h"

namespace reverie::border {

namespace {

/** One learner does one thing at a time, as its rows lie in memory of its own. */
struct SacLearner {
  SacLearner(const processor::SacSpec& spec, const processor::Width& width)
      : obsDim(spec.obsDim), actionDim(spec.actionDim), batchSize(spec.batchSize), update(spec, width) {}

  const int obsDim, actionDim, batchSize;
  std::mutex mutex;
  processor::SacUpdate update;
};

using SharedLearner = std::shared_ptr<SacLearner>;

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

}  // namespace

Napi::Value makeSac(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject() || !info[1].IsString()) refuse(info.Env(), "a learner takes a spec and a width");
  const auto from = info[0].As<Napi::Object>();
  const processor::SacSpec spec{intAt(from, "obsDim"),
                                intAt(from, "actionDim"),
                                intAt(from, "batchSize"),
                                sizesAt(from, "hidden"),
                                endOf(activationAt(from)),
                                boolAt(from, "criticLayerNorm"),
                                floatAt(from, "tau"),
                                floatAt(from, "rewardScale"),
                                floatAt(from, "targetEntropy"),
                                floatAt(from, "actorRate"),
                                floatAt(from, "temperatureRate"),
                                copyAt(from, "scale"),
                                copyAt(from, "bias")};
  try {
    const processor::Width& width = processor::widthNamed(info[1].As<Napi::String>().Utf8Value());
    auto* shared = new SharedLearner(std::make_shared<SacLearner>(spec, width));
    return Napi::External<SharedLearner>::New(info.Env(), shared, [](Napi::Env, SharedLearner* gone) { delete gone; });
  } catch (const std::invalid_argument& error) {
    refuse(info.Env(), error.what());
  }
}

Napi::Value runSac(const Napi::CallbackInfo& info) {
  if (!info[0].IsExternal() || !info[1].IsNumber() || !info[2].IsObject() || !info[3].IsObject() || !info[4].IsObject()) {
    refuse(info.Env(), "runSac takes a learner, a number of steps, state, batches and metrics");
  }
  const SharedLearner learner = *info[0].As<Napi::External<SharedLearner>>().Data();
  const int steps = info[1].As<Napi::Number>().Int32Value();
  if (steps < 1) refuse(info.Env(), "no steps");
  const auto of = [&](int i) { return info[i].As<Napi::Object>(); };
  const auto count = static_cast<std::size_t>(steps), rows = count * learner->batchSize;
  const std::size_t size = learner->update.stateSize(), obs = rows * learner->obsDim, actions = rows * learner->actionDim;
  const processor::SacState state{floatsAt(of(2), "theta", size), floatsAt(of(2), "m", size), floatsAt(of(2), "v", size),
                                  floatsAt(of(2), "target", learner->update.criticSize())};
  const processor::SacBatches batches{steps,
                                      floatsAt(of(3), "obs", obs),
                                      floatsAt(of(3), "action", actions),
                                      floatsAt(of(3), "reward", rows),
                                      floatsAt(of(3), "discount", rows),
                                      floatsAt(of(3), "nextObs", obs),
                                      floatsAt(of(3), "weight", rows),
                                      floatsAt(of(3), "noise", actions),
                                      floatsAt(of(3), "nextNoise", actions),
                                      floatsAt(of(3), "adamAlpha", count),
                                      floatsAt(of(3), "adamEpsilon", count)};
  const processor::SacMetrics metrics{floatsAt(of(4), "criticLoss", count), floatsAt(of(4), "policyLoss", count),
                                      floatsAt(of(4), "alpha", count), floatsAt(of(4), "entropy", count),
                                      floatsAt(of(4), "q", count)};
  auto job = [learner, state, batches, metrics] {
    const std::lock_guard<std::mutex> lock(learner->mutex);
    learner->update.run(state, batches, metrics);
  };
  std::vector<Napi::Value> kept;
  for (const int i : {2, 3, 4}) {
    const Napi::Array names = of(i).GetPropertyNames();
    for (std::uint32_t j = 0; j < names.Length(); j++) kept.push_back(of(i).Get(names.Get(j)));
  }
  return Work::begin(info.Env(), job, [](Napi::Env env) { return env.Undefined(); }, kept);
}

}  // namespace reverie::border
