// Products of bfloat16 with sums in float32, by what AVX512_BF16 does, and the same bytes without it. Its instruction adds the
// products of a pair to a sum, the odd one first, each by a multiply-add that rounds once (to nearest, ties to even). It takes
// denormals for zeros and makes zeros of them, where what is rounded to 24 bits lies below the least normal number.
#pragma once

#include "kernels.h"

#if defined(REVERIE_BFLOAT16_PAIRS)
#define REVERIE_TAKES_PAIRS true
#else
#define REVERIE_TAKES_PAIRS false
#endif

namespace reverie::REVERIE_WIDTH {

constexpr bool TAKES_PAIRS = REVERIE_TAKES_PAIRS;

typedef std::uint16_t Halves __attribute__((vector_size(LANES * 2)));

/** To the nearest bfloat16, ties to even; denormals to zeros of their sign, and any NaN to one. */
inline Floats bfloat16(Floats x) {
  const Bits bits = bitsAs<Bits>(x);
  const Bits near = (bits + allBits(0x7fffu) + ((bits >> 16) & allBits(1u))) & allBits(0xffff0000u);
  const Floats normal = choose(magnitude(x) < all(0x1p-126f), bitsAs<Floats>(bits & allBits(0x80000000u)), bitsAs<Floats>(near));
  return choose(x == x, normal, bitsAs<Floats>(allBits(0x7fc00000u)));
}

/** Where multiply-adds of the processor flush denormals by themselves, they do it in this scope. */
class FlushedDenormals {
 public:
#if REVERIE_LANES >= 8 && !defined(REVERIE_BFLOAT16_PAIRS)
  FlushedDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  ~FlushedDenormals() { _mm_setcsr(before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  unsigned before_;
#else
  FlushedDenormals() {}
#endif
};

/** a b + c of numbers that are not denormal, and is none, within `FlushedDenormals`. */
inline Floats flushedMultiplyAdd(Floats a, Floats b, Floats c) {
  const Floats sum = multiplyAdd(a, b, c);
#if REVERIE_LANES >= 8
  return sum;
#else
  // Far above the least normal number, where rounding is to 24 bits: only what is too large to be tiny overflows there.
  const Floats raised = multiplyAdd(a * all(0x1p64f), b, c * all(0x1p64f));
  return choose(magnitude(raised) < all(0x1p-62f), bitsAs<Floats>(bitsAs<Bits>(raised) & allBits(0x80000000u)), sum);
#endif
}

/** Factors are rounded: x is pairs in words where the processor takes them, and floats otherwise. What follows is `endRows`. */
struct Bfloat16Products {
#if defined(REVERIE_BFLOAT16_PAIRS)
  static int inputOf(int step) { return step; }
  static Floats added(Floats value, Floats weight, Floats sum) {
    return (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)value, (__m512bh)weight);
  }
#else
  /** Weights lie in the order of the sums: the odd one of a pair first. */
  static int inputOf(int step) { return step ^ 1; }
  static Floats added(Floats value, Floats weight, Floats sum) { return flushedMultiplyAdd(value, weight, sum); }
#endif
  static Floats finished(Floats sum) { return sum; }
};

/** A call of its own, which no multiply-add is moved out of. */
__attribute__((noinline)) inline void sumBfloat16(const PackedLayer& layer, const float* x, std::int64_t xStride, int rows, float* y,
                                                  std::int64_t yStride) {
  blocks<Bfloat16Products>(layer, x, xStride, rows, y, yStride);
}

/** Columns to bfloat16 at `to`, with zeros up to a whole vector: as words of two, or as floats. */
inline void roundRow(const float* x, int columns, float* to) {
  static constexpr std::int32_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Ints lane;
  __builtin_memcpy(&lane, numbers, sizeof(lane));
  for (int first = 0; first < columns; first += LANES) {
    Floats value = bfloat16(load(x + first));
    if (columns - first < LANES) value = choose(lane < bitsAs<Ints>(allBits(static_cast<std::uint32_t>(columns - first))), value, Floats{});
    if (TAKES_PAIRS) {
      const Halves halves = __builtin_convertvector(bitsAs<Bits>(value) >> 16, Halves);
      __builtin_memcpy(to + first / 2, &halves, sizeof(halves));
    } else {
      store(to + first, value);
    }
  }
}

/** What follows the sums. Instructions choose among the payloads of NaNs, each in its way: here they become one. */
template <LayerEnd end>
inline void endRows(int columns, int rows, float* y, std::int64_t yStride) {
  for (int r = 0; r < rows; r++, y += yStride) {
    for (int first = 0; first < columns; first += LANES) {
      const Floats sum = load(y + first);
      store(y + first, ended<end>(choose(sum == sum, sum, bitsAs<Floats>(allBits(0x7fc00000u)))));
    }
  }
}

inline void runBfloat16Layer(const PackedLayer& layer, float* x, std::int64_t stride, int rows, float* rounded) {
  const std::int64_t roundedStride = TAKES_PAIRS ? stride / 2 : stride;
  for (int r = 0; r < rows; r++) roundRow(x + r * stride, layer.in, rounded + r * roundedStride);
  {
    const FlushedDenormals flushed;
    sumBfloat16(layer, rounded, roundedStride, rows, x, stride);
  }
  const int columns = layer.vectors * LANES;
  switch (layer.end) {
    case LayerEnd::relu:
      return endRows<LayerEnd::relu>(columns, rows, x, stride);
    case LayerEnd::tanh:
      return endRows<LayerEnd::tanh>(columns, rows, x, stride);
    case LayerEnd::swish:
      return endRows<LayerEnd::swish>(columns, rows, x, stride);
    default:
      return endRows<LayerEnd::none>(columns, rows, x, stride);
  }
}

constexpr Bfloat16Kernels bfloat16Kernels = {TAKES_PAIRS, inPlace<bfloat16>, runBfloat16Layer};

}  // namespace reverie::REVERIE_WIDTH
