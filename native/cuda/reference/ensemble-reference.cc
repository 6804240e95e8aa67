// Steps of the ensemble, in doubles.
#include "ensemble-reference.h"

#include <algorithm>
#include <cmath>

#include "random-reference.h"

namespace reverie::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double activate(double x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::tanh:
      return std::tanh(x);
    default:
      return x * sigmoid(x);
  }
}

/** What is left of a number in a format of fewer bits, nearest; all of it for fp32. */
double roundTo(double x, Precision rounding) {
  if (rounding == Precision::fp32 || x == 0 || !std::isfinite(x)) return x;
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  constexpr int bits = 11;
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

struct MemberAnswer {
  std::vector<double> mean, variance;
  double end = 0;
};

/** One elite's answer for a normalised input, in normalised units. Bounds: PETS, 1805.12114, appendix A.1. */
MemberAnswer ask(const EnsembleSpec& spec, const Member& member, const std::vector<double>& input, Precision rounding) {
  const std::vector<double> y = forward(member.layers, Activation::swish, input, rounding);
  const auto outputs = static_cast<std::size_t>(spec.outputDim());
  MemberAnswer answer;
  for (std::size_t j = 0; j < outputs; j++) {
    const double most = member.logVarMax[j], least = member.logVarMin[j];
    const double below = most - softplus(most - y[outputs + j]);
    answer.mean.push_back(y[j]);
    answer.variance.push_back(std::exp(least + softplus(below - least)));
  }
  if (spec.learnsTermination) answer.end = sigmoid(y[2 * outputs]);
  return answer;
}

std::vector<double> inputOf(const EnsembleSpec& spec, const float* obs, const float* action) {
  std::vector<double> x(obs, obs + spec.obsDim);
  if (spec.actionChoices == 0) x.insert(x.end(), action, action + spec.actionDim);
  for (int i = 0; i < spec.actionChoices; i++) x.push_back(action[0] == static_cast<float>(spec.actionStart + i) ? 1 : 0);
  for (std::size_t i = 0; i < x.size(); i++) x[i] = (x[i] - spec.inputMean[i]) / spec.inputScale[i];
  return x;
}

MemberAnswer meanOf(const std::vector<MemberAnswer>& answers) {
  MemberAnswer mean = answers.front();
  const auto count = static_cast<double>(answers.size());
  for (std::size_t j = 0; j < mean.mean.size(); j++) {
    mean.mean[j] = mean.variance[j] = 0;
    for (const MemberAnswer& answer : answers) {
      mean.mean[j] += answer.mean[j] / count;
      mean.variance[j] += answer.variance[j] / count;
    }
  }
  mean.end = 0;
  for (const MemberAnswer& answer : answers) mean.end += answer.end / count;
  return mean;
}

double disagreementOf(const std::vector<MemberAnswer>& answers, int obsDim) {
  const MemberAnswer centre = meanOf(answers);
  double most = 0;
  for (const MemberAnswer& answer : answers) {
    double squares = 0;
    for (int j = 0; j < obsDim; j++)
      squares += std::pow(answer.mean[static_cast<std::size_t>(j)] - centre.mean[static_cast<std::size_t>(j)], 2);
    const double root = std::sqrt(squares / obsDim);
    if (root > most || std::isnan(root)) most = root;
  }
  return most;
}

/** Words of row `row` (src/worldmodel/ensemble/step-noise.ts). */
struct RowWords {
  RandomStream stream;
  std::uint64_t elite, normals, end;
};

RowWords wordsOf(const EnsembleSpec& spec, const StepRequest& request, std::uint64_t row) {
  const bool isAlone = request.hasStreamPerRow;
  const auto rows = isAlone ? 1 : static_cast<std::uint64_t>(request.rows);
  const std::uint64_t rank = isAlone ? 0 : row, outputs = static_cast<std::uint64_t>(spec.outputDim());
  const std::uint64_t elites = request.options.isTs1 ? rows : 0;
  return {isAlone ? request.streams[row] : request.streams[0], rank, elites + rank * outputs, elites + rows * outputs + rank};
}

void stepRow(const EnsembleSpec& spec, const StepRequest& request, std::size_t row, Precision rounding, StepResult& result) {
  const auto obsDim = static_cast<std::size_t>(spec.obsDim), outputs = static_cast<std::size_t>(spec.outputDim());
  const float* obs = request.obs + row * obsDim;
  const RowWords words = wordsOf(spec, request, row);
  const auto input = inputOf(spec, obs, request.action + row * static_cast<std::size_t>(spec.actionDim));
  int elite = -1;
  if (request.options.isTs1)
    elite = static_cast<int>(wordOf(words.stream, words.elite) / 4294967296.0 * static_cast<double>(spec.elites.size()));
  std::vector<MemberAnswer> answers;
  const bool asksAll = elite < 0 || request.options.withDisagreement;
  for (std::size_t e = 0; e < spec.elites.size(); e++) {
    if (asksAll || static_cast<int>(e) == elite) answers.push_back(ask(spec, spec.elites[e], input, rounding));
  }
  const MemberAnswer chosen = elite < 0 ? meanOf(answers) : answers[asksAll ? static_cast<std::size_t>(elite) : 0];
  result.elite.push_back(elite);
  for (std::size_t j = 0; j < outputs; j++) {
    const double noise = request.options.isDeterministic ? 0 : normalOf(wordOf(words.stream, words.normals + j));
    const double change = (chosen.mean[j] + std::sqrt(chosen.variance[j]) * noise) * spec.targetScale[j] + spec.targetMean[j];
    result.noise.push_back(noise);
    if (j >= obsDim) {
      result.reward.push_back(change);
      continue;
    }
    const double next = obs[j] + change;
    result.nextObs.push_back(std::isfinite(next) ? std::min<double>(std::max<double>(next, spec.low[j]), spec.high[j]) : next);
  }
  if (spec.learnsTermination) {
    const double chance = request.options.isDeterministic ? 0.5 : uniformOf(wordOf(words.stream, words.end));
    result.terminated.push_back(chance < chosen.end ? 1 : 0);
    result.endMargin.push_back(std::fabs(chance - chosen.end));
  }
  if (request.options.withDisagreement) result.disagreement.push_back(disagreementOf(answers, spec.obsDim));
}

}  // namespace

std::vector<double> forward(const std::vector<Layer>& layers, Activation activation, std::vector<double> x,
                            Precision rounding) {
  for (std::size_t i = 0; i < layers.size(); i++) {
    const Layer& layer = layers[i];
    std::vector<double> y(layer.b.begin(), layer.b.end());
    for (std::size_t in = 0; in < x.size(); in++) {
      const double value = roundTo(x[in], rounding);
      for (std::size_t out = 0; out < y.size(); out++) y[out] += value * roundTo(layer.w[in * y.size() + out], rounding);
    }
    if (i + 1 < layers.size()) {
      for (double& value : y) value = activate(value, activation);
    }
    x = std::move(y);
  }
  return x;
}

StepResult step(const EnsembleSpec& spec, const StepRequest& request, Precision rounding, std::int64_t stride) {
  StepResult result;
  for (std::int64_t row = 0; row < request.rows; row += stride) stepRow(spec, request, static_cast<std::size_t>(row), rounding, result);
  return result;
}

}  // namespace reverie::reference
