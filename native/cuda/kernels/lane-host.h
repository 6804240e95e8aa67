// The words of lane.cuh on the host, where threads are fibers of the emulator. Arithmetic is that of the instructions: products
// of tf32 are exact in float, sums are taken in float.
#pragma once

#include <algorithm>
#include <array>

struct uint4 {
  std::uint32_t x, y, z, w;
};

namespace reverie {

REVERIE_DEVICE int thread() { return emulator::place().thread; }
REVERIE_DEVICE int threads() { return emulator::place().threads; }
REVERIE_DEVICE int block() { return emulator::place().block; }
REVERIE_DEVICE int blocks() { return emulator::place().blocks; }
REVERIE_DEVICE char* sharedMemory() { return emulator::place().shared; }

REVERIE_DEVICE void syncBlock() { emulator::waitForBlock(); }
REVERIE_DEVICE void syncWarp() { emulator::waitForWarp(); }
REVERIE_DEVICE void syncGrid(unsigned*) { emulator::waitForGrid(); }

template <class T>
struct Shuffled {
  T value;
  int lane;
};

template <class T>
REVERIE_DEVICE T shuffle(T value, int lane) {
  const Shuffled<T> in{value, lane & 31};
  T out;
  emulator::together(&in, &out, [](const void* const* ins, void* const* outs) {
    for (int i = 0; i < 32; i++) {
      const int from = static_cast<const Shuffled<T>*>(ins[i])->lane;
      *static_cast<T*>(outs[i]) = static_cast<const Shuffled<T>*>(ins[from])->value;
    }
  });
  return out;
}

template <class T>
REVERIE_DEVICE T shuffleXor(T value, int mask) {
  return shuffle(value, (thread() & 31) ^ mask);
}

REVERIE_DEVICE unsigned ballot(bool predicate) {
  unsigned out;
  emulator::together(&predicate, &out, [](const void* const* ins, void* const* outs) {
    unsigned bits = 0;
    for (int i = 0; i < 32; i++) bits |= static_cast<unsigned>(*static_cast<const bool*>(ins[i])) << i;
    for (int i = 0; i < 32; i++) *static_cast<unsigned*>(outs[i]) = bits;
  });
  return out;
}

REVERIE_DEVICE int countBits(unsigned bits) { return __builtin_popcount(bits); }

template <class T>
REVERIE_DEVICE T addAtomic(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}

REVERIE_DEVICE std::uint32_t mulHigh(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

namespace host {

inline float tf32(std::uint32_t word) {
  const std::uint32_t bits = word & 0xffffe000u;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

struct Fragments {
  std::uint32_t a[4];
  std::uint32_t b[2];
  float c[4];
};

inline const Fragments& lane(const void* const* ins, int i) { return *static_cast<const Fragments*>(ins[i]); }

/** Fragment layouts of PTX's mma: lane = 4 group + column. c: rows group, group + 8; columns 2 column, + 1. */
inline void multiply(const void* const* ins, void* const* outs) {
  for (int own = 0; own < 32; own++) {
    float* out = static_cast<float*>(outs[own]);
    for (int i = 0; i < 4; i++) {
      const int row = own / 4 + 8 * (i / 2), column = 2 * (own % 4) + i % 2;
      float sum = lane(ins, own).c[i];
      for (int k = 0; k < 8; k++) {
        sum += tf32(lane(ins, 4 * (row % 8) + k % 4).a[row / 8 + 2 * (k / 4)]) * tf32(lane(ins, 4 * column + k % 4).b[k / 4]);
      }
      out[i] = sum;
    }
  }
}

}  // namespace host

REVERIE_DEVICE void mmaTf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  const host::Fragments in{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {c[0], c[1], c[2], c[3]}};
  emulator::together(&in, c, host::multiply);
}

REVERIE_DEVICE std::uint32_t tf32Bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}

REVERIE_DEVICE void copyAsync(void* shared, const void* global) { emulator::startCopy(shared, global); }
REVERIE_DEVICE void copyCommit() { emulator::endCopyGroup(); }
template <int pending>
REVERIE_DEVICE void copyWait() {
  emulator::finishCopies(pending);
}

REVERIE_DEVICE uint4 loadShared(const void* shared) {
  uint4 value;
  std::memcpy(&value, shared, 16);
  return value;
}

REVERIE_DEVICE float expFast(float x) { return std::exp(x); }
REVERIE_DEVICE float reciprocalFast(float x) { return 1.0f / x; }
REVERIE_DEVICE float squareRootFast(float x) { return std::sqrt(x); }
REVERIE_DEVICE float logarithmFast(float x) { return std::log(x); }
REVERIE_DEVICE float squareRoot(float x) { return std::sqrt(x); }
REVERIE_DEVICE float exponential(float x) { return std::exp(x); }
REVERIE_DEVICE float logarithm(float x) { return std::log(x); }
REVERIE_DEVICE float hyperbolicTangent(float x) { return std::tanh(x); }
REVERIE_DEVICE float arcTangent(float y, float x) { return std::atan2(y, x); }

}  // namespace reverie
