// The echo trap of agents that learn from their own episodes (RAGEN, 2504.20073, section 4): returns within a group stop differing,
// the policy stops trying anything else, and episodes say the same again and again. Any one of these may be well; all together are not.

/** What is watched of a round. */
export interface WatchedRound {
  /** Mean over groups of the standard deviation of their returns. */
  readonly spread: number;
  /** Mean entropy of the choices, in nats. */
  readonly entropy: number;
  /** Share of the commands that were said before in their episode. */
  readonly repetition: number;
  /** Share of the episodes that were won. */
  readonly success: number;
}

/** Rounds that are looked at together. */
const WINDOW = 4;
/** How far spread and entropy must have fallen from their best window, and repetition risen from its least. */
const FALLEN = { spread: 0.35, entropy: 0.5, repetition: 0.15 };
/** An agent that wins nearly always is settled, and not trapped. */
const SETTLED = 0.8;

/** What is wrong, in a sentence; undefined where nothing is, or too few rounds are over to tell. The same rounds say the same. */
export function echoTrap(rounds: readonly WatchedRound[]): string | undefined {
  if (rounds.length < 2 * WINDOW) return undefined;
  const windows = rounds.slice(WINDOW - 1).map((_, i) => meanOf(rounds.slice(i, i + WINDOW)));
  const now = windows.at(-1)!;
  const before = windows.slice(0, -WINDOW);
  const [spread, entropy] = (['spread', 'entropy'] as const).map((key) => Math.max(...before.map((one) => one[key])));
  const repetition = Math.min(...before.map((one) => one.repetition));
  const isTrapped =
    now.success < SETTLED &&
    now.spread <= FALLEN.spread * spread &&
    now.entropy <= FALLEN.entropy * entropy &&
    now.repetition >= repetition + FALLEN.repetition;
  if (!isTrapped) return undefined;
  const fell = (is: number, was: number) => `from ${was.toFixed(2)} to ${is.toFixed(2)}`;
  return `echo trap: returns within a group no longer differ (deviation ${fell(now.spread, spread)}), entropy fell ${fell(now.entropy, entropy)}, and repeated commands rose ${fell(now.repetition, repetition)}`;
}

function meanOf(rounds: readonly WatchedRound[]): WatchedRound {
  const mean = (key: keyof WatchedRound) => rounds.reduce((sum, round) => sum + round[key], 0) / rounds.length;
  return { spread: mean('spread'), entropy: mean('entropy'), repetition: mean('repetition'), success: mean('success') };
}
