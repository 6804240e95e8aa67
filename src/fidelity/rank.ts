// Do policies rank in the simulation as they do for real? A ladder of policies acts in both worlds, in episodes that are pairs: the
// same start, the same noise. Where policies and returns come from is the business of each kind of world.

import { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import type { FidelityTable } from './report.js';
import { type Finding, figuresOf, findingOf, type Instrument, metricTable, shown, unmeasured } from './section.js';
import {
  type Estimate,
  meanEstimate,
  mmrv,
  mmrvShare,
  NOTHING,
  type PolicyMeans,
  pearson,
  quantile,
  regret,
  spearman,
} from './statistics.js';

/** Returns (undiscounted sums of rewards) of one episode of one policy in both worlds; null where a world gave none. */
export type RankRow = {
  readonly policy: number;
  readonly episode: number;
  readonly real: number | null;
  readonly simulated: number | null;
};

/** A ladder, and what its policies come to. */
export interface RankSource {
  readonly policies: readonly string[];
  /** Episodes of each policy in each world. */
  readonly episodes: number;
  /** What policy number `policy` comes to in each of `episodes`. A function of its arguments alone. */
  returnsOf(
    world: 'real' | 'simulated',
    policy: number,
    episodes: readonly number[],
    signal?: AbortSignal,
  ): Promise<readonly (number | null)[]>;
}

interface RankOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** Episodes of a chunk, which a source may run side by side. */
  readonly chunkEpisodes: number;
  readonly notes: readonly string[];
}

export function rankInstrument(source: RankSource, options: RankOptions): Instrument<RankRow> {
  const { policies, episodes } = source;
  const perChunk = Math.min(options.chunkEpisodes, episodes);
  const chunksPerPolicy = Math.ceil(episodes / perChunk);
  return {
    id: 'rank',
    chunks: policies.length * chunksPerPolicy,
    measure: async (chunk, signal) => {
      const policy = Math.floor(chunk / chunksPerPolicy);
      const from = (chunk % chunksPerPolicy) * perChunk;
      const wanted = Array.from({ length: Math.min(perChunk, episodes - from) }, (_, i) => from + i);
      const real = await source.returnsOf('real', policy, wanted, signal);
      const simulated = await source.returnsOf('simulated', policy, wanted, signal);
      return wanted.map((episode, i) => ({ policy, episode, real: real[i], simulated: simulated[i] }));
    },
    conclude: (rows) => rankFinding(rows, source, options),
  };
}

/** The section of a model whose policies could not be ranked, with the reason. */
export function unrankable(reason: string): Instrument {
  const none = { policies: [], episodes: 1, returnsOf: async () => [] };
  return unmeasured(rankInstrument(none, { seed: 0, chunkEpisodes: 1, notes: [] }), reason);
}

interface PolicyReturns {
  readonly name: string;
  /** By episode; null where either world has none. */
  readonly real: readonly (number | null)[];
  readonly simulated: readonly (number | null)[];
}

const METRICS = metricTable(`
spearman         | higher  | number | Rank correlation (Spearman's rho) | Whether better policies look better in the simulation: 1 is the same order, 0 none, -1 the reverse.
pearson          | higher  | number | Linear correlation (Pearson's r) | Whether simulated returns are a straight line of the real ones, whatever its slope and height.
mmrv             | lower   | return | Mean maximum rank violation | For each policy the largest gap in real return to one that the simulation ranks the wrong way; the mean of these.
mmrv-share       | lower   | share  | Mean maximum rank violation, of the range | The same, as a share of the distance between the best and the worst real return of the ladder.
regret-at-1      | lower   | return | Regret of choosing by the simulation | Real return that is lost where the simulation's best policy is taken instead of the truly best.
spearman-ceiling | neither | number | Rank correlation of the real with itself | What half of the real episodes say of the order that the other half gives: no simulation can be told from a perfect one above this.
optimism         | neither | return | Optimism | Simulated minus real return, mean over policies: above 0 the simulation promises more than there is.
return-gap       | lower   | return | Gap between simulated and real return | Absolute difference between the mean simulated and the mean real return of a policy, mean over policies.
`);

/** null where it is not defined, such as a correlation of equal values. */
type LadderStatistic = (returns: PolicyMeans) => number | null;

const STATISTICS: Readonly<Record<string, LadderStatistic>> = {
  spearman: ({ real, simulated }) => spearman(real, simulated),
  pearson: ({ real, simulated }) => pearson(real, simulated),
  mmrv,
  'mmrv-share': mmrvShare,
  'regret-at-1': regret,
};

function rankFinding(
  rows: readonly RankRow[],
  { policies: names, episodes }: RankSource,
  options: RankOptions,
): Finding {
  const rng = Rng.fromSeed(options.seed).split('rank');
  const paired = names.map((name, policy) => {
    const own = rows.filter((row) => row.policy === policy && row.real !== null && row.simulated !== null);
    const column = (world: 'real' | 'simulated') =>
      Array.from({ length: episodes }, (_, i) => own.find(({ episode }) => episode === i)?.[world] ?? null);
    return { name, real: column('real'), simulated: column('simulated') };
  });
  const policies = paired.filter(({ real }) => real.some((value) => value !== null));
  // Of every policy of the ladder, so that models pair by policy.
  const optimism = paired.map(({ real, simulated }) => {
    const gaps = simulated.flatMap((value, i) => (value === null ? [] : [value - real[i]!]));
    return gaps.length === 0 ? null : mean(gaps);
  });
  const gaps = optimism.map((gap) => gap && Math.abs(gap));
  const estimates = {
    ...crossedBootstrap(policies, STATISTICS, rng),
    'spearman-ceiling': ceilingOf(policies, rng),
    optimism: meanEstimate(optimism, rng.split('optimism')),
    'return-gap': meanEstimate(gaps, rng.split('gap')),
  };
  const isUnranked = (estimates as Record<string, Estimate>)['spearman'].value === null;
  const figures = figuresOf(METRICS, estimates);
  return findingOf(
    {
      id: 'rank',
      title: 'Rank of policies',
      summary: summaryOf(estimates, policies.length),
      tables: policies.length === 0 ? [] : [tableOf(policies, rng)],
      notes: [...notesOf(rows, paired, names.length * episodes), ...options.notes],
      ...(isUnranked ? { missing: 'Policies are too few, or too equal in one of the worlds, to be ranked.' } : {}),
    },
    { ...figures, samples: { optimism, 'return-gap': gaps } },
  );
}

/** Spearman's correlation between the means of even and odd episodes, both real. */
function ceilingOf(policies: readonly PolicyReturns[], rng: Rng): Estimate {
  const half = (column: PolicyReturns['real'], parity: number) =>
    column.filter((_, episode) => episode % 2 === parity).slice(0, Math.floor(column.length / 2));
  const halves = policies.map(({ name, real }) => ({ name, real: half(real, 0), simulated: half(real, 1) }));
  const whole = halves.filter((policy) => [policy.real, policy.simulated].every((one) => one.some((v) => v !== null)));
  return crossedBootstrap(whole, { ceiling: STATISTICS['spearman'] }, rng.split('ceiling'), 200)['ceiling'];
}

const DRAWS = 1000;

/**
 * Value of each statistic on the ladder, with a percentile interval (95 %) from a crossed bootstrap: policies and episodes are
 * drawn with replacement, the same episodes for every policy and both worlds, as these share starts and noise (Owen 2007,
 * "The pigeonhole bootstrap", Ann. Appl. Stat. 1). Draws on which a statistic is not defined are left out. `n` is policies.
 */
function crossedBootstrap(
  policies: readonly PolicyReturns[],
  statistics: Readonly<Record<string, LadderStatistic>>,
  rng: Rng,
  draws = DRAWS,
): Record<string, Estimate> {
  const column = (of: readonly (number | null)[]) => Float64Array.from(of, (value) => value ?? Number.NaN);
  const real = policies.map((policy) => column(policy.real));
  const simulated = policies.map((policy) => column(policy.simulated));
  const names = Object.keys(statistics);
  const drawn = names.map((): number[] => []);
  const drawRng = rng.split('ladder');
  for (let draw = 0; draw < draws; draw++) {
    const returns = resampled(real, simulated, drawRng);
    names.forEach((name, i) => {
      const value = statistics[name](returns);
      if (value !== null) drawn[i].push(value);
    });
  }
  const all = Uint32Array.from({ length: real[0]?.length ?? 0 }, (_, i) => i);
  const whole = { real: real.map((one) => meanAt(one, all)), simulated: simulated.map((one) => meanAt(one, all)) };
  return Object.fromEntries(
    names.map((name, i) => [name, percentiles(statistics[name](whole), drawn[i], policies.length)]),
  );
}

function resampled(real: readonly Float64Array[], simulated: readonly Float64Array[], rng: Rng): PolicyMeans {
  const episodes = real[0]?.length ?? 0;
  const chosen = Uint32Array.from({ length: episodes }, () => rng.int(episodes));
  const means = { real: [] as number[], simulated: [] as number[] };
  for (let i = 0; i < real.length; i++) {
    const policy = rng.int(real.length);
    const pair = [meanAt(real[policy], chosen), meanAt(simulated[policy], chosen)];
    // A policy of which a draw has no episode has no mean.
    if (pair.some(Number.isNaN)) continue;
    means.real.push(pair[0]);
    means.simulated.push(pair[1]);
  }
  return means;
}

/** Mean over the chosen episodes that are there; NaN where none is. */
function meanAt(column: Float64Array, chosen: Uint32Array): number {
  return mean(Float64Array.from(chosen, (episode) => column[episode]).filter((value) => !Number.isNaN(value)));
}

function percentiles(value: number | null, drawn: readonly number[], n: number): Estimate {
  if (value === null) return { ...NOTHING, n };
  if (drawn.length === 0) return { value, low: null, high: null, n, method: 'none' };
  const sorted = Float64Array.from(drawn).sort();
  const [low, high] = [quantile(sorted, 0.025), quantile(sorted, 0.975)];
  return { value, low: Math.min(low, value), high: Math.max(high, value), n, method: 'bootstrap' };
}

function summaryOf(estimates: Readonly<Record<string, Estimate>>, policies: number): string {
  const rho = estimates['spearman'].value;
  if (rho === null) return `${policies} policies ran in both worlds: too few, or too equal, to be ranked.`;
  const order = `Over ${policies} policies the simulated order agrees with the real one with a rank correlation of ${shown(rho)}`;
  const { value, low, high } = estimates['optimism'];
  if (low === null || high === null) return `${order}.`;
  if (low > 0) return `${order}, and the simulation promises ${shown(value)} more return than there is.`;
  if (high < 0) return `${order}, and the simulation promises ${shown(-value!)} less return than there is.`;
  return `${order}; in the mean over policies the simulation promises neither more nor less return than there is, beyond chance.`;
}

function notesOf(rows: readonly RankRow[], paired: readonly PolicyReturns[], all: number): string[] {
  const missing = rows.filter(({ real, simulated }) => real === null || simulated === null).length;
  const unpaired = paired.filter(({ real }) => real.every((value) => value === null)).map(({ name }) => name);
  return [
    ...(missing === 0 ? [] : [`${missing} of ${all} episodes are left out, as one world gave no return.`]),
    ...(unpaired.length === 0 ? [] : [`Left out, as no episode could be compared: ${unpaired.join(', ')}.`]),
    'A ladder that holds policies of very different worth is easily ranked: agreement says little of policies that are close to one another.',
  ];
}

/** Best first, by the real return. */
function tableOf(policies: readonly PolicyReturns[], rng: Rng): FidelityTable {
  const rungs = policies.map(({ name, real, simulated }, i) => {
    const [own, drawn] = ['real', 'simulated'].map((world) => rng.split('policy', i).split(world));
    return { name, real: meanEstimate(real, own), simulated: meanEstimate(simulated, drawn) };
  });
  // 1 for the highest; equal values share the best place.
  const rankIn = (world: 'real' | 'simulated', own: (typeof rungs)[number]) =>
    String(1 + rungs.filter((other) => other[world].value! > own[world].value!).length);
  const cell = (estimate: Estimate) => {
    const [value, low, high] = [estimate.value, estimate.low, estimate.high].map((one) =>
      one === null ? undefined : String(Number(one.toPrecision(5))),
    );
    return low === undefined || high === undefined ? value! : `${value} [${low}, ${high}]`;
  };
  return {
    title: 'The ladder',
    columns: ['policy', 'real', 'simulated', 'rank real', 'rank simulated'],
    rows: rungs
      .toSorted((a, b) => b.real.value! - a.real.value!)
      .map((rung) => [
        ...[rung.name, cell(rung.real), cell(rung.simulated)],
        ...[rankIn('real', rung), rankIn('simulated', rung)],
      ]),
  };
}
