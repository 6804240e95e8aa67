// The kernels' random words and functions against doubles.
#include <algorithm>
#include <cmath>

#include "../kernels/act.cuh"
#include "../kernels/known.cuh"
#include "check.h"
#include "ensemble-models.h"
#include "known-reference.h"
#include "parts.h"
#include "random-reference.h"

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

/** Rows of every environment with known functions, about their limits. */
void checkKnown(Checks& checks) {
  for (const KnownEntry& entry : knownFunctions) {
    double worst = 0;
    int wrong = 0;
    for (std::uint32_t seed = 1; seed <= 300; seed++) {
      const auto row = [&](int columns, std::uint32_t of) { return numbers(static_cast<std::size_t>(columns), 3 * seed + of); };
      const std::vector<float> obs = row(entry.obsDim, 0), action = row(entry.actionDim, 1);
      std::vector<float> next = row(entry.obsDim, 2);
      for (float& value : next) value *= static_cast<float>(seed % 4) * 0.5f;
      const auto wide = [](const std::vector<float>& values) { return reference::Values(values.begin(), values.end()); };
      if (entry.isReward) {
        const double wanted = reference::knownReward(entry.function, wide(obs), wide(action), wide(next));
        worst = std::max(worst, std::fabs(knownReward<Exact>(entry.function, obs.data(), action.data(), next.data()) - wanted));
      } else {
        wrong += knownEnd(entry.function, next.data()) != reference::knownEnd(entry.function, wide(next));
      }
    }
    checks.near(worst, 0, 1e-5, std::string("reward of ") + entry.environment);
    checks.that(wrong == 0, std::string("ends of ") + entry.environment);
  }
}

}  // namespace

int checkNumbers() {
  Checks checks("numbers");
  checkWords(checks);
  checkDraws(checks);
  checkFunctions(checks);
  checkKnown(checks);
  return checks.finish();
}

}  // namespace reverie::test
