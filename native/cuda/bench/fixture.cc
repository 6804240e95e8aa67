// Random data to check and to time with. Zeros, or weights that are all alike, would hide mistakes and run faster.
#include "fixture.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace reverie::bench {
namespace {

/** SplitMix64: standard library distributions differ from one library to the next. */
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return (static_cast<double>(word() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  std::uint64_t state_;
};

/** 1 / the mean square of swish (of relu, nearly) of a standard normal: activations then keep their size from layer to layer. */
constexpr double gain = 2.8;

Layer randomLayer(int in, int out, double variance, Numbers& numbers) {
  Layer layer{in, out, std::vector<float>(static_cast<std::size_t>(in) * out), std::vector<float>(out)};
  for (auto& w : layer.w) w = static_cast<float>(numbers.normal() * std::sqrt(variance / in));
  for (auto& b : layer.b) b = static_cast<float>(0.1 * numbers.normal());
  return layer;
}

std::vector<Layer> randomNetwork(int in, int hidden, int layers, int out, Numbers& numbers) {
  std::vector<Layer> network;
  for (int i = 0; i <= layers; i++) {
    network.push_back(randomLayer(i == 0 ? in : hidden, i == layers ? out : hidden, i == 0 ? 1 : gain, numbers));
  }
  return network;
}

std::vector<float> around(std::size_t count, double centre, double spread, Numbers& numbers) {
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(centre + spread * numbers.normal());
  return values;
}

}  // namespace

EnsembleSpec randomEnsemble(const Shape& shape, int elites, std::uint64_t seed) {
  Numbers numbers(seed);
  EnsembleSpec spec;
  spec.obsDim = shape.obs;
  spec.actionDim = shape.actionColumns();
  spec.actionChoices = shape.choices;
  spec.learnsReward = true;
  spec.learnsTermination = shape.learnsEnds;
  const int in = spec.inputDim(), out = shape.obs + 1, outputs = 2 * out + (shape.learnsEnds ? 1 : 0);
  for (int e = 0; e < elites; e++) {
    Member member;
    member.layers = randomNetwork(in, shape.hidden, shape.layers, outputs, numbers);
    member.logVarMin = around(out, -9, 0.1, numbers);
    member.logVarMax = around(out, 0.5, 0.1, numbers);
    spec.elites.push_back(std::move(member));
  }
  spec.inputMean = around(in, 0, 0.1, numbers);
  spec.inputScale = around(in, 1, 0.05, numbers);
  spec.targetMean = around(out, 0, 0.01, numbers);
  spec.targetScale = around(out, 0.1, 0.005, numbers);
  spec.low.assign(shape.obs, -std::numeric_limits<float>::infinity());
  spec.high.assign(shape.obs, std::numeric_limits<float>::infinity());
  return spec;
}

PolicySpec randomPolicy(const Shape& shape, int layers, std::uint64_t seed, PolicyHead head) {
  Numbers numbers(seed);
  PolicySpec policy;
  policy.head = shape.choices > 0 ? PolicyHead::categorical : head;
  policy.activation = Activation::relu;
  policy.choices = shape.choices;
  const int outputs = policy.head == PolicyHead::squashed ? 2 * shape.action : shape.actionInputs();
  policy.layers = randomNetwork(shape.obs, shape.policyHidden, layers, outputs, numbers);
  if (policy.head == PolicyHead::gaussian) policy.logStd = around(shape.action, -0.5, 0.1, numbers);
  if (shape.choices > 0) return policy;
  policy.scale.assign(shape.action, 1);
  policy.bias.assign(shape.action, 0);
  policy.low.assign(shape.action, -1);
  policy.high.assign(shape.action, 1);
  return policy;
}

std::vector<float> randomNormals(std::size_t count, std::uint64_t seed) {
  Numbers numbers(seed);
  return around(count, 0, 1, numbers);
}

std::vector<float> randomUniforms(std::size_t count, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(2 * numbers.uniform() - 1);
  return values;
}

std::vector<RandomStream> randomStreams(std::size_t count, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<RandomStream> streams(count);
  for (auto& stream : streams) {
    const std::uint64_t key = numbers.word();
    stream = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), 0};
  }
  return streams;
}

Precision precisionOf(const std::string& name) {
  if (const auto precision = precisionNamed(name)) return *precision;
  throw std::invalid_argument("no such precision: " + name);
}

}  // namespace reverie::bench
