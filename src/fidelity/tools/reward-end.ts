// What a dream says an episode was worth, and what it was worth: episodes of agents that err, lived in the dream, judged on
// the dreamt state and on the state that the same calls truly lead to.

import type { Finding, Instrument } from '../instrument.js';
import type { BarsChart, FidelityTable, WorstTransition } from '../report/fidelity-report.js';
import {
  estimateIn,
  type FoundMetric,
  findingOf,
  flag,
  meanMetric,
  percent,
  plainMetric,
  shareMetric,
} from '../section.js';
import { precisionRecall } from '../statistics/estimate.js';
import type { LivedEpisodes, LivedRow } from './lived-episodes.js';

const EPISODES = 4;
const SHOWN = 8;

export interface RewardEndOptions {
  readonly lived: LivedEpisodes;
  readonly notes?: readonly string[];
}

export function rewardEndInstrument({ lived, notes = [] }: RewardEndOptions): Instrument<LivedRow> {
  return {
    id: 'reward-end',
    chunks: Math.ceil(lived.count / EPISODES),
    unit: 'episodes',
    measure: async (chunk, signal) => {
      const rows: LivedRow[] = [];
      const end = Math.min((chunk + 1) * EPISODES, lived.count);
      for (let episode = chunk * EPISODES; episode < end; episode++) rows.push(await lived.row(episode, signal));
      return rows;
    },
    conclude: (rows) => concluded(rows, lived.hasTruth, notes),
  };
}

function missingOf(decided: readonly LivedRow[], hasTruth: boolean): { readonly missing?: string } {
  if (!hasTruth) return { missing: NO_TRUTH };
  if (decided.length === 0) return { missing: 'No episode could be decided in both worlds.' };
  return decided.every(({ real }) => real === 1) ? { missing: 'No episode that was judged failed for real.' } : {};
}

const NO_TRUTH = 'No rules carry dreamt calls out for real: what episodes were truly worth is not known.';

function concluded(rows: readonly LivedRow[], hasTruth: boolean, notes: readonly string[]): Finding {
  const found = [...rewardMetrics(rows), ...endMetrics(rows)];
  const estimate = (key: string) => estimateIn(found, key);
  const decided = rows.filter(({ dreamt, real }) => dreamt !== null && real !== null);
  return findingOf(
    {
      id: 'reward-end',
      title: 'Reward and end',
      summary:
        `Of what the dream rewards, ${percent(estimate('precision'))} is truly done; ` +
        `it rewards ${percent(estimate('false-done'))} of what is not.`,
      charts: [returnChart(found)],
      tables: [confusionTable(decided)],
      worst: worstEpisodes(rows),
      notes: [...notes, ...(hasTruth ? [] : [NO_TRUTH]), ...notesOf(rows)],
      ...missingOf(decided, hasTruth),
    },
    found,
  );
}

function rewardMetrics(rows: readonly LivedRow[]): FoundMetric[] {
  const pairs = rows.map(({ dreamt, real }) => (dreamt === null || real === null ? null : { dreamt, real }));
  const decided = pairs.filter((pair) => pair !== null);
  const confusion = precisionRecall(
    decided.map(({ dreamt }) => dreamt === 1),
    decided.map(({ real }) => real === 1),
  );
  const share = (key: string, label: string, better: 'higher' | 'lower', meaning: string, of: typeof confusion.f1) =>
    plainMetric({ key, label, better, unit: 'share', meaning }, of);
  return [
    share('f1', 'F1', 'higher', 'Harmonic mean of precision and recall of success.', confusion.f1),
    share('precision', 'Precision', 'higher', 'Share of dreamt successes that are real ones.', confusion.precision),
    share('recall', 'Recall', 'higher', 'Share of real successes that the dream rewards.', confusion.recall),
    share(
      'false-done',
      'False done',
      'lower',
      'Share of real failures that the dream takes for success.',
      confusion.falsePositive,
    ),
    meanMetric(
      {
        key: 'optimism',
        label: 'Optimism',
        better: 'neither',
        unit: 'return',
        meaning: 'Dreamt minus real return of the same calls: above 0, the dream promises too much.',
      },
      pairs.map((pair) => (pair === null ? null : pair.dreamt - pair.real)),
    ),
    shareMetric(
      {
        key: 'reward-exact',
        label: 'Reward exact',
        better: 'higher',
        meaning: 'Share of episodes whose dreamt reward is the real one.',
      },
      pairs.map((pair) => (pair === null ? null : Number(pair.dreamt === pair.real))),
    ),
    ...returnMetrics(pairs),
  ];
}

function returnMetrics(pairs: readonly ({ dreamt: number; real: number } | null)[]): FoundMetric[] {
  return (['dreamt', 'real'] as const).map((which) =>
    meanMetric(
      {
        key: `${which}-return`,
        label: which === 'dreamt' ? 'Dreamt return' : 'Real return',
        better: 'neither',
        unit: 'return',
        meaning: `Mean ${which} return of the episodes for which both are known.`,
      },
      pairs.map((pair) => pair?.[which] ?? null),
    ),
  );
}

function endMetrics(rows: readonly LivedRow[]): FoundMetric[] {
  const share = (
    key: string,
    label: string,
    better: 'higher' | 'lower',
    meaning: string,
    of: (row: LivedRow) => boolean | null,
  ) =>
    shareMetric(
      { key, label, better, meaning },
      rows.map((row) => flag(of(row))),
    );
  return [
    share(
      'end-state',
      'End state exact',
      'higher',
      'Share of episodes chosen in the dream that end in the state their calls truly lead to.',
      ({ endState }) => endState,
    ),
    share(
      'termination',
      'End alike',
      'higher',
      'Of episodes in which a tool was called that can end them: share that it ends in both or in neither.',
      ({ ends }) => ends,
    ),
    share(
      'undecided',
      'Undecided',
      'lower',
      'Share of episodes of which the real reward is known and the dream cannot say.',
      ({ dreamt, real }) => (real === null ? null : dreamt === null),
    ),
    share(
      'not-lived',
      'Not lived',
      'lower',
      'Share of episodes that were not lived, as a model did not answer; they count nowhere else.',
      ({ answered }) => !answered,
    ),
  ];
}

function notesOf(rows: readonly LivedRow[]): string[] {
  const open = rows.filter(({ dreamt, answered }) => answered && dreamt === null).length;
  const ended = rows.some(({ ends }) => ends !== null);
  return [
    'Tools give no reward of their own here: an episode is judged at its end, by exact checks and then by the judge.',
    ...(open === 0 ? [] : [`${open} episodes have no dreamt reward: no state to check, a refused call, or no judge.`]),
    ...(ended ? [] : ['No tool was called that can end an episode: whether ends agree is not known.']),
  ];
}

function returnChart(found: readonly FoundMetric[]): BarsChart {
  const bars = found.filter(({ metric }) => metric.key.endsWith('-return'));
  return {
    kind: 'bars',
    title: 'Dreamt and real return',
    caption: 'Mean return of the same calls in the dream that they were chosen in, and for real.',
    bars: bars.map(({ metric: { label, estimate, unit } }) => ({ label, estimate, unit })),
  };
}

function confusionTable(decided: readonly LivedRow[]): FidelityTable {
  const count = (dreamt: boolean, real: boolean) =>
    String(decided.filter((row) => (row.dreamt === 1) === dreamt && (row.real === 1) === real).length);
  return {
    title: 'Dreamt against real success',
    columns: ['', 'truly done', 'truly not done'],
    rows: [
      ['rewarded in the dream', count(true, true), count(true, false)],
      ['not rewarded in the dream', count(false, true), count(false, false)],
    ],
  };
}

/** Reward for nothing is worse than none for something: learners go where it is. */
function worstEpisodes(rows: readonly LivedRow[]): WorstTransition[] {
  return rows
    .filter(({ dreamt, real }) => dreamt !== null && real !== null && dreamt !== real)
    .sort((a, b) => b.dreamt! - b.real! - (a.dreamt! - a.real!))
    .slice(0, SHOWN)
    .map(({ task, policy, episode, dreamt, real, calls, checks }) => ({
      title: `episode ${episode} of ${task}`,
      badness: dreamt! > real! ? 2 : 1,
      context: { task, agent: policy, episode },
      action: calls,
      real: { reward: real },
      dreamt: { reward: dreamt },
      differences: checks.map((check) => ({ path: check.name, real: check.real, dreamt: check.dreamt })),
    }));
}
