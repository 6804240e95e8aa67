// Random ensembles, policies and batches for the tests.
#include "ensemble-models.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "random-reference.h"

namespace reverie::test {
namespace {

class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : stream_{seed, 0x51ed, 0} {}
  float next() { return static_cast<float>(reference::normalOf(reference::wordOf(stream_, drawn_++))); }

 private:
  RandomStream stream_;
  std::uint64_t drawn_ = 0;
};

std::vector<float> around(std::size_t count, float centre, float spread, Numbers& numbers) {
  std::vector<float> out(count);
  for (float& value : out) value = centre + spread * numbers.next();
  return out;
}

std::vector<Layer> randomLayers(int in, std::vector<int> sizes, Numbers& numbers) {
  std::vector<Layer> layers;
  for (const int out : sizes) {
    const auto inputs = static_cast<std::size_t>(in), outputs = static_cast<std::size_t>(out);
    Layer layer{in, out, around(inputs * outputs, 0, 1.4f / std::sqrt(static_cast<float>(in)), numbers),
                around(outputs, 0, 0.2f, numbers)};
    layers.push_back(std::move(layer));
    in = out;
  }
  return layers;
}

std::vector<int> with(std::vector<int> sizes, int last) {
  sizes.push_back(last);
  return sizes;
}

bool equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * 4) == 0);
}

}  // namespace

EnsembleSpec randomSpec(const ModelShape& shape, std::uint32_t seed) {
  Numbers numbers(seed);
  EnsembleSpec spec;
  spec.obsDim = shape.obsDim;
  spec.actionDim = shape.actionChoices > 0 ? 1 : shape.actionDim;
  spec.actionChoices = shape.actionChoices;
  spec.actionStart = shape.actionChoices > 0 ? -1 : 0;
  spec.learnsReward = shape.learnsReward;
  spec.learnsTermination = shape.learnsTermination;
  const auto inputs = static_cast<std::size_t>(spec.inputDim()), outputs = static_cast<std::size_t>(spec.outputDim());
  for (int e = 0; e < shape.elites; e++) {
    Member member;
    member.layers =
        randomLayers(spec.inputDim(), with(shape.hidden, 2 * spec.outputDim() + (shape.learnsTermination ? 1 : 0)), numbers);
    member.logVarMin = around(outputs, -6, 0.5f, numbers);
    member.logVarMax = around(outputs, -0.5f, 0.2f, numbers);
    spec.elites.push_back(std::move(member));
  }
  spec.inputMean = around(inputs, 0, 0.5f, numbers);
  spec.inputScale = around(inputs, 1.2f, 0.1f, numbers);
  spec.targetMean = around(outputs, 0, 0.05f, numbers);
  spec.targetScale = around(outputs, 0.3f, 0.02f, numbers);
  spec.low.assign(static_cast<std::size_t>(shape.obsDim), -std::numeric_limits<float>::infinity());
  spec.high.assign(static_cast<std::size_t>(shape.obsDim), std::numeric_limits<float>::infinity());
  spec.low[0] = -1;
  spec.high[0] = 1;
  return spec;
}

PolicySpec randomPolicy(const ModelShape& shape, PolicyHead head, Activation activation, const std::vector<int>& hidden,
                        std::uint32_t seed) {
  Numbers numbers(seed);
  PolicySpec policy;
  policy.head = head;
  policy.activation = activation;
  policy.choices = shape.actionChoices;
  policy.start = shape.actionChoices > 0 ? -1 : 0;
  const auto columns = static_cast<std::size_t>(shape.actionDim);
  const int outputs = head == PolicyHead::categorical ? shape.actionChoices
                      : head == PolicyHead::squashed  ? 2 * shape.actionDim
                                                      : shape.actionDim;
  policy.layers = randomLayers(shape.obsDim, with(hidden, outputs), numbers);
  if (head == PolicyHead::categorical) return policy;
  policy.logStd = around(head == PolicyHead::gaussian ? columns : 0, -0.7f, 0.2f, numbers);
  policy.scale = around(columns, 1.5f, 0.1f, numbers);
  policy.bias = around(columns, 0.1f, 0.1f, numbers);
  for (std::size_t i = 0; i < columns; i++) {
    policy.low.push_back(policy.bias[i] - policy.scale[i]);
    policy.high.push_back(policy.bias[i] + policy.scale[i]);
  }
  return policy;
}

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  Numbers source(seed);
  return around(count, 0, 1, source);
}

Batch randomBatch(const ModelShape& shape, std::int64_t rows, std::uint32_t seed) {
  const auto count = static_cast<std::size_t>(rows);
  Batch batch{numbers(count * static_cast<std::size_t>(shape.obsDim), seed), {}};
  if (shape.actionChoices == 0) {
    batch.action = numbers(count * static_cast<std::size_t>(shape.actionDim), seed + 1);
    return batch;
  }
  for (std::size_t i = 0; i < count; i++) {
    const auto choices = static_cast<std::uint32_t>(shape.actionChoices);
    batch.action.push_back(static_cast<float>(reference::wordOf({seed, 2, 0}, i) % choices) - 1.0f);
  }
  return batch;
}

Answered stepOf(Ensemble& ensemble, const EnsembleSpec& spec, const StepRequest& request) {
  const auto rows = static_cast<std::size_t>(request.rows);
  Answered answered;
  answered.nextObs.resize(rows * static_cast<std::size_t>(spec.obsDim));
  answered.reward.resize(spec.learnsReward ? rows : 0);
  answered.terminated.resize(spec.learnsTermination ? rows : 0);
  answered.disagreement.resize(request.options.withDisagreement ? rows : 0);
  ensemble.step(request,
                {answered.nextObs.data(), answered.reward.data(), answered.terminated.data(), answered.disagreement.data()});
  return answered;
}

Answered stepOn(Device& device, const EnsembleSpec& spec, Precision precision, const StepRequest& request,
                std::optional<TileHeight> height) {
  DeviceEnsemble ensemble(device, spec, precision, height);
  return stepOf(ensemble, spec, request);
}

bool isSame(const Answered& a, const Answered& b) {
  return equal(a.nextObs, b.nextObs) && equal(a.reward, b.reward) && equal(a.disagreement, b.disagreement) &&
         a.terminated == b.terminated;
}

}  // namespace reverie::test
