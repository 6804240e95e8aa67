// The numbers of src/rng.ts, each a pure function of key and position: Philox4x32-10 (Salmon et al., SC 2011) and normals by
// inverse transform (PPND7; Wichura 1988, AS 241), the latter in float: within 1e-6 of the doubles of the CPU.
#pragma once

#include "lane.cuh"
#include "random-stream.h"

namespace reverie {

struct Words {
  std::uint32_t at[4];
};

/** Words 4 index .. 4 index + 3 of a stream. */
REVERIE_DEVICE Words philox(std::uint32_t key0, std::uint32_t key1, std::uint64_t index) {
  std::uint32_t c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32), c2 = 0, c3 = 0;
  REVERIE_UNROLL
  for (int round = 0; round < 10; round++) {
    const std::uint32_t low0 = 0xd2511f53u * c0, low1 = 0xcd9e8d57u * c2;
    const std::uint32_t high0 = mulHigh(0xd2511f53u, c0), high1 = mulHigh(0xcd9e8d57u, c2);
    c0 = high1 ^ c1 ^ key0;
    c1 = low1;
    c2 = high0 ^ c3 ^ key1;
    c3 = low0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return Words{{c0, c1, c2, c3}};
}

REVERIE_DEVICE std::uint32_t wordAt(const RandomStream& stream, std::uint64_t offset) {
  const std::uint64_t position = stream.position + offset;
  const Words words = philox(stream.key0, stream.key1, position / 4);
  const int at = static_cast<int>(position % 4);
  const std::uint32_t low = at & 1 ? words.at[1] : words.at[0], high = at & 1 ? words.at[3] : words.at[2];
  return at & 2 ? high : low;
}

/** Uniform in (0, 1), rounded once to float as a Float32Array would. */
REVERIE_DEVICE float uniformOf(std::uint32_t word) {
  return static_cast<float>(2 * static_cast<std::uint64_t>(word) + 1) * 0x1p-33f;
}

/** floor(word / 2^32 n), without rounding. */
REVERIE_DEVICE std::uint32_t integerOf(std::uint32_t word, std::uint32_t n) { return mulHigh(word, n); }

/** The normal's tail beyond 0.425 from the middle, for p = the smaller of the two probabilities. */
REVERIE_DEVICE float normalTail(float p) {
  const float root = squareRoot(-logarithm(p));
  if (root <= 5.0f) {
    const float r = root - 1.6f;
    const float top = ((0.17023821103f * r + 1.3067284816f) * r + 2.75681539f) * r + 1.4234372777f;
    return top * reciprocalFast((0.12021132975f * r + 0.7370016425f) * r + 1.0f);
  }
  const float r = root - 5.0f;
  const float top = ((0.017337203997f * r + 0.42868294337f) * r + 3.081226386f) * r + 6.657905115f;
  return top * reciprocalFast((0.012258202635f * r + 0.24197894225f) * r + 1.0f);
}

/** Standard normal of a word. */
REVERIE_DEVICE float normalOf(std::uint32_t word) {
  // Both the distance from the middle and the smaller tail are taken from the integer, where nothing cancels.
  const float q = (static_cast<float>(static_cast<std::int32_t>(word ^ 0x80000000u)) + 0.5f) * 0x1p-32f;
  if (q <= 0.425f && q >= -0.425f) {
    const float r = 0.180625f - q * q;
    const float top = ((59.10937472f * r + 159.29113202f) * r + 50.434271938f) * r + 3.3871327179f;
    const float bottom = ((67.1875636f * r + 78.757757664f) * r + 17.895169469f) * r + 1.0f;
    return q * top * reciprocalFast(bottom);
  }
  const std::uint32_t rest = q < 0.0f ? word : ~word;
  const float x = normalTail((static_cast<float>(rest) + 0.5f) * 0x1p-32f);
  return q < 0.0f ? -x : x;
}

}  // namespace reverie
