// Functions of numbers by polynomials, in the words of lanes.h: the C library's differ between systems, these do not.
// Logarithm and tangent: Moshier's Cephes (logf, tanhf), within two units in the last place. Normals: PPND7 (Wichura 1988,
// AS 241). Random words: Philox4x32-10 (Salmon et al., SC 2011).
#pragma once

#include "lanes.h"

namespace reverie::REVERIE_WIDTH {

/**
 * e^x, or e^-x where `isNegated`; the exponent is brought within [-87, 88], where the result is a normal number, and some number is
 * answered for NaN. A minimax polynomial of degree five on half a binade around 1: within three units in the last place.
 */
template <bool isNegated>
inline Floats exponentialOf(Floats x) {
  constexpr float sign = isNegated ? -1.0f : 1.0f;
  const Floats bounded = larger(smaller(x, all(isNegated ? 87.0f : 88.0f)), all(isNegated ? -88.0f : -87.0f));
  // Added to this number, one of magnitude below 2^22 is rounded to whole, and stands in the low bits.
  const Floats shifter = all(12582912.0f);
  const Floats shifted = multiplyAdd(bounded, all(sign * 1.44269504088896341f), shifter);
  const Floats whole = shifted - shifter;
  const Floats r = multiplyAdd(whole, all(sign * 2.12194440e-4f), multiplyAdd(whole, all(sign * -0.693359375f), bounded));
  Floats sum = multiplyAdd(all(sign * 8.3125012720e-3f), r, all(4.1890331549e-2f));
  sum = multiplyAdd(sum, r, all(sign * 1.6667115389e-1f));
  sum = multiplyAdd(sum, r, all(4.9999230309e-1f));
  sum = multiplyAdd(sum, r * r, isNegated ? all(1.0f) - r : all(1.0f) + r);
  return bitsAs<Floats>(bitsAs<Bits>(sum) + (bitsAs<Bits>(shifted) << 23));
}

/** What is no number stays none, so that it can be seen. */
inline Floats keepingNaN(Floats x, Floats result) { return choose(x == x, result, x); }

inline Floats exponential(Floats x) { return keepingNaN(x, exponentialOf<false>(x)); }

/** Natural logarithm of a normal positive number. */
inline Floats logarithm(Floats x) {
  const Bits bits = bitsAs<Bits>(x);
  // x = 2^exponent m with m in [sqrt(1/2), sqrt(2)).
  const Bits raised = bits + allBits(0x3f800000u - 0x3f3504f3u);
  const Floats exponent = floatsOf(bitsAs<Ints>(raised >> 23) - 127);
  const Floats m = bitsAs<Floats>((raised & allBits(0x007fffffu)) + allBits(0x3f3504f3u));
  const Floats r = m - all(1.0f), square = r * r;
  Floats sum = all(7.0376836292e-2f);
  sum = multiplyAdd(sum, r, all(-1.1514610310e-1f));
  sum = multiplyAdd(sum, r, all(1.1676998740e-1f));
  sum = multiplyAdd(sum, r, all(-1.2420140846e-1f));
  sum = multiplyAdd(sum, r, all(1.4249322787e-1f));
  sum = multiplyAdd(sum, r, all(-1.6668057665e-1f));
  sum = multiplyAdd(sum, r, all(2.0000714765e-1f));
  sum = multiplyAdd(sum, r, all(-2.4999993993e-1f));
  sum = multiplyAdd(sum, r, all(3.3333331174e-1f));
  sum = sum * r * square;
  sum = multiplyAdd(exponent, all(-2.12194440e-4f), sum);
  sum = multiplyAdd(all(-0.5f), square, sum);
  return multiplyAdd(exponent, all(0.693359375f), r + sum);
}

inline Floats sigmoid(Floats x) { return keepingNaN(x, all(1.0f) / (all(1.0f) + exponentialOf<true>(x))); }

/** log(1 + e^x) without overflow. */
inline Floats softplus(Floats x) {
  const Floats above = choose(x > all(0.0f), x, all(0.0f));
  return above + logarithm(all(1.0f) + exponentialOf<true>(magnitude(x)));
}

inline Floats hyperbolicTangent(Floats x) {
  const Floats away = magnitude(x), square = x * x;
  Floats near = all(-5.70498872745e-3f);
  near = multiplyAdd(near, square, all(2.06390887954e-2f));
  near = multiplyAdd(near, square, all(-5.37397155531e-2f));
  near = multiplyAdd(near, square, all(1.33314422036e-1f));
  near = multiplyAdd(near, square, all(-3.33332819422e-1f));
  near = multiplyAdd(near * square, x, x);
  const Floats far = all(1.0f) - all(2.0f) / (exponential(away + away) + all(1.0f));
  const Bits sign = bitsAs<Bits>(x) & allBits(0x80000000u);
  const Floats signedFar = bitsAs<Floats>(bitsAs<Bits>(far) | sign);
  // A NaN is in neither half, and stays what it is.
  return choose(away < all(0.625f), near, choose(away >= all(0.625f), signedFar, x));
}

/** Standard normals of random words. */
inline Floats normalOf(Bits word) {
  const Bits middle = allBits(0x80000000u);
  // Both the distance from the middle and the smaller tail are taken from the integer, where nothing cancels.
  const Floats q = (floatsOf(bitsAs<Ints>(word ^ middle)) + all(0.5f)) * all(0x1p-32f);
  const Ints isLow = q < all(0.0f);
  const Bits rest = bitsAs<Bits>(isLow ? bitsAs<Ints>(word) : bitsAs<Ints>(~word));
  // Unsigned, but below 2^31: the smaller of the two tails.
  const Floats p = (floatsOf(bitsAs<Ints>(rest)) + all(0.5f)) * all(0x1p-32f);
  const Floats r0 = multiplyAdd(negative(q), q, all(0.180625f));
  Floats top = multiplyAdd(multiplyAdd(all(59.10937472f), r0, all(159.29113202f)), r0, all(50.434271938f));
  top = multiplyAdd(top, r0, all(3.3871327179f)) * magnitude(q);
  Floats bottom = multiplyAdd(multiplyAdd(all(67.1875636f), r0, all(78.757757664f)), r0, all(17.895169469f));
  bottom = multiplyAdd(bottom, r0, all(1.0f));
  const Floats root = squareRoot(negative(logarithm(p)));
  const Floats r1 = root - all(1.6f);
  const Floats top1 = multiplyAdd(multiplyAdd(multiplyAdd(all(0.17023821103f), r1, all(1.3067284816f)), r1, all(2.75681539f)),
                                  r1, all(1.4234372777f));
  const Floats bottom1 = multiplyAdd(multiplyAdd(all(0.12021132975f), r1, all(0.7370016425f)), r1, all(1.0f));
  const Floats r2 = root - all(5.0f);
  const Floats top2 = multiplyAdd(multiplyAdd(multiplyAdd(all(0.017337203997f), r2, all(0.42868294337f)), r2, all(3.081226386f)),
                                  r2, all(6.657905115f));
  const Floats bottom2 = multiplyAdd(multiplyAdd(all(0.012258202635f), r2, all(0.24197894225f)), r2, all(1.0f));
  const Ints isCentral = magnitude(q) <= all(0.425f), isFar = root > all(5.0f);
  top = choose(isCentral, top, choose(isFar, top2, top1));
  bottom = choose(isCentral, bottom, choose(isFar, bottom2, bottom1));
  const Floats size = top / bottom;
  return choose(isLow, negative(size), size);
}

/** Words 4 i .. 4 i + 3 of streams, i in two halves of 32 bits: c0 and c1 become words 0 and 1, c2 and c3 words 2 and 3. */
inline void philox(Bits key0, Bits key1, Bits& c0, Bits& c1, Bits& c2, Bits& c3) {
  for (int round = 0; round < 10; round++) {
    const WideProduct first = multiplyWide(c0, 0xd2511f53u), second = multiplyWide(c2, 0xcd9e8d57u);
    c0 = second.high ^ c1 ^ key0;
    c1 = second.low;
    c2 = first.high ^ c3 ^ key1;
    c3 = first.low;
    key0 += allBits(0x9e3779b9u);
    key1 += allBits(0xbb67ae85u);
  }
}

}  // namespace reverie::REVERIE_WIDTH
