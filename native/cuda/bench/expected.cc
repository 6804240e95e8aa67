// Philox, normals, networks and samples in doubles.
#include "expected.h"

#include <algorithm>
#include <cmath>

#include "../reference/random-reference.h"

namespace reverie::bench {
namespace {

using Row = std::vector<double>;

double normalOf(std::uint32_t word) { return reference::normalQuantile(reference::uniformOf(word)); }

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double activated(Activation activation, double x) {
  if (activation == Activation::relu) return std::max(x, 0.0);
  return activation == Activation::tanh ? std::tanh(x) : x / (1 + std::exp(-x));
}

Row network(const std::vector<Layer>& layers, Activation activation, Row x) {
  for (std::size_t i = 0; i < layers.size(); i++) {
    const Layer& layer = layers[i];
    Row y(layer.b.begin(), layer.b.end());
    for (int in = 0; in < layer.in; in++) {
      const float* w = layer.w.data() + static_cast<std::size_t>(in) * layer.out;
      for (int out = 0; out < layer.out; out++) y[out] += x[in] * w[out];
    }
    if (i + 1 < layers.size()) {
      for (double& value : y) value = activated(activation, value);
    }
    x = std::move(y);
  }
  return x;
}

/** Mean and variance of a member's change, raw units: [targets] twice. */
struct Gaussian {
  Row mean, variance;
};

Gaussian memberAnswer(const EnsembleSpec& spec, const Member& member, const Row& input) {
  const int targets = spec.outputDim();
  const Row out = network(member.layers, Activation::swish, input);
  Gaussian answer{Row(targets), Row(targets)};
  for (int j = 0; j < targets; j++) {
    const double high = member.logVarMax[j], low = member.logVarMin[j], scale = spec.targetScale[j];
    const double below = high - softplus(high - out[targets + j]);
    answer.mean[j] = out[j] * scale + spec.targetMean[j];
    answer.variance[j] = std::exp(low + softplus(below - low)) * scale * scale;
  }
  return answer;
}

/** Means of the members' means and variances. */
Gaussian middleOf(const std::vector<Gaussian>& answers) {
  Gaussian middle{Row(answers[0].mean.size()), Row(answers[0].mean.size())};
  for (const Gaussian& answer : answers) {
    for (std::size_t j = 0; j < middle.mean.size(); j++) {
      middle.mean[j] += answer.mean[j] / static_cast<double>(answers.size());
      middle.variance[j] += answer.variance[j] / static_cast<double>(answers.size());
    }
  }
  return middle;
}

/** Largest root-mean-square deviation of a member from the middle over the observation's elements, in target scales. */
double doubtOf(const EnsembleSpec& spec, const std::vector<Gaussian>& answers, const Gaussian& middle) {
  double doubt = 0;
  for (const Gaussian& answer : answers) {
    double squares = 0;
    for (int j = 0; j < spec.obsDim; j++) squares += std::pow((answer.mean[j] - middle.mean[j]) / spec.targetScale[j], 2);
    doubt = std::max(doubt, std::sqrt(squares / spec.obsDim));
  }
  return doubt;
}

}  // namespace

ExpectedStep expectedStep(const EnsembleSpec& spec, const StepOptions& options, const RandomStream& stream,
                          const RowPlace& place, const float* obs, const float* action) {
  Row input;
  for (int i = 0; i < spec.inputDim(); i++) {
    const double raw = i < spec.obsDim ? obs[i] : action[i - spec.obsDim];
    input.push_back((raw - spec.inputMean[i]) / spec.inputScale[i]);
  }
  std::vector<Gaussian> answers;
  for (const Member& member : spec.elites) answers.push_back(memberAnswer(spec, member, input));
  const Gaussian middle = middleOf(answers);
  const auto elite = static_cast<std::size_t>(reference::wordOf(stream, place.rank) / 4294967296.0 * answers.size());
  const Gaussian& chosen = options.isTs1 ? answers[elite] : middle;
  const std::uint64_t first = (options.isTs1 ? place.batchRows : 0) + place.rank * spec.outputDim();
  ExpectedStep step;
  for (int j = 0; j < spec.outputDim(); j++) {
    const double noise = options.isDeterministic ? 0 : normalOf(reference::wordOf(stream, first + j));
    const double change = chosen.mean[j] + std::sqrt(chosen.variance[j]) * noise;
    if (j < spec.obsDim) {
      step.nextObs.push_back(std::clamp(obs[j] + change, double{spec.low[j]}, double{spec.high[j]}));
    } else {
      step.reward = change;
    }
  }
  step.disagreement = doubtOf(spec, answers, middle);
  return step;
}

ExpectedAction expectedAction(const PolicySpec& policy, const RandomStream& stream, std::int64_t rank, const float* obs) {
  const int dim = static_cast<int>(policy.scale.size());
  const Row out = network(policy.layers, policy.activation, Row(obs, obs + policy.layers[0].in));
  ExpectedAction expected;
  for (int j = 0; j < dim; j++) {
    const double logStd = std::clamp(out[dim + j], -10.0, 2.0), noise = normalOf(reference::wordOf(stream, rank * dim + j));
    const double before = out[j] + std::exp(logStd) * noise, scaled = std::tanh(before) * policy.scale[j];
    expected.action.push_back(std::clamp(scaled + policy.bias[j], double{policy.low[j]}, double{policy.high[j]}));
    expected.logProb += -0.5 * noise * noise - logStd - 0.5 * std::log(2 * M_PI) - std::log(policy.scale[j]);
    expected.logProb += 2 * (before + softplus(-2 * before) - std::log(2.0));
  }
  return expected;
}

}  // namespace reverie::bench
