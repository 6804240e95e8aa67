// Natural logarithm of the random generator, fixed to the bit on every machine: `Math.log` may round differently elsewhere.
// fdlibm's e_log.c (Sun Microsystems, 1993), for positive normal numbers. rng-kernel.ts has the same in SIMD.

/** ln 2 in two parts, the first with trailing zeros so that k * LN2_HIGH is exact. */
export const LN2_HIGH = 0.6931471803691238;
export const LN2_LOW = 1.9082149292705877e-10;
/** Of R(z) in log(1 + f) = 2s + s R(s^2), s = f / (2 + f), lowest power first. */
export const LOG_COEFFICIENTS: readonly number[] = [
  0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805,
  0.15313837699209373, 0.14798198605116586,
];
const [L1, L2, L3, L4, L5, L6, L7] = LOG_COEFFICIENTS;

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/** log(x) for a positive, finite, normal x. */
export function naturalLog(x: number): number {
  double[0] = x;
  const mantissa = halves[1] & 0xfffff;
  const carry = (mantissa + 0x95f64) & 0x100000;
  const k = (halves[1] >> 20) - 1023 + (carry >> 20);
  halves[1] = mantissa | (carry ^ 0x3ff00000);
  const f = double[0] - 1;
  if (((2 + mantissa) & 0xfffff) < 3) {
    const r = f * f * (0.5 - 0.3333333333333333 * f);
    return k * LN2_HIGH - (r - k * LN2_LOW - f);
  }
  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const r = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6));
  if (mantissa < 0x6147a || mantissa > 0x6b851) return k * LN2_HIGH - (s * (f - r) - k * LN2_LOW - f);
  const half = 0.5 * f * f;
  return k * LN2_HIGH - (half - (s * (half + r) + k * LN2_LOW) - f);
}
