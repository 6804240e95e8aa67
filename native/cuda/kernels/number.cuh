// Functions of a number in two makes: Fast, of the special-function unit, for results that are rounded to tf32
// anyway, and Exact, to a few units in the last place of a float.
#pragma once

#include "lane.cuh"

namespace reverie {

REVERIE_DEVICE float larger(float a, float b) { return a > b ? a : b; }
REVERIE_DEVICE float smaller(float a, float b) { return a < b ? a : b; }
REVERIE_DEVICE float magnitude(float x) { return floatOf(bitsOf(x) & 0x7fffffffu); }
REVERIE_DEVICE bool isFinite(float x) { return (bitsOf(x) & 0x7f800000u) != 0x7f800000u; }
REVERIE_DEVICE bool isNotANumber(float x) { return (bitsOf(x) & 0x7fffffffu) > 0x7f800000u; }

/** Brings a number within bounds; NaN stays NaN. */
REVERIE_DEVICE float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

struct Exact {
  static REVERIE_DEVICE float exp(float x) { return exponential(x); }
  static REVERIE_DEVICE float log(float x) { return logarithm(x); }
  static REVERIE_DEVICE float tanh(float x) { return hyperbolicTangent(x); }
  static REVERIE_DEVICE float arcTangent(float y, float x) { return reverie::arcTangent(y, x); }
  static REVERIE_DEVICE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
  static REVERIE_DEVICE float swish(float x) { return x / (1.0f + exponential(-x)); }
};

struct Fast {
  static REVERIE_DEVICE float exp(float x) { return expFast(x); }
  static REVERIE_DEVICE float log(float x) { return logarithm(x); }
  static REVERIE_DEVICE float tanh(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }
  static REVERIE_DEVICE float sigmoid(float x) { return reciprocalFast(1.0f + expFast(-x)); }
  static REVERIE_DEVICE float swish(float x) { return x * sigmoid(x); }
};

/** log(1 + e^x) without overflow. */
template <class Number>
REVERIE_DEVICE float softplus(float x) {
  return larger(x, 0.0f) + Number::log(1.0f + Number::exp(-magnitude(x)));
}

}  // namespace reverie
