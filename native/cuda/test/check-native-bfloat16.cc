// Vector code with factors of bfloat16: the instruction of AVX512_BF16 against the same arithmetic without it, byte by byte, on
// ordinary numbers and on those that show how a processor rounds; whole steps and rollouts against the references in doubles.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "../processor/native-ensemble.h"
#include "check-native.h"
#include "rollout-cases.h"
#include "step-cases.h"

namespace reverie::test {
namespace {

using processor::NativeEnsemble;
using processor::Width;
using processor::widths;

constexpr Precision bf16 = Precision::bf16;

float ofBits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/** What numbers are drawn from: exponents first .. first + span, as they are stored. */
struct Range {
  const char* name;
  std::uint32_t first, span;
  /** Of the biases. */
  std::uint32_t biasFirst, biasSpan;
};

/** One layer of numbers of a range, its outputs by every width. */
void checkRange(Checks& checks, const Range& range, int in, int out, int rows) {
  std::mt19937 random(static_cast<unsigned>(in) * 31 + range.first);
  const auto draw = [&](std::uint32_t first, std::uint32_t span) {
    const std::uint32_t bits = random() & 0x807fffffu, exponent = first + random() % (span + 1);
    // Many without a fraction: ties, and sums that meet the least normal number exactly.
    return ofBits((random() % 3 == 0 ? bits & 0x80000000u : bits) | exponent << 23);
  };
  Layer layer{in, out, std::vector<float>(static_cast<std::size_t>(in) * static_cast<std::size_t>(out)),
              std::vector<float>(static_cast<std::size_t>(out))};
  for (float& value : layer.w) value = draw(range.first, range.span);
  for (float& value : layer.b) value = draw(range.biasFirst, range.biasSpan);
  std::vector<float> x(static_cast<std::size_t>(rows) * static_cast<std::size_t>(in));
  for (float& value : x) value = draw(range.first, range.span);
  std::vector<float> wanted;
  for (std::size_t w = widths().size(); w-- > 0;) {
    const processor::PackedNetwork network({layer}, Activation::relu, *widths()[w], bf16);
    const auto stride = static_cast<std::size_t>(network.stride());
    processor::AlignedFloats first(static_cast<std::size_t>(rows) * stride), second(first.size());
    // What lies beyond the last column is nobody's.
    std::fill_n(first.data(), first.size(), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); r++) {
      std::copy_n(x.data() + r * static_cast<std::size_t>(in), in, first.data() + r * stride);
    }
    const float* outputs = network.run(first.data(), second.data(), rows);
    std::vector<float> got;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); r++) {
      got.insert(got.end(), outputs + r * stride, outputs + r * stride + out);
    }
    if (wanted.empty()) wanted = got;
    bool hasDenormal = false;
    for (const float value : got) hasDenormal = hasDenormal || std::fpclassify(value) == FP_SUBNORMAL;
    const std::string what = std::string(range.name) + ", " + std::to_string(in) + " inputs, " + widths()[w]->name;
    checks.that(std::memcmp(got.data(), wanted.data(), 4 * got.size()) == 0, what + ": the bytes of plain C++");
    checks.that(!hasDenormal, what + ": no denormals");
  }
}

void checkNumbers(Checks& checks) {
  constexpr Range ranges[] = {{"ordinary numbers", 118, 12, 118, 12}, {"all numbers", 0, 255, 0, 255},
                              {"products near the least number", 60, 8, 0, 4}, {"products below it", 48, 12, 1, 1},
                              {"denormal factors", 0, 1, 100, 40},
                              {"overflow", 186, 8, 240, 15}, {"one exponent, for ties", 127, 0, 127, 16}};
  for (const Range& range : ranges) {
    for (const int in : {1, 2, 3, 8, 33}) checkRange(checks, range, in, 77, 29);
    checkRange(checks, range, 200, 200, 48);
  }
}

/** 2^-126 less a quarter of a unit in 24 bits is none of the normal numbers, though it rounds to one in steps of 2^-149. */
void checkLeast(Checks& checks) {
  const Layer layer{2, 1, {0x1p-75f, 0.0f}, {0x1p-126f}};
  for (const Width* width : widths()) {
    const processor::PackedNetwork network({layer}, Activation::relu, *width, bf16);
    processor::AlignedFloats first(static_cast<std::size_t>(network.stride())), second(first.size());
    for (const auto& [factor, wanted] : {std::pair{-0x1p-75f, 0.0f}, std::pair{-0x1p-76f, 0x1p-126f}, std::pair{0.0f, 0x1p-126f}}) {
      first.data()[0] = factor;
      first.data()[1] = 0;
      checks.that(network.run(first.data(), second.data(), 1)[0] == wanted, std::string(width->name) + ": the least normal number");
    }
  }
}

/** Seven rows through a network of each activation: what every machine must come to. */
void checkTrail(Checks& checks) {
  constexpr std::uint32_t everywhere = 0x6da8638u;
  for (const Width* width : widths()) {
    Trail trail;
    trailNetworks(trail, *width, bf16);
    checks.that(trail.hash == everywhere, std::string(width->name) + ": the bytes of every machine, not " + std::to_string(trail.hash));
  }
}

double normOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/** Held to the reference that rounds factors, too; and not far from the one that does not. */
void checkStep(Checks& checks, const StepCase& c) {
  const StepInputs inputs(c);
  NativeEnsemble first(inputs.spec, *widths().front(), 1, bf16), exact(inputs.spec, *widths().front(), 1);
  const Answered wanted = stepNative(first, inputs.spec, inputs.request);
  const std::string what = "native " + describe(c, bf16);
  compareStep(checks, inputs.spec, wanted, reference::step(inputs.spec, inputs.request, bf16), bf16, what);
  checks.that(!isSame(wanted, stepNative(exact, inputs.spec, inputs.request)), what + ": is not fp32");
  const auto unrounded = reference::step(inputs.spec, inputs.request);
  std::vector<double> error, size;
  for (std::size_t i = 0; i < wanted.nextObs.size(); i++) {
    error.push_back(wanted.nextObs[i] - unrounded.nextObs[i]);
    size.push_back(unrounded.nextObs[i]);
  }
  checks.near(normOf(error) / normOf(size), 0, 1.5e-2, what + ": error against doubles");
  for (const Width* width : widths()) {
    NativeEnsemble ensemble(inputs.spec, *width, 2, bf16);
    checks.that(isSame(stepNative(ensemble, inputs.spec, inputs.request), wanted), what + ": the bytes of " + width->name);
  }
}

void checkRollouts(Checks& checks) {
  for (RolloutCase c : rolloutCases()) {
    if (c.precision != bf16) continue;
    c.name = "native " + c.name;
    const RolloutInputs inputs(c);
    NativeEnsemble first(inputs.spec, *widths().front(), 1, bf16);
    RolloutAnswer wanted;
    first.rollout(inputs.request, wanted);
    compareRollout(checks, c, inputs, wanted);
    for (const Width* width : widths()) {
      NativeEnsemble ensemble(inputs.spec, *width, 3, bf16);
      RolloutAnswer got;
      ensemble.rollout(inputs.request, got);
      checks.that(isSameRollout(got, wanted), c.name + ": the bytes of " + width->name);
    }
  }
}

void checkRefused(Checks& checks) {
  const auto open = [] { NativeEnsemble(randomSpec({}, 1), *widths().front(), 1, Precision::tf32); };
  checks.throws<std::invalid_argument>(open, "bf16");
}

}  // namespace
}  // namespace reverie::test

int checkNativeBfloat16() {
  using namespace reverie::test;
  Checks checks("native bfloat16");
  checkNumbers(checks);
  checkLeast(checks);
  checkTrail(checks);
  for (const StepCase& c : stepCases()) {
    if (c.rows > 0) checkStep(checks, c);
  }
  checkStep(checks, {{17, 6, 0, true, false, 5, {200, 200, 200, 200}}, 200, {true, false, false}});
  checkRollouts(checks);
  checkRefused(checks);
  return checks.finish();
}
