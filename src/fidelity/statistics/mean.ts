// The mean, summed from first to last, so that the same numbers in the same order give the same bits.

export function meanOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}
