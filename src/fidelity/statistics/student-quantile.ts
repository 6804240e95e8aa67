// Quantiles of Student's t, for intervals from few units.

import { normalQuantile } from '../../rng.js';

/** Exact below 3 degrees of freedom, to about six digits from there on (Hill 1970, algorithm 396). */
export function studentQuantile(p: number, degrees: number): number {
  if (p > 0.5) return -studentQuantile(1 - p, degrees);
  if (degrees === 1) return Math.tan(Math.PI * (p - 0.5));
  if (degrees === 2) return (2 * p - 1) / Math.sqrt(2 * p * (1 - p));
  return -hill(2 * p, degrees);
}

/** The positive quantile beyond which, on both sides together, lies `p`. */
function hill(p: number, n: number): number {
  const a = 1 / (n - 0.5);
  const b = 48 / (a * a);
  const c = (((20700 * a) / b - 98) * a - 16) * a + 96.36;
  const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * n;
  const y = (d * p) ** (2 / n);
  return Math.sqrt(n * (y > 0.05 + a ? nearNormal(p, n, { a, b, c, d }) : farOut(y, n, d)));
}

function nearNormal(p: number, n: number, k: { a: number; b: number; c: number; d: number }): number {
  const x = normalQuantile(p / 2);
  const square = x * x;
  const c = n < 5 ? k.c + 0.3 * (n - 4.5) * (x + 0.6) : k.c;
  const divisor = (((0.05 * k.d * x - 5) * x - 7) * x - 2) * x + k.b + c;
  const z = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / divisor - square - 3) / k.b + 1) * x;
  return Math.expm1(k.a * z * z);
}

function farOut(y: number, n: number, d: number): number {
  return (
    ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * ((n + 1) / (n + 2)) +
    1 / y
  );
}
