// Many steps: real episodes' calls carried out open loop in the dream, and episodes whose calls were chosen in the dream
// carried out for real (the consistency ratio of Word2World, 2512.18832: success for real over success in the dream).

import type { Finding, Instrument } from '../instrument.js';
import type { FidelityTable, LinesChart, WorstTransition } from '../report/fidelity-report.js';
import {
  estimateIn,
  type FoundMetric,
  findingOf,
  flag,
  meanMetric,
  openAbove,
  percent,
  plainMetric,
  shareMetric,
  streamOf,
} from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { shareEstimate } from '../statistics/estimate.js';
import { constructed } from './answers.js';
import type { LivedEpisodes, LivedRow } from './lived-episodes.js';
import {
  type CarrySequence,
  type OpenLoopRow,
  type OpenLoopStep,
  openLoopRow,
  type TrueSequence,
} from './open-loop.js';

/** Episodes of one chunk. */
const EPISODES = 4;
const SHOWN = 8;

export interface KStepsOptions {
  readonly sequences: readonly TrueSequence[];
  readonly carry: CarrySequence;
  readonly lived: LivedEpisodes;
  /** Who answers by what is also the truth. */
  readonly truthBackend?: string;
  readonly notes?: readonly string[];
}

type Row = OpenLoopRow | LivedRow;

export function kStepsInstrument(options: KStepsOptions): Instrument<Row> {
  const { sequences, lived, carry } = options;
  const open = Math.ceil(sequences.length / EPISODES);
  return {
    id: 'k-steps',
    chunks: open + Math.ceil(lived.count / EPISODES),
    unit: 'episodes',
    measure: async (chunk, signal) => {
      const rows: Row[] = [];
      const from = (chunk < open ? chunk : chunk - open) * EPISODES;
      const end = Math.min(from + EPISODES, chunk < open ? sequences.length : lived.count);
      for (let episode = from; episode < end; episode++) {
        rows.push(
          chunk < open
            ? await openLoopRow({ sequence: sequences[episode], episode, carry, signal })
            : await lived.row(episode, signal),
        );
      }
      return rows;
    },
    conclude: (rows) => concluded(options, rows),
  };
}

function concluded({ sequences, lived, truthBackend, notes = [] }: KStepsOptions, rows: readonly Row[]): Finding {
  const loops = rows.filter((row) => row.kind === 'open-loop');
  const episodes = rows.filter((row) => row.kind === 'lived');
  const found = kStepMetrics(loops, episodes);
  const estimate = (key: string) => estimateIn(found, key);
  const missing = missingOf(loops, lived, estimate('consistency-ratio').value !== null);
  return findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Of ${loops.length} real episodes carried out in the dream, ${percent(estimate('end-state'))} end in the real state, and ${percent(estimate('observations-all-right'))} are answered in the real words throughout.`,
      charts: [survivalChart(loops)],
      tables: [divergenceTable(loops)],
      worst: worstDivergences(loops, sequences),
      notes: [...notes, ...notesOf(loops, lived)],
      ...(missing === undefined ? {} : { missing }),
      ...constructed(
        loops.flatMap(({ steps }) => steps.map(({ backend }) => backend)),
        truthBackend,
      ),
    },
    found,
  );
}

function notesOf(loops: readonly OpenLoopRow[], lived: LivedEpisodes): string[] {
  const cut = loops.filter(({ isWhole }) => !isWhole).length;
  const stateless = loops.some(({ steps }) => steps.some(({ state }) => state === null));
  return [
    'What was said in an episode stays as it was, whatever the dream answered: an agent would have reacted.',
    'A state that turned wrong and right again counts as wrong once and right later; first divergence does not forgive.',
    ...(cut === 0 ? [] : [`${cut} episodes broke off at a call that got no answer; they count up to there.`]),
    ...(isEverWrong(loops, ({ state }) => state) || isUnknown(loops)
      ? []
      : [
          'No state was ever wrong: the steps before the first wrong one are the mean length of these episodes, and how long a dream would go on right is not known.',
        ]),
    ...(stateless ? ['Of some steps no state is known, for real or in the dream: only their observations count.'] : []),
    ...(lived.hasTruth ? [] : [NO_TRUTH]),
  ];
}

const NO_TRUTH = 'No rules carry dreamt calls out for real: the consistency ratio is not known.';

/** Of no step it is known whether its state is right. */
function isUnknown(loops: readonly OpenLoopRow[]): boolean {
  return loops.every(({ steps }) => steps.every(({ state }) => state === null));
}

/** Why steps before the first wrong state, or the consistency ratio, have no value. */
function missingOf(
  loops: readonly OpenLoopRow[],
  { hasTruth }: LivedEpisodes,
  isRewarded: boolean,
): string | undefined {
  const reasons = [
    ...(loops.length === 0 ? ['No real episode was carried out in the dream.'] : []),
    ...(loops.length > 0 && isUnknown(loops) ? ['Of no step the state is known, for real or in the dream.'] : []),
    ...(hasTruth ? [] : [NO_TRUTH]),
    ...(hasTruth && !isRewarded ? ['No episode that could be decided was rewarded in the dream.'] : []),
  ];
  return reasons.length === 0 ? undefined : reasons.join(' ');
}

function survivalChart(loops: readonly OpenLoopRow[]): LinesChart {
  const longest = Math.max(0, ...loops.map(({ steps }) => steps.length));
  const points = (rightAt: (row: OpenLoopRow, step: number) => boolean | null) =>
    Array.from({ length: longest }, (_, step) => {
      const there = loops
        .filter(({ steps }) => steps.length > step)
        .map((row) => rightAt(row, step))
        .filter((right) => right !== null);
      const { value, low, high } = shareEstimate(there.filter(Boolean).length, there.length);
      return value === null ? [] : [{ x: step + 1, y: value, low: low!, high: high! }];
    }).flat();
  return {
    kind: 'lines',
    title: 'Still right after so many steps',
    caption:
      'Share of episodes that are right at a step, of those that have it, under the calls that were made for real.',
    xTitle: 'step',
    yTitle: 'share right',
    series: [
      { name: 'state', points: points(({ steps }, step) => steps[step].state) },
      { name: 'observation', points: points(({ steps }, step) => steps[step].observation) },
    ],
  };
}

function divergenceTable(loops: readonly OpenLoopRow[]): FidelityTable {
  const counts = new Map<string, number>();
  for (const { divergence } of loops) {
    if (divergence === null) continue;
    const { name } = divergence.call as { name: string };
    const key = JSON.stringify([name, divergence.backend]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, a], [, b]) => b - a).slice(0, 2 * SHOWN);
  return {
    title: 'Where episodes first went wrong',
    columns: ['tool', 'backend', 'episodes'],
    rows: rows.map(([key, count]) => [...(JSON.parse(key) as [string, string]), String(count)]),
  };
}

/** The earliest ones, as they spoil most. */
function worstDivergences(loops: readonly OpenLoopRow[], sequences: readonly TrueSequence[]): WorstTransition[] {
  return loops
    .flatMap(({ divergence, steps, episode }) => (divergence === null ? [] : [{ divergence, steps, episode }]))
    .map((row) => ({ ...row, badness: 1 - row.divergence.step / row.steps.length }))
    .sort((a, b) => b.badness - a.badness)
    .slice(0, SHOWN)
    .map(({ divergence, episode, steps, badness }) => {
      const { id, task } = sequences[episode];
      const { step, call, real, dreamt, backend, confidence, differences } = divergence;
      const title = `step ${step + 1} of ${steps.length} in ${task.id}`;
      const context = { episode: id, task: task.id, step: step + 1, steps: steps.length };
      return { title, badness, context, action: call, real, dreamt, differences, backend, confidence };
    });
}

// What carried-out episodes come to: how long a dream keeps to what happened, and whether what was achieved in it holds.

function kStepMetrics(loops: readonly OpenLoopRow[], lived: readonly LivedRow[]): FoundMetric[] {
  return [
    divergenceRate('divergence-rate', loops, ({ state }) => state),
    ...stateMetrics(loops),
    ...observationMetrics(loops),
    ...backendsOf(loops).map((backend) =>
      divergenceRate(`divergence-rate-${backend}`, loops, ({ state }) => state, backend),
    ),
    consistency(lived),
  ];
}

type Right = (step: OpenLoopStep) => boolean | null;

/** Steps taken where all before were right are trials, whichever episode they are of: episodes of all lengths count. */
function divergenceRate(key: string, loops: readonly OpenLoopRow[], right: Right, backend?: string): FoundMetric {
  const trials = loops
    .flatMap(({ steps }) => steps.slice(0, trialsOf(steps, right)))
    .filter((step) => right(step) !== null && (backend === undefined || step.backend === backend));
  const wrong = trials.filter((step) => right(step) === false).length;
  const of = key.startsWith('observation') ? 'observation' : 'state';
  const whose = backend === undefined ? '' : `, by ${backend}`;
  return plainMetric(
    {
      key,
      label: of === 'state' ? `Divergence${whose}` : 'Divergence of observations',
      better: 'lower',
      unit: 'share',
      meaning: `Probability that a step${whose && ` answered${whose}`} is the first with a wrong ${of}, if all before it were right.`,
    },
    shareEstimate(wrong, trials.length),
  );
}

/** Steps up to and with the first that is wrong. */
function trialsOf(steps: readonly OpenLoopStep[], right: Right): number {
  const first = steps.findIndex((step) => right(step) === false);
  return first < 0 ? steps.length : first + 1;
}

function stateMetrics(loops: readonly OpenLoopRow[]): FoundMetric[] {
  return [
    shareMetric(
      {
        key: 'end-state',
        label: 'Right at the end',
        better: 'higher',
        meaning: 'Share of real episodes that end in the real state when their calls are carried out in the dream.',
      },
      loops.map(({ steps, isWhole }) => (isWhole && steps.length > 0 ? flag(steps.at(-1)!.state) : null)),
    ),
    meanMetric(
      {
        key: 'state-right',
        label: 'Steps with a right state',
        better: 'higher',
        unit: 'share',
        meaning: "Share of an episode's steps after which the dreamt state is the real one; mean over episodes.",
      },
      loops.map(({ steps }) => shareOf(steps, ({ state }) => state)),
    ),
    watchedSteps(
      loops,
      ({ state }) => state,
      {
        key: 'steps-to-divergence',
        label: 'Steps before the first wrong state',
        better: 'higher',
        unit: 'steps',
        meaning: 'Steps of an episode before its state is wrong for the first time; all of them where it never is.',
      },
      (steps, right) => stepsBefore(steps, right),
    ),
  ];
}

/** Steps until something is wrong; where nothing ever was, all that is known is that they are no fewer. */
function watchedSteps(
  loops: readonly OpenLoopRow[],
  right: Right,
  told: Parameters<typeof meanMetric>[0],
  stepsOf: (steps: readonly OpenLoopStep[], right: Right) => number | null,
): FoundMetric {
  const found = meanMetric(
    told,
    loops.map(({ steps }) => stepsOf(steps, right)),
  );
  return isEverWrong(loops, right) ? found : openAbove(found);
}

function isEverWrong(loops: readonly OpenLoopRow[], right: Right): boolean {
  return loops.some(({ steps }) => steps.some((step) => right(step) === false));
}

function observationMetrics(loops: readonly OpenLoopRow[]): FoundMetric[] {
  return [
    divergenceRate('observation-divergence-rate', loops, ({ observation }) => observation),
    meanMetric(
      {
        key: 'observation-right',
        label: 'Steps with a right observation',
        better: 'higher',
        unit: 'share',
        meaning: "Share of an episode's calls that are answered in the real words; mean over episodes.",
      },
      loops.map(({ steps }) => shareOf(steps, ({ observation }) => observation)),
    ),
    watchedSteps(
      loops,
      ({ observation }) => observation,
      {
        key: 'steps-to-wrong-observation',
        label: 'Steps before the first wrong observation',
        better: 'higher',
        unit: 'steps',
        meaning: 'Steps of an episode before one is answered in other words for the first time; all where none is.',
      },
      (steps, right) => (steps.length === 0 ? null : before(steps, right)),
    ),
    shareMetric(
      {
        key: 'observations-all-right',
        label: 'Episodes answered in the real words',
        better: 'higher',
        meaning: 'Share of real episodes all of whose calls are answered in the real words.',
      },
      loops.map((row) => flag(allRight(row))),
    ),
    meanMetric(
      {
        key: 'error-flag',
        label: 'Errors told as errors',
        better: 'higher',
        unit: 'share',
        meaning: "Share of an episode's calls that are told as an error just where they are one; mean over episodes.",
      },
      loops.map(({ steps }) => shareOf(steps, ({ error }) => error)),
    ),
  ];
}

/** Steps before the first that is wrong. */
function before(steps: readonly OpenLoopStep[], right: Right): number {
  const first = steps.findIndex((step) => right(step) === false);
  return first < 0 ? steps.length : first;
}

/** null where nothing was wrong as far as it went, and it did not go to the end. */
function allRight({ steps, isWhole }: OpenLoopRow): boolean | null {
  const asked = steps.map(({ observation }) => observation).filter((right) => right !== null);
  if (asked.includes(false)) return false;
  return isWhole && asked.length > 0 ? true : null;
}

function shareOf(steps: readonly OpenLoopStep[], right: Right): number | null {
  const known = steps.map(right).filter((one) => one !== null);
  return known.length === 0 ? null : known.filter(Boolean).length / known.length;
}

/** null where the state is unknown before anything was wrong. */
function stepsBefore(steps: readonly OpenLoopStep[], right: Right): number | null {
  const first = steps.findIndex((step) => right(step) !== true);
  if (first < 0) return steps.length === 0 ? null : steps.length;
  return right(steps[first]) === null ? null : first;
}

function backendsOf(loops: readonly OpenLoopRow[]): string[] {
  const names = loops.flatMap(({ steps }) => steps.map(({ backend }) => backend));
  // What the environment refuses by itself was asked of nobody.
  return [...new Set(names)].filter((name) => name !== 'schema').sort();
}

function consistency(lived: readonly LivedRow[]): FoundMetric {
  const pairs = lived.flatMap(({ dreamt, real }) => (dreamt === null || real === null ? [] : [{ dreamt, real }]));
  const sum = (of: readonly { dreamt: number; real: number }[], key: 'dreamt' | 'real') =>
    of.reduce((total, pair) => total + pair[key], 0);
  const ratio = (of: readonly { dreamt: number; real: number }[]) =>
    sum(of, 'dreamt') === 0 ? null : sum(of, 'real') / sum(of, 'dreamt');
  return plainMetric(
    {
      key: 'consistency-ratio',
      label: 'Consistency ratio',
      better: 'neither',
      unit: 'number',
      meaning:
        'Success for real over success in the dream of the same calls, chosen in the dream: below 1, it promised too much.',
    },
    bootstrapEstimate(pairs, ratio, streamOf('consistency-ratio')),
  );
}
