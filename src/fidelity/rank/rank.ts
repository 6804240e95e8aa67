// Do policies rank in the dream as they do for real? A ladder of policies lives the same episodes in both worlds.

import { Rng } from '../../core/rng.js';
import type { Finding, Instrument } from '../instrument.js';
import type { FidelityTable, LinesChart, Metric, Point } from '../report/fidelity-report.js';
import { unavailable } from '../section.js';
import { meanEstimate } from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import {
  agreementMetrics,
  type EpisodeReturn,
  gapMetrics,
  gapsOf,
  meanOfThere,
  type PairedReturns,
  type PolicyReturns,
  pairedReturns,
  type RankRow,
  valuesOf,
} from './rank-metrics.js';

const CHUNK_EPISODES = 32;
const UNIT = 'chunks of episodes';

export function rankInstrument(source: RankSource, options: RankOptions): Instrument<RankRow> {
  const { policies, episodes } = source;
  const perChunk = Math.min(options.chunkEpisodes ?? CHUNK_EPISODES, episodes);
  const chunksPerPolicy = Math.ceil(episodes / perChunk);
  return {
    id: 'rank',
    unit: UNIT,
    chunks: policies.length * chunksPerPolicy,
    measure: (chunk, signal) => {
      const policy = Math.floor(chunk / chunksPerPolicy);
      const from = (chunk % chunksPerPolicy) * perChunk;
      const wanted = Array.from({ length: Math.min(perChunk, episodes - from) }, (_, i) => from + i);
      return rowsOf(source, policy, wanted, signal);
    },
    conclude: (rows) => rankFinding(rows, source, options),
  };
}

async function rowsOf(
  source: RankSource,
  policy: number,
  episodes: readonly number[],
  signal?: AbortSignal,
): Promise<RankRow[]> {
  const real = await source.returnsOf('real', policy, episodes, signal);
  const dreamt = await source.returnsOf('dream', policy, episodes, signal);
  return episodes.map((episode, i) => ({ policy, episode, real: real[i], dreamt: dreamt[i] }));
}

/** The section of a model whose policies could not be ranked, with the reason. */
export function unrankable(reason: string): Instrument<never> {
  return unavailable({ id: 'rank', title: RANK_TITLE, unit: UNIT }, reason);
}

// From what a ladder of policies came to in both worlds to the section of the report.

const RANK_TITLE = 'Rank of policies';
const UNRANKED = 'Policies are too few, or too equal in one of the worlds, to be ranked.';

type Plan = Pick<RankSource, 'policies' | 'episodes' | 'gamma'>;

function rankFinding(rows: readonly RankRow[], plan: Plan, options: RankOptions): Finding {
  const rng = Rng.fromSeed(options.seed).split('rank');
  const ladder = pairedReturns(rows, plan.policies, plan.episodes);
  const gaps = gapMetrics(ladder, plan.gamma, rng);
  const metrics = [...agreementMetrics(ladder, rng), ...gaps.metrics];
  const told = ladder.policies.map((policy, i) => tellPolicy(policy, rng.split('policy', i)));
  return {
    section: {
      id: 'rank',
      title: RANK_TITLE,
      summary: summaryOf(metrics, ladder),
      metrics,
      charts: told.length === 0 ? [] : [chartOf(told)],
      tables: told.length === 0 ? [] : [tableOf(told)],
      worst: [],
      notes: [...notesOf(ladder, plan), ...(options.notes ?? [])],
      ...(metrics.find(({ key }) => key === 'spearman')?.estimate.value === null ? { missing: UNRANKED } : {}),
    },
    samples: gaps.samples,
  };
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

function summaryOf(metrics: readonly Metric[], { policies }: PairedReturns): string {
  const figure = (key: string) => metrics.find((metric) => metric.key === key)?.estimate;
  const rho = figure('spearman')?.value ?? null;
  if (rho === null) return `${policies.length} policies lived in both worlds: too few, or too equal, to be ranked.`;
  const order = `Over ${policies.length} policies the dream's order agrees with the real one with a rank correlation of ${shown(rho)}`;
  const optimism = figure('optimism');
  if (optimism?.low == null || optimism.high === null) return `${order}.`;
  if (optimism.low > 0) return `${order}, and promises ${shown(optimism.value!)} more return than there is.`;
  if (optimism.high < 0) return `${order}, and promises ${shown(-optimism.value!)} less return than there is.`;
  return `${order}; in the mean over policies it promises neither more nor less return than there is, beyond chance.`;
}

function notesOf({ unpaired, missing, missingDreams }: PairedReturns, { policies, episodes }: Plan): string[] {
  const all = policies.length * episodes;
  return [
    ...(missing === 0
      ? []
      : [
          `${missing} of ${all} episodes are left out, as one world gave no return; ${missingDreams} of them for want of the dream's alone.`,
        ]),
    ...(unpaired.length === 0 ? [] : [`Left out, as no episode could be compared: ${unpaired.join(', ')}.`]),
    'A ladder that holds policies of very different worth is easily ranked: agreement says little of policies that are close to one another.',
  ];
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
    title: 'Return of each policy, real and dreamt',
    caption: 'Each point is a policy with the interval of its dreamt return; on the diagonal the dream is right.',
    xTitle: 'real return',
    yTitle: 'dreamt return',
    diagonal: true,
    series: [{ name: 'policies', points }],
  };
}

/** Best first, by the real return. */
function tableOf(told: readonly ToldPolicy[]): FidelityTable {
  const dreamtRank = ranks(told.map(({ dreamt }) => dreamt.value!));
  const order = told.map((_, i) => i).sort((a, b) => told[b].real.value! - told[a].real.value!);
  return {
    title: 'The ladder',
    columns: ['policy', 'real', 'dreamt', 'optimism', 'rank real', 'rank dreamt', 'length real', 'length dreamt'],
    rows: order.map((i, place) => {
      const { name, real, dreamt, optimism, lengths } = told[i];
      const figures = [real, dreamt, optimism].map(shownEstimate);
      return [name, ...figures, String(place + 1), String(dreamtRank[i]), ...lengths.map(shown)];
    }),
  };
}

/** 1 for the highest; equal values share the best place. */
function ranks(values: readonly number[]): number[] {
  return values.map((value) => 1 + values.filter((other) => other > value).length);
}

function shownEstimate({ value, low, high }: Estimate): string {
  if (value === null) return '–';
  return low === null || high === null ? shown(value) : `${shown(value)} [${shown(low)}, ${shown(high)}]`;
}

function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(digits).replace(/^-(0(?:\.0+)?)$/, '$1');
}

// What the ranking of policies is measured on: the same policies, in the same episodes, for real and in the dream.

export type World = 'real' | 'dream';

export interface RankSource {
  /** Names, each once. */
  readonly policies: readonly string[];
  /** Of each policy: episode i begins in the same state, with the same noise of the actions, in both worlds and for all policies. */
  readonly episodes: number;
  /** Discount of `EpisodeReturn.discounted`, in [0, 1). */
  readonly gamma: number;
  /**
   * What policy number `policy` comes to in each of `episodes`. null: the episode could not be judged, or the dream broke off.
   * A function of its arguments alone.
   */
  returnsOf(
    world: World,
    policy: number,
    episodes: readonly number[],
    signal?: AbortSignal,
  ): Promise<readonly (EpisodeReturn | null)[]>;
}

export interface RankOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** Episodes of a chunk, which a source may live side by side. */
  readonly chunkEpisodes?: number;
  /** What a reader must know of how both worlds were lived in. */
  readonly notes?: readonly string[];
}
