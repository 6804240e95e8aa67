// src/rng.ts in doubles, word by word.
#pragma once

#include <cmath>
#include <cstdint>

#include "../kernels/random-stream.h"

namespace reverie::reference {

inline std::uint32_t wordOf(const RandomStream& stream, std::uint64_t offset) {
  const std::uint64_t position = stream.position + offset, index = position / 4;
  std::uint32_t c[4] = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0};
  std::uint32_t k0 = stream.key0, k1 = stream.key1;
  for (int round = 0; round < 10; round++) {
    const std::uint64_t p0 = std::uint64_t{0xd2511f53u} * c[0], p1 = std::uint64_t{0xcd9e8d57u} * c[2];
    const std::uint32_t next[4] = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
                                   static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c[position % 4];
}

inline double uniformOf(std::uint32_t word) { return (word + 0.5) / 4294967296.0; }

/** PPND7 (Wichura 1988, AS 241). */
inline double normalQuantile(double p) {
  const double q = p - 0.5;
  if (q <= 0.425 && q >= -0.425) {
    const double r = 0.180625 - q * q;
    return q * (((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
           (((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1);
  }
  double r = std::sqrt(-std::log(q < 0 ? p : 1 - p)), x;
  if (r <= 5) {
    r -= 1.6;
    x = (((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777) /
        ((0.12021132975 * r + 0.7370016425) * r + 1);
  } else {
    r -= 5;
    x = (((0.017337203997 * r + 0.42868294337) * r + 3.081226386) * r + 6.657905115) /
        ((0.012258202635 * r + 0.24197894225) * r + 1);
  }
  return q < 0 ? -x : x;
}

inline double normalOf(std::uint32_t word) { return normalQuantile(uniformOf(word)); }

}  // namespace reverie::reference
