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

/**
 * Standard normal of a word. Both forms of the inverse are rational functions: their coefficients are chosen, not their code, so that a
 * warp goes one way. Of 32 bits no tail is so far out that the inverse's third form would be needed.
 */
REVERIE_DEVICE float normalOf(std::uint32_t word) {
  // Both the distance from the middle and the smaller tail are taken from the integer, where nothing cancels.
  const float q = (static_cast<float>(static_cast<std::int32_t>(word ^ 0x80000000u)) + 0.5f) * 0x1p-32f;
  const bool isMiddle = q <= 0.425f && q >= -0.425f;
  const std::uint32_t rest = q < 0.0f ? word : ~word;
  const float tail = squareRootFast(-logarithmFast((static_cast<float>(rest) + 0.5f) * 0x1p-32f));
  const float r = isMiddle ? 0.180625f - q * q : tail - 1.6f;
  const float top3 = isMiddle ? 59.10937472f : 0.17023821103f, top2 = isMiddle ? 159.29113202f : 1.3067284816f;
  const float top1 = isMiddle ? 50.434271938f : 2.75681539f, top0 = isMiddle ? 3.3871327179f : 1.4234372777f;
  const float bottom3 = isMiddle ? 67.1875636f : 0.0f, bottom2 = isMiddle ? 78.757757664f : 0.12021132975f;
  const float bottom1 = isMiddle ? 17.895169469f : 0.7370016425f;
  const float top = ((top3 * r + top2) * r + top1) * r + top0, bottom = ((bottom3 * r + bottom2) * r + bottom1) * r + 1.0f;
  const float x = top * reciprocalFast(bottom);
  return isMiddle ? q * x : q < 0.0f ? -x : x;
}

}  // namespace reverie
