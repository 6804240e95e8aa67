// Vector code on the processor: numbers against the C library's, and the same bytes from every width, with any number of threads, and
// for a row alone as in any batch.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "random-reference.h"
#include "cases.h"
#include "parts.h"

namespace reverie::test {
namespace {

using processor::NativeEnsemble;
using processor::Width;
using processor::widths;

/** Numbers that every machine makes alike, and the hash of what became of them (FNV-1a over words). */
class Trail {
 public:
  float next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 8)) * 0x1p-23f - 1.0f;
  }

  std::vector<float> numbers(std::size_t count, float scale) {
    std::vector<float> out(count);
    for (float& value : out) value = scale * next();
    return out;
  }

  void follow(const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; i++) {
      std::uint32_t bits;
      std::memcpy(&bits, values + i, 4);
      hash = (hash ^ bits) * 16777619u;
    }
  }

  std::uint32_t hash = 2166136261u;

 private:
  std::uint32_t state_ = 7;
};

/** Seven rows through a network of each activation. */
void trailNetworks(Trail& trail, const Width& width) {
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::swish}) {
    const std::vector<Layer> layers = {{23, 53, trail.numbers(23 * 53, 0.4f), trail.numbers(53, 1)},
                                       {53, 37, trail.numbers(53 * 37, 0.3f), trail.numbers(37, 1)}};
    const processor::PackedNetwork network(layers, activation, width);
    const auto stride = static_cast<std::size_t>(network.stride());
    processor::AlignedFloats first(7 * stride), second(7 * stride);
    for (std::size_t row = 0; row < 7; row++) {
      for (std::size_t j = 0; j < 23; j++) first.data()[row * stride + j] = 2 * trail.next();
    }
    const float* outputs = network.run(first.data(), second.data(), 7);
    for (std::size_t row = 0; row < 7; row++) trail.follow(outputs + row * stride, 37);
  }
}

/** The case's answer by every width, and each with some threads. */
void checkStep(Checks& checks, const StepCase& c) {
  const StepInputs inputs(c);
  const EnsembleSpec& spec = inputs.spec;
  const StepRequest& request = inputs.request;
  const std::string what = describe(c, Precision::fp32);
  NativeEnsemble first(spec, *widths().front(), 1);
  const Answered wanted = stepOf(first, spec, request);
  for (const Width* width : widths()) {
    for (const int threads : {1, 2, 4}) {
      NativeEnsemble ensemble(spec, *width, threads);
      checks.that(isSame(stepOf(ensemble, spec, request), wanted),
                  what + ": the bytes of " + width->name + " with " + std::to_string(threads) + " threads");
    }
  }
}

void checkSteps(Checks& checks) {
  constexpr StepOptions ts1{true, false, false}, doubt{true, false, true};
  for (const StepCase& c : stepCases()) checkStep(checks, c);
  checkStep(checks, {{111, 8, 0, true, true, 2, {300, 128}}, 60, doubt});
  checkStep(checks, {{17, 6, 0, true, false, 5, {200, 200, 200, 200}}, 500, ts1});
}

/** A weight that is no number, of a log-variance and of the end. */
void checkSpoilt(Checks& checks, const Width& width) {
  const StepInputs inputs({{5, 2, 0, true, true, 3, {24, 24}}, 70, {}});
  EnsembleSpec spoilt = inputs.spec;
  for (Member& member : spoilt.elites) {
    for (const std::size_t place : {6, 12}) member.layers.back().b[place] = std::numeric_limits<float>::quiet_NaN();
  }
  NativeEnsemble unsure(spoilt, width, 1);
  const Answered doubtful = stepOf(unsure, spoilt, inputs.request);
  checks.that(std::isnan(doubtful.nextObs[0]) && !std::isnan(doubtful.nextObs[1]) && doubtful.terminated[0] == 0,
              std::string(width.name) + ": a variance that is no number is seen, and an end that is none is no end");
}

void checkRows(Checks& checks) {
  for (const Width* width : widths()) {
    checkRowsApart(checks, width->name, [&](const EnsembleSpec& spec) { return std::make_unique<NativeEnsemble>(spec, *width, 2); });
    checkSpoilt(checks, *width);
  }
}

void checkRollouts(Checks& checks) {
  for (RolloutCase c : rolloutCases()) {
    c.precision = Precision::fp32;
    c.name = "native " + c.name;
    const RolloutInputs inputs(c);
    NativeEnsemble first(inputs.spec, *widths().front(), 1);
    RolloutAnswer wanted;
    first.rollout(inputs.request, wanted);
    for (const Width* width : widths()) {
      NativeEnsemble ensemble(inputs.spec, *width, 3);
      RolloutAnswer got;
      ensemble.rollout(inputs.request, got);
      checks.that(isSame(got, wanted) && got.rewardSum == wanted.rewardSum, c.name + ": the bytes of " + width->name);
    }
  }
}

/** Functions of numbers against the C library's in doubles, over their ranges. */
void checkNumbers(Checks& checks) {
  for (const Width* width : widths()) {
    float values[64] = {}, results[64] = {};
    std::uint32_t words[64] = {};
    double exponent = 0, logarithm = 0, sigmoid = 0, normal = 0;
    for (int i = 0; i < 20000; i++) {
      const double x = -86.0 + 174.0 * i / 20000;
      const auto of = [&](void (*function)(float*, int), float at) {
        values[0] = at;
        function(values, 1);
        return static_cast<double>(values[0]);
      };
      const auto at = static_cast<float>(x);
      exponent = std::fmax(exponent, std::fabs(of(width->exponential, at) / std::exp(static_cast<double>(at)) - 1));
      sigmoid = std::fmax(sigmoid, std::fabs(of(width->sigmoid, at) * (1 + std::exp(-static_cast<double>(at))) - 1));
      const float positive = std::exp(0.9f * at);
      logarithm = std::fmax(logarithm, std::fabs(of(width->logarithm, positive) - std::log(static_cast<double>(positive))) /
                                           std::fmax(1, std::fabs(0.9 * x)));
      words[0] = i < 10 ? static_cast<std::uint32_t>(i) : i < 20 ? ~static_cast<std::uint32_t>(i) : 0x346dc5d6u * static_cast<unsigned>(i);
      width->normals(words, 1, results);
      normal = std::fmax(normal, std::fabs(results[0] - reference::normalOf(words[0])));
    }
    checks.near(exponent, 0, 3e-7, std::string(width->name) + ": exponential");
    checks.near(sigmoid, 0, 4e-7, std::string(width->name) + ": sigmoid");
    checks.near(logarithm, 0, 2e-7, std::string(width->name) + ": logarithm");
    checks.near(normal, 0, 3e-6, std::string(width->name) + ": normals");
  }
}

/** Seven rows through a network of each activation, normals, samples, a policy's head and the functions of numbers. */
std::uint32_t trailOf(const Width& width) {
  Trail trail;
  trailNetworks(trail, width);
  std::uint32_t keys[64], low[64], high[64], words[256];
  for (std::uint32_t i = 0; i < 64; i++) keys[i] = 77 * i, low[i] = i - 4, high[i] = i;
  width.words({keys, keys, low, high}, 50, words);
  std::vector<float> normals(256), out(64), density(64);
  width.normals(words, 200, normals.data());
  trail.follow(normals.data(), 200);
  std::vector<std::vector<float>> scales;
  for (int i = 0; i < 5; i++) scales.push_back(trail.numbers(96, 0.5f));
  for (std::vector<float>* bound : {&scales[0], &scales[1]}) width.exponential(bound->data(), 96);
  const auto answers = trail.numbers(256, 3);
  const processor::OutputScales of{scales[0].data(), scales[1].data(), scales[2].data(), 32, scales[3].data(), scales[4].data(), 18};
  for (const int elite : {1, -1}) {
    width.change(of, {answers.data(), 128, elite, 2, normals.data()}, out.data());
    trail.follow(out.data(), 18);
  }
  for (const bool isSquashed : {false, true}) {
    width.gaussian({answers.data(), answers.data() + 7, normals.data(), 6, isSquashed, out.data(), density.data()});
    trail.follow(out.data(), 6);
    trail.follow(density.data(), 6);
  }
  for (const auto function : {width.sigmoid, width.exponential, width.logarithm}) {
    std::vector<float> values(4000);
    for (std::size_t i = 0; i < values.size(); i++) values[i] = 0.0625f * static_cast<float>(i) - 125.0f;
    if (function == width.logarithm) width.exponential(values.data(), 4000);
    function(values.data(), 4000);
    trail.follow(values.data(), values.size());
  }
  return trail.hash;
}

/** What every machine must come to, whatever its processor and compiler. */
void checkTrail(Checks& checks) {
  constexpr std::uint32_t everywhere = 0xc42211f1u;
  for (const Width* width : widths()) {
    const std::uint32_t hash = trailOf(*width);
    checks.that(hash == everywhere, std::string(width->name) + ": the bytes of every machine, not " + std::to_string(hash));
  }
}

void checkRefused(Checks& checks) {
  EnsembleSpec spec = randomSpec({}, 1);
  checks.throws<std::invalid_argument>([] { processor::widthNamed("mmx"); }, "this processor has");
  spec.inputMean.pop_back();
  checks.throws<std::invalid_argument>([&] { NativeEnsemble(spec, *widths().front(), 1); }, "normaliser");
}

}  // namespace

int checkNative() {
  Checks checks("native");
  checkNumbers(checks);
  checkSteps(checks);
  checkRows(checks);
  checkRollouts(checks);
  checkTrail(checks);
  checkRefused(checks);
  return checks.finish();
}

}  // namespace reverie::test
