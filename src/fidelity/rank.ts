// Do policies rank in the simulation as they do for real? A ladder of policies is run in the same episodes in both worlds:
// agreement of rank, what trusting the simulation's choice costs, and how hopeful it is.

import { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import type { Finding, Instrument } from './measure.js';
import type { FidelityTable, LinesChart, Metric, Point } from './report.js';
import { shown as digits, metricTable, unavailable } from './section.js';
import { kendall, mmrv, mmrvShare, pearson, regretAt, spearman } from './statistics/agreement.js';
import { meanEstimate, quantile } from './statistics/bootstrap.js';
import { type Estimate, NOTHING } from './statistics/estimate.js';

/** What an episode came to. Plain JSON. */
export type EpisodeReturn = {
  /** Undiscounted sum of rewards. */
  readonly return: number;
  readonly length: number;
};

/** One episode of one policy; null where it could not be judged, or the simulation broke off. */
export type RankRow = {
  readonly policy: number;
  readonly episode: number;
  readonly real: EpisodeReturn | null;
  readonly dreamt: EpisodeReturn | null;
};

export interface RankSource {
  /** Names, each once. */
  readonly policies: readonly string[];
  /** Of each policy: episode i begins in the same state, with the same noise of the actions, in both worlds and for all policies. */
  readonly episodes: number;
  /** What policy number `policy` comes to in each of `episodes`. A function of its arguments alone. */
  returnsOf(
    world: 'real' | 'dream',
    policy: number,
    episodes: readonly number[],
    signal?: AbortSignal,
  ): Promise<readonly (EpisodeReturn | null)[]>;
}

export interface RankOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** Episodes of a chunk, which a source may run side by side. */
  readonly chunkEpisodes: number;
  readonly notes: readonly string[];
}

const ABOUT = { id: 'rank', title: 'Rank of policies', unit: 'chunks of episodes' } as const;

export function rankInstrument(source: RankSource, options: RankOptions): Instrument<RankRow> {
  const { policies, episodes } = source;
  const perChunk = Math.min(options.chunkEpisodes, episodes);
  const chunksPerPolicy = Math.ceil(episodes / perChunk);
  return {
    id: ABOUT.id,
    unit: ABOUT.unit,
    chunks: policies.length * chunksPerPolicy,
    measure: async (chunk, signal) => {
      const policy = Math.floor(chunk / chunksPerPolicy);
      const from = (chunk % chunksPerPolicy) * perChunk;
      const wanted = Array.from({ length: Math.min(perChunk, episodes - from) }, (_, i) => from + i);
      const real = await source.returnsOf('real', policy, wanted, signal);
      const dreamt = await source.returnsOf('dream', policy, wanted, signal);
      return wanted.map((episode, i) => ({ policy, episode, real: real[i], dreamt: dreamt[i] }));
    },
    conclude: (rows) => rankFinding(rows, source, options),
  };
}

/** The section of a model whose policies could not be ranked, with the reason. */
export function unrankable(reason: string): Instrument<never> {
  return unavailable(ABOUT, reason);
}

interface PolicyReturns {
  readonly name: string;
  /** By episode; null where either world has none. */
  readonly real: readonly (EpisodeReturn | null)[];
  readonly dreamt: readonly (EpisodeReturn | null)[];
}

/** Mean returns of the policies, real and simulated. */
interface LadderReturns {
  readonly real: readonly number[];
  readonly dreamt: readonly number[];
}

/** null where it is not defined, such as a correlation of equal values. */
type LadderStatistic = (returns: LadderReturns) => number | null;

const METRICS = metricTable(`
spearman         | higher  | number | Rank correlation (Spearman's rho) | Whether better policies look better in the simulation: 1 is the same order, 0 none, -1 the reverse.
kendall          | higher  | number | Rank correlation (Kendall's tau-b) | Pairs of policies that the simulation puts in the right order minus those in the wrong one, as a share.
pearson          | higher  | number | Linear correlation (Pearson's r) | Whether simulated returns are a straight line of the real ones, whatever its slope and height.
mmrv             | lower   | return | Mean maximum rank violation | For each policy the largest gap in real return to one that the simulation ranks the wrong way; the mean of these.
mmrv-share       | lower   | share  | Mean maximum rank violation, of the range | The same, as a share of the distance between the best and the worst real return of the ladder.
regret-at-1      | lower   | return | Regret of choosing by the simulation (best 1) | Real return that is lost where the simulation's best policy is taken instead of the truly best.
regret-at-3      | lower   | return | Regret of choosing by the simulation (best 3) | The same where the simulation's best three are tried for real and the best of them is kept.
spearman-ceiling | neither | number | Rank correlation of the real with itself | What half of the real episodes say of the order that the other half gives: no simulation can be told from a perfect one above this.
optimism         | neither | return | Optimism | Simulated minus real return, mean over policies: above 0 the simulation promises more than there is.
return-gap       | lower   | return | Gap between simulated and real return | Absolute difference between the mean simulated and the mean real return of a policy, mean over policies.
`);

const STATISTICS: Readonly<Record<string, LadderStatistic>> = {
  spearman: ({ real, dreamt }) => spearman(real, dreamt),
  kendall: ({ real, dreamt }) => kendall(real, dreamt),
  pearson: ({ real, dreamt }) => pearson(real, dreamt),
  mmrv,
  'mmrv-share': mmrvShare,
  'regret-at-1': (returns) => regretAt(1, returns),
  'regret-at-3': (returns) => regretAt(3, returns),
};

const UNRANKED = 'Policies are too few, or too equal in one of the worlds, to be ranked.';

function rankFinding(
  rows: readonly RankRow[],
  { policies: names, episodes }: RankSource,
  options: RankOptions,
): Finding {
  const rng = Rng.fromSeed(options.seed).split('rank');
  const paired = names.map((name, policy) =>
    pairedReturns(
      name,
      rows.filter((row) => row.policy === policy),
      episodes,
    ),
  );
  const policies = paired.filter(({ real }) => real.some((value) => value !== null));
  const unpaired = paired.filter((policy) => !policies.includes(policy)).map(({ name }) => name);
  const optimism = policies.map((policy) => meanOfThere(gapsOf(policy)));
  const gaps = optimism.map(Math.abs);
  const estimates: Readonly<Record<string, Estimate>> = {
    ...crossedBootstrap(policies, STATISTICS, rng),
    'spearman-ceiling': ceilingOf(policies, rng),
    optimism: meanEstimate(optimism, rng.split('optimism')),
    'return-gap': meanEstimate(gaps, rng.split('gap')),
  };
  const metrics = Object.entries(METRICS).map(([key, info]): Metric => ({ key, ...info, estimate: estimates[key] }));
  const told = policies.map((policy, i) => tellPolicy(policy, rng.split('policy', i)));
  return {
    section: {
      id: ABOUT.id,
      title: ABOUT.title,
      summary: summaryOf(estimates, policies.length),
      metrics,
      charts: told.length === 0 ? [] : [chartOf(told)],
      tables: told.length === 0 ? [] : [tableOf(told)],
      worst: [],
      notes: [...notesOf(rows, unpaired, names.length * episodes), ...options.notes],
      ...(estimates['spearman'].value === null ? { missing: UNRANKED } : {}),
    },
    samples: { optimism, 'return-gap': gaps },
  };
}

function pairedReturns(name: string, rows: readonly RankRow[], episodes: number): PolicyReturns {
  const column = (world: 'real' | 'dreamt') => {
    const values = new Array<EpisodeReturn | null>(episodes).fill(null);
    for (const row of rows) if (row.real !== null && row.dreamt !== null) values[row.episode] = row[world];
    return values;
  };
  return { name, real: column('real'), dreamt: column('dreamt') };
}

function valuesOf(column: readonly (EpisodeReturn | null)[], of: 'return' | 'length' = 'return'): (number | null)[] {
  return column.map((value) => value?.[of] ?? null);
}

/** Simulated minus real, episode by episode. */
function gapsOf({ real, dreamt }: PolicyReturns): (number | null)[] {
  return dreamt.map((value, i) => (value === null ? null : value.return - real[i]!.return));
}

/** Mean of those that are there; NaN where none is. */
function meanOfThere(values: readonly (number | null)[]): number {
  return mean(values.filter((value) => value !== null));
}

/** Spearman's correlation between the means of even and odd episodes, both real. */
function ceilingOf(policies: readonly PolicyReturns[], rng: Rng): Estimate {
  const half = (column: PolicyReturns['real'], parity: number) =>
    column.filter((_, episode) => episode % 2 === parity).slice(0, Math.floor(column.length / 2));
  const halves = policies.map(({ name, real }) => ({ name, real: half(real, 0), dreamt: half(real, 1) }));
  const whole = halves.filter((policy) => [policy.real, policy.dreamt].every((one) => one.some((v) => v !== null)));
  return crossedBootstrap(whole, { ceiling: STATISTICS['spearman'] }, rng.split('ceiling'), 200)['ceiling'];
}

const DRAWS = 1000;

/**
 * Value of each statistic on the ladder, with a percentile interval (95 %) from a crossed bootstrap: policies and episodes are
 * drawn with replacement, the same episodes for every policy and both worlds, as these share starts and noise (Owen 2007,
 * "The pigeonhole bootstrap", Ann. Appl. Stat. 1). Draws on which a statistic is not defined are left out. `n` is policies.
 */
export function crossedBootstrap(
  policies: readonly PolicyReturns[],
  statistics: Readonly<Record<string, LadderStatistic>>,
  rng: Rng,
  draws = DRAWS,
): Record<string, Estimate> {
  const column = (of: PolicyReturns['real']) => Float64Array.from(valuesOf(of), (value) => value ?? Number.NaN);
  const real = policies.map((policy) => column(policy.real));
  const dreamt = policies.map((policy) => column(policy.dreamt));
  const names = Object.keys(statistics);
  const drawn = names.map((): number[] => []);
  const drawRng = rng.split('ladder');
  for (let draw = 0; draw < draws; draw++) {
    const returns = resampled(real, dreamt, drawRng);
    names.forEach((name, i) => {
      const value = statistics[name](returns);
      if (value !== null) drawn[i].push(value);
    });
  }
  const all = Uint32Array.from({ length: real[0]?.length ?? 0 }, (_, i) => i);
  const whole = { real: real.map((one) => meanAt(one, all)), dreamt: dreamt.map((one) => meanAt(one, all)) };
  return Object.fromEntries(
    names.map((name, i) => [name, estimateOf(statistics[name](whole), drawn[i], policies.length)]),
  );
}

function resampled(real: readonly Float64Array[], dreamt: readonly Float64Array[], rng: Rng): LadderReturns {
  const episodes = real[0]?.length ?? 0;
  const chosen = Uint32Array.from({ length: episodes }, () => rng.int(episodes));
  const means = { real: [] as number[], dreamt: [] as number[] };
  for (let i = 0; i < real.length; i++) {
    const policy = rng.int(real.length);
    const [seen, simulated] = [meanAt(real[policy], chosen), meanAt(dreamt[policy], chosen)];
    // A policy of which a draw has no episode has no mean.
    if (Number.isNaN(seen) || Number.isNaN(simulated)) continue;
    means.real.push(seen);
    means.dreamt.push(simulated);
  }
  return means;
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

function summaryOf(
  { spearman: { value: rho }, optimism }: Readonly<Record<string, Estimate>>,
  policies: number,
): string {
  if (rho === null) return `${policies} policies ran in both worlds: too few, or too equal, to be ranked.`;
  const order = `Over ${policies} policies the simulated order agrees with the real one with a rank correlation of ${digits(rho)}`;
  const { value, low, high } = optimism;
  if (low === null || high === null) return `${order}.`;
  if (low > 0) return `${order}, and the simulation promises ${digits(value)} more return than there is.`;
  if (high < 0) return `${order}, and the simulation promises ${digits(-value!)} less return than there is.`;
  return `${order}; in the mean over policies the simulation promises neither more nor less return than there is, beyond chance.`;
}

function notesOf(rows: readonly RankRow[], unpaired: readonly string[], all: number): string[] {
  const missing = rows.filter(({ real, dreamt }) => real === null || dreamt === null).length;
  const simulated = rows.filter(({ real, dreamt }) => real !== null && dreamt === null).length;
  return [
    ...(missing === 0
      ? []
      : [
          `${missing} of ${all} episodes are left out, as one world gave no return; ${simulated} of them for want of the simulated one alone.`,
        ]),
    ...(unpaired.length === 0 ? [] : [`Left out, as no episode could be compared: ${unpaired.join(', ')}.`]),
    'A ladder that holds policies of very different worth is easily ranked: agreement says little of policies that are close to one another.',
  ];
}

interface ToldPolicy {
  readonly name: string;
  readonly real: Estimate;
  readonly dreamt: Estimate;
  readonly optimism: Estimate;
  readonly lengths: readonly [real: number, dreamt: number];
}

function tellPolicy(policy: PolicyReturns, rng: Rng): ToldPolicy {
  const { name, real, dreamt } = policy;
  return {
    name,
    real: meanEstimate(valuesOf(real), rng.split('real')),
    dreamt: meanEstimate(valuesOf(dreamt), rng.split('dreamt')),
    optimism: meanEstimate(gapsOf(policy), rng.split('optimism')),
    lengths: [meanOfThere(valuesOf(real, 'length')), meanOfThere(valuesOf(dreamt, 'length'))],
  };
}

function chartOf(told: readonly ToldPolicy[]): LinesChart {
  const points = told.map(
    ({ name, real, dreamt }): Point => ({
      x: real.value!,
      y: dreamt.value!,
      ...(dreamt.low === null || dreamt.high === null ? {} : { low: dreamt.low, high: dreamt.high }),
      label: name,
    }),
  );
  return {
    kind: 'points',
    title: 'Return of each policy, real and simulated',
    caption:
      'Each point is a policy with the interval of its simulated return; on the diagonal the simulation is right.',
    xTitle: 'real return',
    yTitle: 'simulated return',
    diagonal: true,
    series: [{ name: 'policies', points }],
  };
}

/** Best first, by the real return. */
function tableOf(told: readonly ToldPolicy[]): FidelityTable {
  const order = told.map((_, i) => i).sort((a, b) => told[b].real.value! - told[a].real.value!);
  // 1 for the highest; equal values share the best place.
  const rankOf = (value: number) => 1 + told.filter((other) => other.dreamt.value! > value).length;
  return {
    title: 'The ladder',
    columns: [
      'policy',
      'real',
      'simulated',
      'optimism',
      'rank real',
      'rank simulated',
      'length real',
      'length simulated',
    ],
    rows: order.map((i, place) => {
      const { name, real, dreamt, optimism, lengths } = told[i];
      const figures = [real, dreamt, optimism].map(shownEstimate);
      return [name, ...figures, String(place + 1), String(rankOf(dreamt.value!)), ...lengths.map(shown)];
    }),
  };
}

function shownEstimate({ value, low, high }: Estimate): string {
  if (value === null) return '–';
  return low === null || high === null ? shown(value) : `${shown(value)} [${shown(low)}, ${shown(high)}]`;
}

function shown(value: number): string {
  const places = Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(places).replace(/^-(0(?:\.0+)?)$/, '$1');
}
