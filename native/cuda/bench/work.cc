// Rollouts and single steps of a random ensemble, as a caller of engine/ensemble.h asks for them.
#include <chrono>
#include <limits>
#include <stdexcept>

#include "../engine/precision-name.h"
#include "work.h"

namespace reverie::bench {

EnsembleSpec ensembleOf(const Shape& shape, int elites) {
  const std::vector<int> hidden(static_cast<std::size_t>(shape.layers), shape.hidden);
  EnsembleSpec spec = test::randomSpec({shape.obs, shape.action, 0, true, false, elites, hidden}, 1);
  spec.low.assign(spec.low.size(), -std::numeric_limits<float>::infinity());
  spec.high.assign(spec.high.size(), std::numeric_limits<float>::infinity());
  return spec;
}

PolicySpec policyOf(const Shape& shape, int layers) {
  const std::vector<int> hidden(static_cast<std::size_t>(layers), shape.policyHidden);
  test::ModelShape form;
  form.obsDim = shape.obs;
  form.actionDim = shape.action;
  PolicySpec policy = test::randomPolicy(form, PolicyHead::squashed, Activation::relu, hidden, 2);
  const std::size_t columns = policy.scale.size();
  policy.scale.assign(columns, 1);
  policy.bias.assign(columns, 0);
  policy.low.assign(columns, -1);
  policy.high.assign(columns, 1);
  return policy;
}

namespace {

double nowMs() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

std::vector<RandomStream> streams(long count, std::uint32_t seed) {
  std::vector<RandomStream> all;
  for (long i = 0; i < count; i++) all.push_back({seed, static_cast<std::uint32_t>(i), 0});
  return all;
}

Precision precisionOf(const std::string& name) {
  if (const auto precision = precisionNamed(name)) return *precision;
  throw std::invalid_argument("no such precision: " + name);
}

std::unique_ptr<Ensemble> ensembleFor(Device& device, const Shape& shape, const Request& request) {
  return makeEnsemble(device, ensembleOf(shape, static_cast<int>(request.integer("members"))), precisionOf(request.text("precision")));
}

std::vector<float> columnsOf(const Request& request, int columns, std::uint32_t seed) {
  return test::numbers(static_cast<std::size_t>(request.integer("rows")) * static_cast<std::size_t>(columns), seed);
}

template <class Call>
Timing timedCall(TimedDevice& device, Call call) {
  Timing timing;
  device.start();
  const double begin = nowMs();
  call();
  timing.wallMs = nowMs() - begin;
  timing.device = device.stop();
  return timing;
}

StepOptions optionsOf(const Request& request) {
  StepOptions options;
  options.withDisagreement = request.integer("disagreement", 0) != 0;
  return options;
}

class RolloutWork : public Work {
 public:
  RolloutWork(TimedDevice& device, const Shape& shape, const Request& request)
      : device_(device),
        policy_(policyOf(shape, request.text("policy") == "mlp" ? shape.policyLayers : 0)),
        starts_(columnsOf(request, shape.obs, 3)),
        act_(streams(request.integer("horizon"), 4)),
        model_(streams(request.integer("horizon"), 5)),
        ensemble_(ensembleFor(device, shape, request)) {
    asked_.branches = request.integer("rows");
    asked_.starts = starts_.data();
    asked_.horizon = static_cast<int>(request.integer("horizon"));
    asked_.policy = &policy_;
    asked_.step = optionsOf(request);
    asked_.disagreementLimit = std::numeric_limits<float>::infinity();
    asked_.actStreams = act_.data();
    asked_.modelStreams = model_.data();
    asked_.deliverEvery = static_cast<int>(request.integer("deliver", 0));
  }

  Timing run() override {
    const auto timing = timedCall(device_, [&] { ensemble_->rollout(asked_, answer_); });
    const std::int64_t wanted = asked_.branches * asked_.horizon;
    if (answer_.lived != wanted || answer_.nonFinite != 0) {
      throw DeviceError("rows lived: " + std::to_string(answer_.lived) + " of " + std::to_string(wanted) +
                        ", not finite: " + std::to_string(answer_.nonFinite));
    }
    return timing;
  }

  void describe(JsonObject& into) const override {
    into.put("deviceBytes", static_cast<double>(ensemble_->bytes()));
    into.put("delivered", static_cast<double>(answer_.rows));
    into.put("rewardMean", answer_.rewardSum / static_cast<double>(answer_.lived));
  }

 private:
  TimedDevice& device_;
  PolicySpec policy_;
  std::vector<float> starts_;
  std::vector<RandomStream> act_, model_;
  std::unique_ptr<Ensemble> ensemble_;
  RolloutRequest asked_{};
  RolloutAnswer answer_;
};

class StepWork : public Work {
 public:
  StepWork(TimedDevice& device, const Shape& shape, const Request& request)
      : device_(device),
        obs_(columnsOf(request, shape.obs, 3)),
        action_(columnsOf(request, shape.action, 4)),
        nextObs_(obs_.size()),
        reward_(request.integer("rows")),
        disagreement_(request.integer("rows")),
        streams_(streams(1, 5)),
        ensemble_(ensembleFor(device, shape, request)) {
    asked_.rows = request.integer("rows");
    asked_.obs = obs_.data();
    asked_.action = action_.data();
    asked_.streams = streams_.data();
    asked_.hasStreamPerRow = false;
    asked_.options = optionsOf(request);
  }

  Timing run() override {
    float* disagreement = asked_.options.withDisagreement ? disagreement_.data() : nullptr;
    const StepAnswer answer{nextObs_.data(), reward_.data(), nullptr, disagreement};
    return timedCall(device_, [&] { ensemble_->step(asked_, answer); });
  }

  void describe(JsonObject& into) const override { into.put("deviceBytes", static_cast<double>(ensemble_->bytes())); }

 private:
  TimedDevice& device_;
  std::vector<float> obs_, action_, nextObs_, reward_, disagreement_;
  std::vector<RandomStream> streams_;
  std::unique_ptr<Ensemble> ensemble_;
  StepRequest asked_{};
};

}  // namespace

std::unique_ptr<Work> makeWork(TimedDevice& device, const Shape& shape, const Request& request) {
  if (request.text("kind") == "step") return std::make_unique<StepWork>(device, shape, request);
  return std::make_unique<RolloutWork>(device, shape, request);
}

}  // namespace reverie::bench
