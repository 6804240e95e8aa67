// A vector of floats and the few words that the kernels of this folder are written in. A file that includes it has named its
// namespace (REVERIE_WIDTH) and the width (REVERIE_LANES) first, and is compiled for processors that have such vectors.
// Every word is one operation of IEEE 754, rounded once, or moves bits: so a lane's bytes are the same on every width.
// Nothing of the standard library may be used here: an inline function that is compiled for one processor would be linked in
// for all.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && !defined(REVERIE_PLAIN)
#include <arm_neon.h>
#define REVERIE_NEON
#endif

#define REVERIE_UNROLL _Pragma("GCC unroll 12")

namespace reverie::REVERIE_WIDTH {

constexpr int LANES = REVERIE_LANES;

typedef float Floats __attribute__((vector_size(LANES * 4)));
typedef std::uint32_t Bits __attribute__((vector_size(LANES * 4)));
typedef std::int32_t Ints __attribute__((vector_size(LANES * 4)));

template <class To, class From>
inline To bitsAs(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from), "bits are moved, not converted");
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

inline Floats load(const float* from) {
  Floats value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline Bits loadBits(const std::uint32_t* from) {
  Bits value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline void store(float* to, Floats value) { __builtin_memcpy(to, &value, sizeof(value)); }
inline void storeBits(std::uint32_t* to, Bits value) { __builtin_memcpy(to, &value, sizeof(value)); }

inline Floats all(float x) {
#if REVERIE_LANES == 16
  return (Floats)_mm512_set1_ps(x);
#elif REVERIE_LANES == 8
  return (Floats)_mm256_set1_ps(x);
#else
  return Floats{x, x, x, x};
#endif
}

inline Bits allBits(std::uint32_t x) { return bitsAs<Bits>(all(bitsAs<float>(x))); }

/** a b + c, rounded once. */
inline Floats multiplyAdd(Floats a, Floats b, Floats c) {
#if REVERIE_LANES == 16
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif REVERIE_LANES == 8
  return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(REVERIE_NEON)
  return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return Floats{__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1]), __builtin_fmaf(a[2], b[2], c[2]),
                __builtin_fmaf(a[3], b[3], c[3])};
#endif
}

inline Floats squareRoot(Floats x) {
#if REVERIE_LANES == 16
  return (Floats)_mm512_sqrt_ps((__m512)x);
#elif REVERIE_LANES == 8
  return (Floats)_mm256_sqrt_ps((__m256)x);
#elif defined(REVERIE_NEON)
  return (Floats)vsqrtq_f32((float32x4_t)x);
#else
  return Floats{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]), __builtin_sqrtf(x[3])};
#endif
}

/** Lane by lane. A comparison with NaN is false. */
inline Floats choose(Ints mask, Floats yes, Floats no) { return mask ? yes : no; }

/** The larger, and the smaller; `b` where either is NaN. */
inline Floats larger(Floats a, Floats b) {
#if REVERIE_LANES == 16
  return (Floats)_mm512_max_ps((__m512)a, (__m512)b);
#elif REVERIE_LANES == 8
  return (Floats)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return choose(a > b, a, b);
#endif
}

inline Floats smaller(Floats a, Floats b) {
#if REVERIE_LANES == 16
  return (Floats)_mm512_min_ps((__m512)a, (__m512)b);
#elif REVERIE_LANES == 8
  return (Floats)_mm256_min_ps((__m256)a, (__m256)b);
#else
  return choose(a < b, a, b);
#endif
}

/** Brings x within bounds; NaN stays NaN. */
inline Floats clamp(Floats x, Floats low, Floats high) {
  const Floats raised = choose(x < low, low, x);
  return choose(raised > high, high, raised);
}

inline Floats magnitude(Floats x) { return bitsAs<Floats>(bitsAs<Bits>(x) & allBits(0x7fffffffu)); }
inline Floats negative(Floats x) { return bitsAs<Floats>(bitsAs<Bits>(x) ^ allBits(0x80000000u)); }

/** Nearest float of a signed number. */
inline Floats floatsOf(Ints x) { return __builtin_convertvector(x, Floats); }

/** Both halves of the products of 32 bits. */
struct WideProduct {
  Bits high, low;
};

inline WideProduct multiplyWide(Bits a, std::uint32_t factor) {
#if REVERIE_LANES == 16
  const Bits b = allBits(factor);
  const __m512i even = _mm512_mul_epu32((__m512i)a, (__m512i)b);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), (__m512i)b);
  return {(Bits)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd),
          (Bits)_mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32))};
#elif REVERIE_LANES == 8
  const Bits b = allBits(factor);
  const __m256i even = _mm256_mul_epu32((__m256i)a, (__m256i)b);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), (__m256i)b);
  return {(Bits)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa),
          (Bits)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa)};
#else
  WideProduct product;
  for (int i = 0; i < LANES; i++) {
    const std::uint64_t wide = static_cast<std::uint64_t>(a[i]) * factor;
    product.high[i] = static_cast<std::uint32_t>(wide >> 32);
    product.low[i] = static_cast<std::uint32_t>(wide);
  }
  return product;
#endif
}

}  // namespace reverie::REVERIE_WIDTH
