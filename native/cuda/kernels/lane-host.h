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

/** Fragment layouts of PTX's mma: lane = 4 group + column. c: rows group, group + 8; columns 2 column, + 1. */
template <int depth, class A, class B>
void multiply(const void* const* ins, void* const* outs, A a, B b) {
  for (int lane = 0; lane < 32; lane++) {
    const auto& own = *static_cast<const Fragments*>(ins[lane]);
    float* out = static_cast<float*>(outs[lane]);
    for (int i = 0; i < 4; i++) {
      const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      float sum = own.c[i];
      for (int k = 0; k < depth; k++) sum += a(ins, row, k) * b(ins, k, column);
      out[i] = sum;
    }
  }
}

inline const Fragments& lane(const void* const* ins, int i) { return *static_cast<const Fragments*>(ins[i]); }

inline float aTf32(const void* const* ins, int row, int k) {
  return tf32(lane(ins, 4 * (row % 8) + k % 4).a[row / 8 + 2 * (k / 4)]);
}
inline float bTf32(const void* const* ins, int k, int column) { return tf32(lane(ins, 4 * column + k % 4).b[k / 4]); }

}  // namespace host

REVERIE_DEVICE void mmaTf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  const host::Fragments in{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {c[0], c[1], c[2], c[3]}};
  emulator::together(&in, c, [](const void* const* ins, void* const* outs) {
    host::multiply<8>(ins, outs, host::aTf32, host::bTf32);
  });
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

REVERIE_DEVICE uint4 loadStream(const void* global) {
  uint4 value;
  std::memcpy(&value, global, 16);
  return value;
}

REVERIE_DEVICE uint4 loadOnce(const void* global) { return loadStream(global); }

REVERIE_DEVICE std::uint32_t transposeMatrix(std::uint32_t row) {
  std::uint32_t out;
  emulator::together(&row, &out, [](const void* const* ins, void* const* outs) {
    const auto element = [&](int r, int c) {
      const std::uint32_t word = *static_cast<const std::uint32_t*>(ins[4 * r + c / 2]);
      return c % 2 ? word >> 16 : word & 0xffffu;
    };
    for (int lane = 0; lane < 32; lane++) {
      const int row = lane / 4, column = 2 * (lane % 4);
      *static_cast<std::uint32_t*>(outs[lane]) = element(column, row) | (element(column + 1, row) << 16);
    }
  });
  return out;
}

REVERIE_DEVICE uint4 loadShared(const void* shared) { return loadStream(shared); }

REVERIE_DEVICE float tanhFast(float x) { return std::tanh(x); }
REVERIE_DEVICE float expFast(float x) { return std::exp(x); }
REVERIE_DEVICE float reciprocalFast(float x) { return 1.0f / x; }
REVERIE_DEVICE float squareRootFast(float x) { return std::sqrt(x); }
REVERIE_DEVICE float logarithmFast(float x) { return std::log(x); }
REVERIE_DEVICE float squareRoot(float x) { return std::sqrt(x); }
REVERIE_DEVICE float exponential(float x) { return std::exp(x); }
REVERIE_DEVICE float logarithm(float x) { return std::log(x); }
REVERIE_DEVICE float hyperbolicTangent(float x) { return std::tanh(x); }
REVERIE_DEVICE float arcTangent(float y, float x) { return std::atan2(y, x); }
REVERIE_DEVICE float fusedMultiplyAdd(float a, float b, float c) { return std::fma(a, b, c); }

}  // namespace reverie
