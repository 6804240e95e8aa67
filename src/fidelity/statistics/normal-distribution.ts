// The normal distribution to double precision; what proper scores and probability integral transforms are made of.

const SQRT_TWO_PI = Math.sqrt(2 * Math.PI);

export const LOG_SQRT_TWO_PI = 0.5 * Math.log(2 * Math.PI);

export function normalDensity(z: number): number {
  return Math.exp(-0.5 * z * z) / SQRT_TWO_PI;
}

/** Of Hart's rational approximation below the split, highest power first. */
const NUMERATOR = [
  0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931,
  220.206867912376,
];
const DENOMINATOR = [
  0.0883883476483184, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831,
  793.826512519948, 440.413735824752,
];
const SPLIT = 7.07106781186547;

/** Standard normal distribution function, to about 1e-15 (Hart 1968, algorithm 5666, as in West 2005, Wilmott Magazine). */
export function normalCdf(z: number): number {
  const x = Math.abs(z);
  const tail = x > 37 ? 0 : upperTail(x);
  return z > 0 ? 1 - tail : tail;
}

function upperTail(x: number): number {
  const e = Math.exp(-0.5 * x * x);
  if (x < SPLIT) return (e * polynomial(NUMERATOR, x)) / polynomial(DENOMINATOR, x);
  return e / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / SQRT_TWO_PI;
}

function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (const coefficient of coefficients) sum = sum * x + coefficient;
  return sum;
}
