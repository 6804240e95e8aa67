// The figures of a ladder of policies: agreement of rank, what trusting the dream's choice costs, and how hopeful it is.

import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import type { Metric } from '../report/fidelity-report.js';
import { kendall, mmrv, mmrvShare, pearson, regretAt, spearman } from '../statistics/agreement.js';
import { meanEstimate, quantile } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';

type MetricText = Omit<Metric, 'estimate'>;

const LADDER_METRICS = [
  {
    key: 'spearman',
    label: "Rank correlation (Spearman's rho)",
    better: 'higher',
    unit: 'number',
    meaning: 'Whether better policies look better in the dream: 1 is the same order, 0 none, -1 the reverse.',
  },
  {
    key: 'kendall',
    label: "Rank correlation (Kendall's tau-b)",
    better: 'higher',
    unit: 'number',
    meaning: 'Pairs of policies that the dream puts in the right order minus those in the wrong one, as a share.',
  },
  {
    key: 'pearson',
    label: "Linear correlation (Pearson's r)",
    better: 'higher',
    unit: 'number',
    meaning: 'Whether dreamt returns are a straight line of the real ones, whatever its slope and height.',
  },
  {
    key: 'mmrv',
    label: 'Mean maximum rank violation',
    better: 'lower',
    unit: 'return',
    meaning:
      'For each policy the largest gap in real return to one that the dream ranks the wrong way; the mean of these.',
  },
  {
    key: 'mmrv-share',
    label: 'Mean maximum rank violation, of the range',
    better: 'lower',
    unit: 'share',
    meaning: 'The same, as a share of the distance between the best and the worst real return of the ladder.',
  },
  {
    key: 'regret-at-1',
    label: 'Regret of choosing by the dream (best 1)',
    better: 'lower',
    unit: 'return',
    meaning: "Real return that is lost where the dream's best policy is taken instead of the truly best.",
  },
  {
    key: 'regret-at-3',
    label: 'Regret of choosing by the dream (best 3)',
    better: 'lower',
    unit: 'return',
    meaning: "The same where the dream's best three are tried for real and the best of them is kept.",
  },
] as const satisfies readonly MetricText[];

type LadderKey = (typeof LADDER_METRICS)[number]['key'];

const STATISTICS: Readonly<Record<LadderKey, LadderStatistic>> = {
  spearman: ({ real, dreamt }) => spearman(real, dreamt),
  kendall: ({ real, dreamt }) => kendall(real, dreamt),
  pearson: ({ real, dreamt }) => pearson(real, dreamt),
  mmrv,
  'mmrv-share': mmrvShare,
  'regret-at-1': (returns) => regretAt(1, returns),
  'regret-at-3': (returns) => regretAt(3, returns),
};

/** Metrics of agreement over the whole ladder. */
export function agreementMetrics(ladder: PairedReturns, rng: Rng): Metric[] {
  const estimates = crossedBootstrap(ladder, STATISTICS, rng);
  return [
    ...LADDER_METRICS.map((text) => ({ ...text, estimate: estimates[text.key] })),
    { ...CEILING, estimate: ceilingOf(ladder, rng) },
  ];
}

const CEILING: MetricText = {
  key: 'spearman-ceiling',
  label: 'Rank correlation of the real with itself',
  better: 'neither',
  unit: 'number',
  meaning:
    'What half of the real episodes say of the order that the other half gives: no dream can be told from a perfect one above this.',
};

/** Spearman's correlation between the means of even and odd episodes, both real. */
function ceilingOf(ladder: PairedReturns, rng: Rng): Estimate {
  const half = (parity: number) => (column: PairedReturns['policies'][number]['real']) =>
    column.filter((_, episode) => episode % 2 === parity).slice(0, Math.floor(column.length / 2));
  const policies = ladder.policies.map(({ name, real }) => ({ name, real: half(0)(real), dreamt: half(1)(real) }));
  const whole = policies.filter((policy) => [policy.real, policy.dreamt].every((one) => one.some((v) => v !== null)));
  const halves = { ...ladder, policies: whole };
  return crossedBootstrap(halves, { ceiling: STATISTICS.spearman }, rng.split('ceiling'), 200).ceiling;
}

/** How far dreamt returns lie from the real ones, policy by policy. */
export function gapMetrics(
  { policies }: PairedReturns,
  gamma: number,
  rng: Rng,
): { metrics: Metric[]; samples: Record<string, number[]> } {
  const optimism = policies.map((policy) => meanOfThere(gapsOf(policy)));
  const sizes = optimism.map(Math.abs);
  const discounted = policies.map((policy) => Math.abs(meanOfThere(gapsOf(policy, 'discounted'))));
  const rewards = policies.flatMap(({ real, dreamt }) =>
    [...valuesOf(real, 'largestReward'), ...valuesOf(dreamt, 'largestReward')].filter((value) => value !== null),
  );
  const metrics: Metric[] = [
    { ...GAPS.optimism, estimate: meanEstimate(optimism, rng.split('optimism')) },
    { ...GAPS.size, estimate: meanEstimate(sizes, rng.split('gap')) },
    { ...discountedText(gamma), estimate: largest(discounted) },
    { ...GAPS.reward, estimate: largest(rewards) },
  ];
  return { metrics, samples: { optimism, 'return-gap': sizes } };
}

const GAPS = {
  optimism: {
    key: 'optimism',
    label: 'Optimism',
    better: 'neither',
    unit: 'return',
    meaning: 'Dreamt minus real return, mean over policies: above 0 the dream promises more than there is.',
  },
  size: {
    key: 'return-gap',
    label: 'Gap between dreamt and real return',
    better: 'lower',
    unit: 'return',
    meaning: 'Absolute difference between the mean dreamt and the mean real return of a policy, mean over policies.',
  },
  reward: {
    key: 'largest-reward',
    label: 'Largest reward of a step',
    better: 'neither',
    unit: 'return',
    meaning: 'Largest absolute reward of any step, real or dreamt: what bounds on returns are scaled by.',
  },
} as const satisfies Record<string, MetricText>;

function discountedText(gamma: number): MetricText {
  return {
    key: 'discounted-gap',
    label: 'Largest gap in discounted return',
    better: 'lower',
    unit: 'return',
    meaning: `Largest absolute difference of mean returns, discounted by ${Number(gamma.toPrecision(4))} a step, of any policy: what bounds speak of.`,
  };
}

function largest(values: readonly number[]): Estimate {
  if (values.length === 0) return NOTHING;
  return { value: Math.max(...values), low: null, high: null, n: values.length, method: 'exact' };
}

// Intervals of what is computed from a whole ladder: both its policies and its episodes are a sample, so both are drawn again.

/** Mean returns of the policies, real and dreamt. */
export interface LadderReturns {
  readonly real: readonly number[];
  readonly dreamt: readonly number[];
}

/** null where it is not defined, such as a correlation of equal values. */
export type LadderStatistic = (returns: LadderReturns) => number | null;

const DRAWS = 1000;

/**
 * Value of each statistic on the ladder, with a percentile interval (95 %) from a crossed bootstrap: policies and episodes are
 * drawn with replacement, the same episodes for every policy and both worlds, as these share starts and noise (Owen 2007,
 * "The pigeonhole bootstrap", Ann. Appl. Stat. 1). Draws on which a statistic is not defined are left out. `n` is policies.
 */
export function crossedBootstrap<K extends string>(
  { policies }: PairedReturns,
  statistics: Readonly<Record<K, LadderStatistic>>,
  rng: Rng,
  draws = DRAWS,
): Record<K, Estimate> {
  const real = policies.map((policy) => columnOf(valuesOf(policy.real)));
  const dreamt = policies.map((policy) => columnOf(valuesOf(policy.dreamt)));
  const names = Object.keys(statistics) as K[];
  const drawn = new Map(names.map((name) => [name, [] as number[]]));
  const drawRng = rng.split('ladder');
  for (let draw = 0; draw < draws; draw++) {
    const returns = resampled(real, dreamt, drawRng);
    for (const name of names) {
      const value = statistics[name](returns);
      if (value !== null) drawn.get(name)?.push(value);
    }
  }
  const all = Uint32Array.from({ length: real[0]?.length ?? 0 }, (_, i) => i);
  const whole = {
    real: real.map((column) => meanAt(column, all)),
    dreamt: dreamt.map((column) => meanAt(column, all)),
  };
  const entries = names.map((name) => [
    name,
    estimateOf(statistics[name](whole), drawn.get(name) ?? [], policies.length),
  ]);
  return Object.fromEntries(entries) as Record<K, Estimate>;
}

function resampled(real: readonly Float64Array[], dreamt: readonly Float64Array[], rng: Rng): LadderReturns {
  const episodes = real[0]?.length ?? 0;
  const chosen = Uint32Array.from({ length: episodes }, () => rng.int(episodes));
  const means = { real: [] as number[], dreamt: [] as number[] };
  for (let i = 0; i < real.length; i++) {
    const policy = rng.int(real.length);
    const [seen, dreamed] = [meanAt(real[policy], chosen), meanAt(dreamt[policy], chosen)];
    // A policy of which a draw has no episode has no mean.
    if (Number.isNaN(seen) || Number.isNaN(dreamed)) continue;
    means.real.push(seen);
    means.dreamt.push(dreamed);
  }
  return means;
}

/** Returns by episode; NaN where there is none. */
function columnOf(values: readonly (number | null)[]): Float64Array {
  return Float64Array.from(values, (value) => value ?? Number.NaN);
}

/** Mean over the chosen episodes that are there; NaN where none is. */
function meanAt(column: Float64Array, chosen: Uint32Array): number {
  let sum = 0;
  let count = 0;
  for (let i = 0; i < chosen.length; i++) {
    const value = column[chosen[i]];
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
  }
  return sum / count;
}

function estimateOf(value: number | null, drawn: readonly number[], n: number): Estimate {
  if (value === null) return { ...NOTHING, n };
  if (drawn.length === 0) return { value, low: null, high: null, n, method: 'none' };
  const sorted = Float64Array.from(drawn).sort();
  const [low, high] = [quantile(sorted, 0.025), quantile(sorted, 0.975)];
  return { value, low: Math.min(low, value), high: Math.max(high, value), n, method: 'bootstrap' };
}

// The rows of a ladder as a table: policies by episodes, real and dreamt, only where both are known.

export interface PolicyReturns {
  readonly name: string;
  /** By episode; null where either world has none. */
  readonly real: readonly (EpisodeReturn | null)[];
  readonly dreamt: readonly (EpisodeReturn | null)[];
}

export interface PairedReturns {
  /** Policies with at least one pair, in the order of the ladder. */
  readonly policies: readonly PolicyReturns[];
  /** Names of those without any. */
  readonly unpaired: readonly string[];
  /** Episodes of which one world has no return, and of which the dream alone has none. */
  readonly missing: number;
  readonly missingDreams: number;
}

export function pairedReturns(rows: readonly RankRow[], names: readonly string[], episodes: number): PairedReturns {
  const policies = names.map((name, policy) => {
    const own = rows.filter((row) => row.policy === policy && row.real !== null && row.dreamt !== null);
    const column = (world: 'real' | 'dreamt') => {
      const values = new Array<EpisodeReturn | null>(episodes).fill(null);
      for (const row of own) values[row.episode] = row[world];
      return values;
    };
    return { name, real: column('real'), dreamt: column('dreamt') };
  });
  const isPaired = ({ real }: PolicyReturns) => real.some((value) => value !== null);
  return {
    policies: policies.filter(isPaired),
    unpaired: policies.filter((policy) => !isPaired(policy)).map(({ name }) => name),
    missing: rows.filter(({ real, dreamt }) => real === null || dreamt === null).length,
    missingDreams: rows.filter(({ real, dreamt }) => real !== null && dreamt === null).length,
  };
}

/** What is compared of an episode. */
type Quantity = 'return' | 'length' | 'discounted' | 'largestReward';

export function valuesOf(column: readonly (EpisodeReturn | null)[], quantity: Quantity = 'return'): (number | null)[] {
  return column.map((value) => (value === null ? null : value[quantity]));
}

/** Dreamt minus real, episode by episode. */
export function gapsOf({ real, dreamt }: PolicyReturns, quantity: Quantity = 'return'): (number | null)[] {
  const seen = valuesOf(real, quantity);
  return valuesOf(dreamt, quantity).map((value, i) => (value === null ? null : value - seen[i]!));
}

/** Mean of those that are there; NaN where none is. */
export function meanOfThere(values: readonly (number | null)[]): number {
  return mean(values.filter((value) => value !== null));
}

/** What an episode came to. Plain JSON. */
export type EpisodeReturn = {
  /** Undiscounted sum of rewards. */
  readonly return: number;
  /** Steps lived. */
  readonly length: number;
  /** Sum of rewards discounted by the source's `gamma` a step. */
  readonly discounted: number;
  /** Largest absolute reward of a step. */
  readonly largestReward: number;
};

/** One episode of one policy. */
export type RankRow = {
  readonly policy: number;
  readonly episode: number;
  readonly real: EpisodeReturn | null;
  readonly dreamt: EpisodeReturn | null;
};
