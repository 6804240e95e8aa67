// The kernels' random words and functions against doubles.
#include <algorithm>
#include <cmath>

#include "../kernels/act.cuh"
#include "../reference/random-reference.h"
#include "check.h"
#include "parts.h"

namespace reverie::test {
namespace {

void checkWords(Checks& checks) {
  // Known answers of Random123 for Philox4x32-10: counter and key zero.
  const Words zero = philox(0, 0, 0);
  checks.that(zero.at[0] == 0x6627e8d5u && zero.at[1] == 0xe169c58du && zero.at[2] == 0xbc57ac4cu && zero.at[3] == 0x9b00dbd8u,
              "philox of zeros");
  bool isSame = true;
  const RandomStream stream{123, 456, (std::uint64_t{1} << 34) - 5};
  for (std::uint64_t i = 0; i < 64; i++) isSame = isSame && wordAt(stream, i) == reference::wordOf(stream, i);
  checks.that(isSame, "words at positions beyond 32 bits");
}

void checkDraws(Checks& checks) {
  double worst = 0;
  bool isUniform = true, isElite = true;
  for (std::uint32_t i = 0; i < 200000; i++) {
    const std::uint32_t edges[] = {0, 1, 2, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu, 0x13333333u, 0xeccccccdu};
    const std::uint32_t word = i < 9 ? edges[i] : reference::wordOf({9, 9, 0}, i);
    const double exact = reference::normalOf(word);
    worst = std::max(worst, std::fabs(normalOf(word) - exact) / std::max(1.0, std::fabs(exact)));
    isUniform = isUniform && uniformOf(word) == static_cast<float>(reference::uniformOf(word));
    for (std::uint32_t n = 1; n <= 7; n++)
      isElite = isElite && integerOf(word, n) == static_cast<std::uint32_t>(word / 4294967296.0 * n);
  }
  checks.near(worst, 0, 1e-6, "normals");
  checks.that(isUniform, "uniforms are those of a Float32Array");
  checks.that(isElite, "elites are exact");
}

void checkFunctions(Checks& checks) {
  double exact = 0, fast = 0, plus = 0;
  for (double x = -30; x <= 30; x += 0.01) {
    const float at = static_cast<float>(x);
    const double swish = at / (1 + std::exp(-static_cast<double>(at)));
    exact = std::max(exact, std::fabs(Exact::swish(at) - swish));
    fast = std::max(fast, std::fabs(Fast::swish(at) - swish));
    plus = std::max(plus, std::fabs(softplus<Exact>(at) - std::log1p(std::exp(static_cast<double>(at)))));
  }
  checks.near(exact, 0, 4e-6, "swish");
  checks.near(fast, 0, 1e-5, "fast swish");
  checks.near(plus, 0, 4e-6, "softplus");
  checks.that(clamp(NAN, -1, 1) != clamp(NAN, -1, 1), "NaN is not brought within bounds");
}

}  // namespace

int checkNumbers() {
  Checks checks("numbers");
  checkWords(checks);
  checkDraws(checks);
  checkFunctions(checks);
  return checks.finish();
}

}  // namespace reverie::test
