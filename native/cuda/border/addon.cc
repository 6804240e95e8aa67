// What src/nn/cuda.ts calls, and nothing else does: models on a device, ensembles by number. Work is done off the event loop; a
// failure is a rejected promise with `kind` and, where the driver gave one, its number.

#include <napi.h>

#include <map>
#include <mutex>

#include "../engine/driver.h"
#include "../engine/ensemble.h"
#include "../engine/precision-name.h"
#include "../processor/native-ensemble.h"
#include "brief-exchange.h"
#include "devices.h"
#include "learning.h"
#include "read.h"
#include "work.h"

namespace reverie::border {

namespace {

/** A model on a device. Its engine does one thing at a time. */
class Resident {
 public:
  void open(std::shared_ptr<Device> device, const EnsembleSpec& spec, Precision precision) {
    device_ = std::move(device);
    ensemble_ = makeEnsemble(*device_, spec, precision);
    bytes = ensemble_->bytes();
    limits = device_->limits();
    shape = spec;
    shape.elites.clear();
  }

  /** On the processor, by vector code: no device is between. */
  void openNative(const std::string& width, int threads, const EnsembleSpec& spec) {
    const processor::Width& chosen = processor::widthNamed(width);
    auto ensemble = std::make_unique<processor::NativeEnsemble>(spec, chosen, threads);
    briefRows = ensemble->briefRows();
    ensemble_ = std::move(ensemble);
    bytes = ensemble_->bytes();
    limits.name = std::string("vector code, ") + chosen.name;
    shape = spec;
    shape.elites.clear();
  }

  template <class Use>
  void use(Use use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!ensemble_) throw DeviceError("the model was closed meanwhile");
    use(*ensemble_);
  }

  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ensemble_.reset();
    device_.reset();
  }

  /** Without its weights. */
  EnsembleSpec shape;
  std::size_t bytes = 0;
  DeviceLimits limits;
  /** Rows, times elites that see each, that a caller may wait for on its own thread. */
  double briefRows = 0;

 private:
  std::mutex mutex_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Ensemble> ensemble_;
};

Napi::Value rolloutObject(Napi::Env env, const RolloutAnswer& answer) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("rows", static_cast<double>(answer.rows));
  object.Set("obs", arrayOf<Napi::Float32Array>(env, answer.obs));
  object.Set("action", arrayOf<Napi::Float32Array>(env, answer.action));
  object.Set("reward", arrayOf<Napi::Float32Array>(env, answer.reward));
  object.Set("nextObs", arrayOf<Napi::Float32Array>(env, answer.nextObs));
  object.Set("logProb", arrayOf<Napi::Float32Array>(env, answer.logProb));
  object.Set("disagreement", arrayOf<Napi::Float32Array>(env, answer.disagreement));
  object.Set("verdict", arrayOf<Napi::Uint8Array>(env, answer.verdict));
  object.Set("terminated", arrayOf<Napi::Uint8Array>(env, answer.terminated));
  object.Set("branch", arrayOf<Napi::Uint32Array>(env, answer.branch));
  object.Set("step", arrayOf<Napi::Uint32Array>(env, answer.step));
  object.Set("doubted", static_cast<double>(answer.doubted));
  object.Set("nonFinite", static_cast<double>(answer.nonFinite));
  return object;
}

KnownFunction knownFunction(const std::string& environment, bool isReward, int obsDim, int actionDim) {
  for (const KnownEntry& entry : knownFunctions) {
    const bool isIt = environment == entry.environment && isReward == entry.isReward;
    if (isIt && entry.obsDim == obsDim && entry.actionDim == actionDim) return entry.function;
  }
  return KnownFunction::none;
}

/** Of an environment named there; none where no name is. */
KnownFunction knownFunctionAt(const Napi::Object& from, const char* name, bool isReward, const EnsembleSpec& shape) {
  const std::string environment = textAt(from, name);
  if (environment.empty()) return KnownFunction::none;
  const KnownFunction found = knownFunction(environment, isReward, shape.obsDim, shape.actionDim);
  if (found == KnownFunction::none) refuse(from.Env(), "no known function of " + environment);
  return found;
}

/** A rollout's request with all that it points to. */
struct OwnedRollout {
  RolloutRequest request{};
  PolicySpec policy;
  std::vector<RandomStream> actStreams, modelStreams;
  RolloutAnswer answer;
};

std::shared_ptr<OwnedRollout> rolloutOf(const Napi::Object& from, const EnsembleSpec& shape) {
  auto owned = std::make_shared<OwnedRollout>();
  RolloutRequest& request = owned->request;
  request.branches = intAt(from, "branches");
  request.horizon = intAt(from, "horizon");
  if (request.branches < 0 || request.horizon < 1) refuse(from.Env(), "a rollout of no length");
  request.starts = floatsAt(from, "starts", static_cast<std::size_t>(request.branches) * shape.obsDim);
  owned->policy = policyOf(objectAt(from, "policy"));
  request.isPolicyDeterministic = boolAt(from, "isPolicyDeterministic");
  request.step = stepOptionsOf(from);
  request.disagreementLimit = static_cast<float>(numberAt(from, "disagreementLimit"));
  request.dropsDoubted = boolAt(from, "dropsDoubted");
  const auto horizon = static_cast<std::size_t>(request.horizon);
  owned->actStreams = streamsAt(from, "actStreams", horizon);
  owned->modelStreams = streamsAt(from, "modelStreams", horizon);
  request.reward = knownFunctionAt(from, "knownReward", true, shape);
  request.ends = knownFunctionAt(from, "knownEnds", false, shape);
  request.policy = &owned->policy;
  request.actStreams = owned->actStreams.data();
  request.modelStreams = owned->modelStreams.data();
  return owned;
}

class Addon : public Napi::Addon<Addon> {
 public:
  Addon(Napi::Env env, Napi::Object exports) {
    DefineAddon(exports, {InstanceMethod("probe", &Addon::probe), InstanceMethod("widths", &Addon::widths),
                          InstanceMethod("fit", &Addon::fit), InstanceMethod("knows", &Addon::knows),
                          InstanceMethod("makeEnsemble", &Addon::make), InstanceMethod("step", &Addon::step),
                          InstanceMethod("stepNow", &Addon::stepNow), InstanceMethod("rollout", &Addon::rollout),
                          InstanceMethod("close", &Addon::close)});
    const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
      exports.Set(name, Napi::Function::New(env, function, name));
    };
    add("makeActorCritic", makeActorCritic);
    add("runActorCritic", runActorCritic);
    add("makeMember", makeMember);
    add("runMember", runMember);
  }

 private:
  Napi::Value probe(const Napi::CallbackInfo& info) {
    auto found = std::make_shared<DriverProbe>();
    return Work::begin(
        info.Env(), [found] { *found = probeDriver(); },
        [found](Napi::Env env) {
          Napi::Object object = Napi::Object::New(env);
          object.Set("missing", found->missing);
          object.Set("hint", found->hint);
          object.Set("driverVersion", found->driverVersion);
          Napi::Array devices = Napi::Array::New(env);
          for (const DeviceLimits& limits : found->devices) devices.Set(devices.Length(), limitsObject(env, limits));
          object.Set("devices", devices);
          return object;
        });
  }

  /** Names of the widths of vectors that this processor has, best first. */
  Napi::Value widths(const Napi::CallbackInfo& info) {
    Napi::Array names = Napi::Array::New(info.Env());
    for (const processor::Width* width : processor::widths()) names.Set(names.Length(), width->name);
    return names;
  }

  /** (spec, precision) to { problem?, precision }: why devices cannot run it, or what they compute its products in. */
  Napi::Value fit(const Napi::CallbackInfo& info) {
    const EnsembleSpec spec = ensembleOf(info[0]);
    const Precision asked = precisionOf(info[1]);
    const std::optional<std::string> problem = unsupported(spec);
    Napi::Object object = Napi::Object::New(info.Env());
    if (problem) object.Set("problem", *problem);
    object.Set("precision", nameOf(problem ? asked : precisionFor(spec, asked)));
    return object;
  }

  /** (environment, isReward, obsDim, actionDim): whether devices know this function of a built-in environment. */
  Napi::Value knows(const Napi::CallbackInfo& info) {
    if (!info[0].IsString() || !info[1].IsBoolean() || !info[2].IsNumber() || !info[3].IsNumber()) {
      refuse(info.Env(), "knows takes a name, a choice and two widths");
    }
    const KnownFunction found = knownFunction(info[0].As<Napi::String>().Utf8Value(), info[1].As<Napi::Boolean>().Value(),
                                              info[2].As<Napi::Number>().Int32Value(), info[3].As<Napi::Number>().Int32Value());
    return Napi::Boolean::New(info.Env(), found != KnownFunction::none);
  }

  /** (where, spec, precision) to { handle, bytes, device }. */
  Napi::Value make(const Napi::CallbackInfo& info) {
    if (!info[0].IsObject()) refuse(info.Env(), "no device is named");
    const auto where = info[0].As<Napi::Object>();
    const std::string kind = textAt(where, "kind");
    if (kind != "cuda" && kind != "emulated" && kind != "native") refuse(info.Env(), "unknown device " + kind);
    const int ordinal = intAt(where, "ordinal");
    const std::string fatbin = textAt(where, "fatbin");
    auto spec = std::make_shared<EnsembleSpec>(ensembleOf(info[1]));
    const Precision precision = precisionOf(info[2]);
    auto resident = std::make_shared<Resident>();
    const bool isNative = kind == "native";
    const std::string width = isNative ? textAt(where, "width") : "";
    const int threads = isNative ? intAt(where, "threads") : 1;
    auto job = [=] {
      if (isNative) return resident->openNative(width, threads, *spec);
      resident->open(sharedDevice(kind, ordinal, fatbin), *spec, precision);
    };
    return Work::begin(info.Env(), job, [this, resident](Napi::Env env) {
      const int handle = nextHandle_++;
      residents_[handle] = resident;
      Napi::Object object = Napi::Object::New(env);
      object.Set("handle", handle);
      object.Set("bytes", static_cast<double>(resident->bytes));
      object.Set("device", limitsObject(env, resident->limits));
      object.Set("briefRows", resident->briefRows);
      return object;
    });
  }

  /** (handle, request, answer): arrays stay as they are until it is done. */
  Napi::Value step(const Napi::CallbackInfo& info) {
    auto resident = residentOf(info);
    if (!info[1].IsObject() || !info[2].IsObject()) refuse(info.Env(), "step takes a request and an answer");
    const auto from = info[1].As<Napi::Object>();
    const auto into = info[2].As<Napi::Object>();
    const EnsembleSpec& shape = resident->shape;
    StepRequest request{};
    request.rows = intAt(from, "rows");
    if (request.rows < 0) refuse(info.Env(), "fewer than no rows");
    const auto rows = static_cast<std::size_t>(request.rows);
    request.obs = floatsAt(from, "obs", rows * shape.obsDim);
    request.action = floatsAt(from, "action", rows * shape.actionDim);
    request.hasStreamPerRow = boolAt(from, "hasStreamPerRow");
    request.options = stepOptionsOf(from);
    const StepAnswer answer{floatsAt(into, "nextObs", rows * shape.obsDim), floatsAt(into, "reward", rows, true),
                            bytesAt(into, "terminated", rows, true), floatsAt(into, "disagreement", rows, true)};
    auto streams = streamsAt(from, "streams", request.hasStreamPerRow ? rows : 1);
    auto job = [resident, request, answer, streams = std::move(streams)]() mutable {
      request.streams = streams.data();
      resident->use([&](Ensemble& ensemble) { ensemble.step(request, answer); });
    };
    return Work::begin(info.Env(), job, [](Napi::Env env) { return env.Undefined(); },
                       {from.Get("obs"), from.Get("action"), into.Get("nextObs"), into.Get("reward"),
                        into.Get("terminated"), into.Get("disagreement")});
  }

  /**
   * (handle, exchange, rows, choices): a step that is done when it returns, for models that say how many rows are brief. What is
   * asked and answered lies in one buffer (BriefExchange), as looking at objects takes longer than a row.
   */
  Napi::Value stepNow(const Napi::CallbackInfo& info) {
    auto resident = residentOf(info);
    if (resident->briefRows == 0) refuse(info.Env(), "this model has to be waited for");
    if (!info[1].IsArrayBuffer() || !info[2].IsNumber() || !info[3].IsNumber()) {
      refuse(info.Env(), "stepNow takes a buffer, a number of rows and choices");
    }
    auto buffer = info[1].As<Napi::ArrayBuffer>();
    BriefExchange exchange(static_cast<char*>(buffer.Data()), info[2].As<Napi::Number>().Int64Value(),
                           info[3].As<Napi::Number>().Uint32Value(), resident->shape);
    if (exchange.bytes > buffer.ByteLength()) refuse(info.Env(), "a step that does not fit into its buffer");
    exchange.readStreams();
    try {
      resident->use([&](Ensemble& ensemble) { ensemble.step(exchange.request, exchange.answer); });
    } catch (const std::exception& error) {
      refuse(info.Env(), error.what());
    }
    return info.Env().Undefined();
  }

  Napi::Value rollout(const Napi::CallbackInfo& info) {
    auto resident = residentOf(info);
    if (!info[1].IsObject()) refuse(info.Env(), "rollout takes a request");
    const auto from = info[1].As<Napi::Object>();
    auto owned = rolloutOf(from, resident->shape);
    auto job = [resident, owned] {
      resident->use([&](Ensemble& ensemble) { ensemble.rollout(owned->request, owned->answer); });
    };
    return Work::begin(info.Env(), job, [owned](Napi::Env env) { return rolloutObject(env, owned->answer); }, {from.Get("starts")});
  }

  /** Frees the model once nothing is under way with it; done off the loop, as the device may have to be waited for. */
  Napi::Value close(const Napi::CallbackInfo& info) {
    auto resident = residentOf(info);
    residents_.erase(info[0].As<Napi::Number>().Int32Value());
    return Work::begin(info.Env(), [resident] { resident->close(); }, [](Napi::Env env) { return env.Undefined(); });
  }

  std::shared_ptr<Resident> residentOf(const Napi::CallbackInfo& info) {
    const int handle = info[0].IsNumber() ? info[0].As<Napi::Number>().Int32Value() : 0;
    const auto found = residents_.find(handle);
    if (found == residents_.end()) refuse(info.Env(), "a model that is closed or never was");
    return found->second;
  }

  std::map<int, std::shared_ptr<Resident>> residents_;
  int nextHandle_ = 1;
};

}  // namespace

}  // namespace reverie::border

using ReverieAddon = reverie::border::Addon;
NODE_API_ADDON(ReverieAddon)
