// Many steps: real episodes' calls carried out open loop in the simulation, and episodes whose calls were chosen in the simulation
// carried out for real (the consistency ratio of Word2World, 2512.18832: success for real over success in the simulation).

import type { Finding, Instrument } from '../measure.js';
import type { FidelityTable, LinesChart, WorstTransition } from '../report.js';
import {
  estimateIn,
  type FoundMetric,
  findingOf,
  meanOf,
  metricsOfInfos,
  metricTable,
  percent,
  pointOf,
  shareOf,
  streamOf,
} from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { type Estimate, shareEstimate } from '../statistics/estimate.js';
import { constructed } from './answers.js';
import type { ToolsJudged } from './judged.js';
import type { LivedRow } from './lived-episodes.js';
import { type OpenLoopRow, type OpenLoopStep, openLoopRow, type TrueSequence } from './open-loop.js';

/** Episodes of one chunk. */
const EPISODES = 4;
const SHOWN = 8;

type Row = OpenLoopRow | LivedRow;

export function kStepsInstrument({ ground, carry, lived, notes }: ToolsJudged): Instrument<Row> {
  const { sequences, truthBackend } = ground.truth;
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
    conclude: (rows) => concluded(rows, sequences, lived.hasTruth, truthBackend, notes.steps),
  };
}

const METRICS = metricTable(`
divergence-rate             | lower   | share  | Divergence | Probability that a step is the first with a wrong state, if all before it were right.
end-state                   | higher  | share  | Right at the end | Share of real episodes that end in the real state when their calls are carried out in the simulation.
state-right                 | higher  | share  | Steps with a right state | Share of an episode's steps after which the simulated state is the real one; mean over episodes.
steps-to-divergence         | higher  | steps  | Steps before the first wrong state | Steps of an episode before its state is wrong for the first time; all of them where it never is.
observation-divergence-rate | lower   | share  | Divergence of observations | Probability that a step is the first with a wrong observation, if all before it were right.
observation-right           | higher  | share  | Steps with a right observation | Share of an episode's calls that are answered in the real words; mean over episodes.
steps-to-wrong-observation  | higher  | steps  | Steps before the first wrong observation | Steps of an episode before one is answered in other words for the first time; all where none is.
observations-all-right      | higher  | share  | Episodes answered in the real words | Share of real episodes all of whose calls are answered in the real words.
error-flag                  | higher  | share  | Errors told as errors | Share of an episode's calls that are told as an error just where they are one; mean over episodes.
consistency-ratio           | neither | number | Consistency ratio | Success for real over success in the simulation of the same calls, chosen in the simulation: below 1, it promised too much.
`);

function concluded(
  rows: readonly Row[],
  sequences: readonly TrueSequence[],
  hasTruth: boolean,
  truthBackend: string | undefined,
  notes: readonly string[],
): Finding {
  const loops = rows.filter((row) => row.kind === 'open-loop');
  const lived = rows.filter((row) => row.kind === 'lived');
  const found = metricsOf(loops, lived);
  const estimate = (key: string) => estimateIn(found, key);
  const missing = missingOf(loops, hasTruth, estimate('consistency-ratio').value !== null);
  return findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Of ${loops.length} real episodes carried out in the simulation, ${percent(estimate('end-state'))} end in the real state, and ${percent(estimate('observations-all-right'))} are answered in the real words throughout.`,
      charts: [survivalChart(loops)],
      tables: [divergenceTable(loops)],
      worst: worstDivergences(loops, sequences),
      notes: [...notes, ...notesOf(loops, hasTruth)],
      ...(missing === undefined ? {} : { missing }),
      ...constructed(
        loops.flatMap(({ steps }) => steps.map(({ backend }) => backend)),
        truthBackend,
      ),
    },
    found,
  );
}

type Right = (step: OpenLoopStep) => boolean | null;
const rightState: Right = ({ state }) => state;
const rightWords: Right = ({ observation }) => observation;

function metricsOf(loops: readonly OpenLoopRow[], lived: readonly LivedRow[]): FoundMetric[] {
  const mean = (key: string, of: (row: OpenLoopRow) => number | null) => meanOf(key, loops.map(of));
  const share = (right: Right) => (row: OpenLoopRow) => shareIn(row.steps, right);
  // Where nothing was ever wrong, all that is known of the steps before is that they are no fewer.
  const watched = (key: string, right: Right, of: (steps: readonly OpenLoopStep[]) => number | null) => {
    const { estimate, samples } = mean(key, ({ steps }) => of(steps));
    return { estimate: isEverWrong(loops, right) ? estimate : { ...estimate, high: null }, samples };
  };
  const metrics = metricsOfInfos(METRICS, {
    'divergence-rate': divergenceRate(loops, rightState),
    'end-state': shareOf(loops.map(({ steps, isWhole }) => (isWhole && steps.length > 0 ? steps.at(-1)!.state : null))),
    'state-right': mean('state-right', share(rightState)),
    'steps-to-divergence': watched('steps-to-divergence', rightState, knownStepsBefore),
    'observation-divergence-rate': divergenceRate(loops, rightWords),
    'observation-right': mean('observation-right', share(rightWords)),
    'steps-to-wrong-observation': watched('steps-to-wrong-observation', rightWords, (steps) =>
      steps.length === 0
        ? null
        : trialsOf(steps, rightWords) - Number(steps.some((step) => rightWords(step) === false)),
    ),
    'observations-all-right': shareOf(loops.map(allRight)),
    'error-flag': mean(
      'error-flag',
      share(({ error }) => error),
    ),
    'consistency-ratio': consistency(lived),
  });
  const byBackend = backendsOf(loops).map((backend): FoundMetric => {
    const about = {
      key: `divergence-rate-${backend}`,
      label: `Divergence, by ${backend}`,
      better: 'lower',
      unit: 'share',
    } as const;
    const meaning = `Probability that a step answered by ${backend} is the first with a wrong state, if all before it were right.`;
    return { metric: { ...about, meaning, estimate: divergenceRate(loops, rightState, backend) } };
  });
  return [...metrics, ...byBackend];
}

/** Steps taken where all before were right are trials, whichever episode they are of: episodes of all lengths count. */
function divergenceRate(loops: readonly OpenLoopRow[], right: Right, backend?: string): Estimate {
  const trials = loops
    .flatMap(({ steps }) => steps.slice(0, trialsOf(steps, right)))
    .filter((step) => right(step) !== null && (backend === undefined || step.backend === backend));
  return shareEstimate(trials.filter((step) => right(step) === false).length, trials.length);
}

/** Steps up to and with the first that is wrong. */
function trialsOf(steps: readonly OpenLoopStep[], right: Right): number {
  const first = steps.findIndex((step) => right(step) === false);
  return first < 0 ? steps.length : first + 1;
}

/** null where the state is unknown before anything was wrong. */
function knownStepsBefore(steps: readonly OpenLoopStep[]): number | null {
  const first = steps.findIndex((step) => step.state !== true);
  if (first < 0) return steps.length === 0 ? null : steps.length;
  return steps[first].state === null ? null : first;
}

/** null where nothing was wrong as far as it went, and it did not go to the end. */
function allRight({ steps, isWhole }: OpenLoopRow): boolean | null {
  const asked = steps.map(rightWords).filter((right) => right !== null);
  if (asked.includes(false)) return false;
  return isWhole && asked.length > 0 ? true : null;
}

function shareIn(steps: readonly OpenLoopStep[], right: Right): number | null {
  const known = steps.map(right).filter((one) => one !== null);
  return known.length === 0 ? null : known.filter(Boolean).length / known.length;
}

function isEverWrong(loops: readonly OpenLoopRow[], right: Right): boolean {
  return loops.some(({ steps }) => steps.some((step) => right(step) === false));
}

/** Of no step it is known whether its state is right. */
function isUnknown(loops: readonly OpenLoopRow[]): boolean {
  return loops.every(({ steps }) => steps.every(({ state }) => state === null));
}

function backendsOf(loops: readonly OpenLoopRow[]): string[] {
  const names = loops.flatMap(({ steps }) => steps.map(({ backend }) => backend));
  // What the environment refuses by itself was asked of no backend.
  return [...new Set(names)].filter((name) => name !== 'schema').sort();
}

function consistency(lived: readonly LivedRow[]): Estimate {
  const pairs = lived.flatMap(({ dreamt, real }) => (dreamt === null || real === null ? [] : [{ dreamt, real }]));
  const ratio = (of: typeof pairs) => {
    const sum = (key: 'dreamt' | 'real') => of.reduce((total, pair) => total + pair[key], 0);
    return sum('dreamt') === 0 ? null : sum('real') / sum('dreamt');
  };
  return bootstrapEstimate(pairs, (drawn) => ratio([...drawn]), streamOf('consistency-ratio'));
}

const NO_TRUTH = 'No rules carry simulated calls out for real: the consistency ratio is not known.';

/** Why steps before the first wrong state, or the consistency ratio, have no value. */
function missingOf(loops: readonly OpenLoopRow[], hasTruth: boolean, isRewarded: boolean): string | undefined {
  const reasons = [
    ...(loops.length === 0 ? ['No real episode was carried out in the simulation.'] : []),
    ...(loops.length > 0 && isUnknown(loops) ? ['Of no step the state is known, for real or in the simulation.'] : []),
    ...(hasTruth ? [] : [NO_TRUTH]),
    ...(hasTruth && !isRewarded ? ['No episode that could be decided was rewarded in the simulation.'] : []),
  ];
  return reasons.length === 0 ? undefined : reasons.join(' ');
}

function notesOf(loops: readonly OpenLoopRow[], hasTruth: boolean): string[] {
  const cut = loops.filter(({ isWhole }) => !isWhole).length;
  const stateless = loops.some(({ steps }) => steps.some(({ state }) => state === null));
  return [
    'What was said in an episode stays as it was, whatever the simulation answered: an agent would have reacted.',
    'A state that turned wrong and right again counts as wrong once and right later; first divergence does not forgive.',
    ...(cut === 0 ? [] : [`${cut} episodes broke off at a call that got no answer; they count up to there.`]),
    ...(isEverWrong(loops, rightState) || isUnknown(loops)
      ? []
      : [
          'No state was ever wrong: the steps before the first wrong one are the mean length of these episodes, and how long a simulation would go on right is not known.',
        ]),
    ...(stateless
      ? ['Of some steps no state is known, for real or in the simulation: only their observations count.']
      : []),
    ...(hasTruth ? [] : [NO_TRUTH]),
  ];
}

function survivalChart(loops: readonly OpenLoopRow[]): LinesChart {
  const longest = Math.max(0, ...loops.map(({ steps }) => steps.length));
  const points = (right: Right) =>
    Array.from({ length: longest }, (_, step) => {
      const there = loops.flatMap(({ steps }) => (steps.length > step ? [right(steps[step])] : []));
      return pointOf(step + 1, shareOf(there).estimate);
    }).flat();
  return {
    kind: 'lines',
    title: 'Still right after so many steps',
    caption:
      'Share of episodes that are right at a step, of those that have it, under the calls that were made for real.',
    xTitle: 'step',
    yTitle: 'share right',
    series: [
      { name: 'state', points: points(rightState) },
      { name: 'observation', points: points(rightWords) },
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
