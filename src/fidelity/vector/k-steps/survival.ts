// Time to divergence where some dreams are not seen to diverge: their recorded episode was over, or the horizon reached
// (Kaplan and Meier 1958).

export interface Watched {
  /** Steps within tolerance before the first one beyond it, or before nobody could look any more. */
  readonly steps: number;
  readonly hasDiverged: boolean;
}

export function watched(errors: readonly number[], tolerance: number): Watched {
  const first = errors.findIndex((error) => error > tolerance);
  return first < 0 ? { steps: errors.length, hasDiverged: false } : { steps: first, hasDiverged: true };
}

/** Share of dreams that are within tolerance through step 1, 2, ... as far as any dream was watched. */
export function survival(dreams: readonly Watched[]): number[] {
  const longest = dreams.reduce((most, { steps, hasDiverged }) => Math.max(most, steps + Number(hasDiverged)), 0);
  const diverged = new Float64Array(longest + 2);
  const unseen = new Float64Array(longest + 2);
  for (const { steps, hasDiverged } of dreams) {
    if (hasDiverged) diverged[steps + 1]++;
    else unseen[steps + 1]++;
  }
  const curve: number[] = [];
  let atRisk = dreams.length;
  let share = 1;
  for (let t = 1; t <= longest; t++) {
    atRisk -= unseen[t];
    share *= 1 - diverged[t] / atRisk;
    atRisk -= diverged[t];
    curve.push(share);
  }
  return curve;
}

/** Expected steps before divergence, counted up to the longest that was watched; null without dreams. */
export function meanSteps(dreams: readonly Watched[]): number | null {
  return dreams.length === 0 ? null : survival(dreams).reduce((sum, share) => sum + share, 0);
}
