// Many steps: real episodes' calls carried out open loop in the simulation, and episodes whose calls were chosen in the simulation
// carried out for real (the consistency ratio of Word2World, 2512.18832: success for real over success in the simulation).

import type { FidelityTable, LinesChart, WorstTransition } from '../report.js';
import {
  estimateIn,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  meanOf,
  metricTable,
  percent,
  pointOf,
  shareOf,
  streamOf,
} from '../section.js';
import { bootstrapEstimate, type Estimate, shareEstimate } from '../statistics.js';
import { constructed } from './answers.js';
import type { SimulatedRow } from './episodes.js';
import type { ToolsJudged } from './judged.js';
import { type OpenLoopRow, type OpenLoopStep, openLoopRow, type TrueSequence } from './open-loop.js';

/** Episodes of one chunk. */
const EPISODES = 4;
const SHOWN = 8;

export function toolsKSteps({ ground, carry, simulated, notes }: ToolsJudged): Instrument<OpenLoopRow | SimulatedRow> {
  const { sequences, truthBackend } = ground.truth;
  const open = Math.ceil(sequences.length / EPISODES);
  return {
    id: 'k-steps',
    chunks: open + Math.ceil(simulated.count / EPISODES),
    measure: async (chunk, signal) => {
      const rows: (OpenLoopRow | SimulatedRow)[] = [];
      const from = (chunk < open ? chunk : chunk - open) * EPISODES;
      const end = Math.min(from + EPISODES, chunk < open ? sequences.length : simulated.count);
      for (let episode = from; episode < end; episode++) {
        rows.push(
          chunk < open
            ? await openLoopRow(carry, sequences[episode], episode, signal)
            : await simulated.row(episode, signal),
        );
      }
      return rows;
    },
    conclude: (rows) => {
      const loops = rows.filter((row) => row.kind === 'open-loop');
      const episodes = rows.filter((row) => row.kind === 'episode');
      return conclude(loops, episodes, sequences, simulated.hasTruth, truthBackend, notes.steps);
    },
  };
}

const METRICS = metricTable(`
divergence-rate        | lower   | share  | Divergence | Probability that a step is the first with a wrong state, if all before it were right.
end-state              | higher  | share  | Right at the end | Share of real episodes that end in the real state when their calls are carried out in the simulation.
steps-to-divergence    | higher  | steps  | Steps before the first wrong state | Steps of an episode before its state is wrong for the first time; all of them where it never is.
observation-right      | higher  | share  | Steps with a right observation | Share of an episode's calls that are answered in the real words; mean over episodes.
observations-all-right | higher  | share  | Episodes answered in the real words | Share of real episodes all of whose calls are answered in the real words.
error-flag             | higher  | share  | Errors reported as errors | Share of an episode's calls that are reported as an error just where they are one; mean over episodes.
consistency-ratio      | neither | number | Consistency ratio | Success for real over success in the simulation of the same calls, chosen in the simulation: below 1, it promised too much.
`);

const NO_TRUTH = 'No rules carry simulated calls out for real: the consistency ratio is not known.';

function conclude(
  loops: readonly OpenLoopRow[],
  episodes: readonly SimulatedRow[],
  sequences: readonly TrueSequence[],
  hasTruth: boolean,
  truthBackend: string | undefined,
  notes: readonly string[],
): Finding {
  const steps = meanOf(
    'steps-to-divergence',
    loops.map((row) => stepsBefore(row.steps)),
  );
  const figures = figuresOf(METRICS, {
    'divergence-rate': divergenceRate(loops),
    'end-state': shareOf(loops.map((row) => (row.isWhole && row.steps.length > 0 ? row.steps.at(-1)!.state : null))),
    // Where nothing was ever wrong, all that is known of the steps before is that they are no fewer.
    'steps-to-divergence': isEverWrong(loops) ? steps : { ...steps, estimate: { ...steps.estimate, high: null } },
    'observation-right': meanOf(
      'observation-right',
      loops.map((row) => shareIn(row.steps, rightWords)),
    ),
    'observations-all-right': shareOf(loops.map(allRight)),
    'error-flag': meanOf(
      'error-flag',
      loops.map((row) => shareIn(row.steps, ({ error }) => error)),
    ),
    'consistency-ratio': consistency(episodes),
  });
  const missing = missingOf(loops, hasTruth, estimateIn(figures, 'consistency-ratio').value !== null);
  return findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Of ${loops.length} real episodes carried out in the simulation, ${percent(estimateIn(figures, 'end-state'))} end in the real state, and ${percent(estimateIn(figures, 'observations-all-right'))} are answered in the real words throughout.`,
      charts: [stillRight(loops)],
      tables: [divergenceTable(loops)],
      worst: worstDivergences(loops, sequences),
      notes: [...notes, ...notesOf(loops, hasTruth)],
      ...(missing === '' ? {} : { missing }),
      ...constructed(
        loops.flatMap((row) => row.steps.map(({ backend }) => backend)),
        truthBackend,
      ),
    },
    figures,
  );
}

type Right = (step: OpenLoopStep) => boolean | null;
const rightState: Right = ({ state }) => state;
const rightWords: Right = ({ observation }) => observation;

/** Steps taken where all before were right are trials, whichever episode they are of: episodes of all lengths count. */
function divergenceRate(loops: readonly OpenLoopRow[]): Estimate {
  const trials = loops.flatMap(({ steps }) => {
    const first = steps.findIndex(({ state }) => state === false);
    return steps.slice(0, first < 0 ? steps.length : first + 1).filter(({ state }) => state !== null);
  });
  return shareEstimate(trials.filter(({ state }) => !state).length, trials.length);
}

/** null where the state is unknown before anything was wrong. */
function stepsBefore(steps: readonly OpenLoopStep[]): number | null {
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

function isEverWrong(loops: readonly OpenLoopRow[]): boolean {
  return loops.some(({ steps }) => steps.some(({ state }) => state === false));
}

/** Of no step it is known whether its state is right. */
function isUnknown(loops: readonly OpenLoopRow[]): boolean {
  return loops.every(({ steps }) => steps.every(({ state }) => state === null));
}

function consistency(episodes: readonly SimulatedRow[]): Estimate {
  const pairs = episodes.flatMap(({ simulated, real }) =>
    simulated === null || real === null ? [] : [{ simulated, real }],
  );
  const ratio = (of: readonly (typeof pairs)[number][]) => {
    const sum = (key: 'simulated' | 'real') => of.reduce((total, pair) => total + pair[key], 0);
    return sum('simulated') === 0 ? null : sum('real') / sum('simulated');
  };
  return bootstrapEstimate(pairs, ratio, streamOf('consistency-ratio'));
}

/** Why steps before the first wrong state, or the consistency ratio, have no value; empty where they have. */
function missingOf(loops: readonly OpenLoopRow[], hasTruth: boolean, isRewarded: boolean): string {
  const reasons = [
    loops.length === 0 && 'No real episode was carried out in the simulation.',
    loops.length > 0 && isUnknown(loops) && 'Of no step the state is known, for real or in the simulation.',
    !hasTruth && NO_TRUTH,
    hasTruth && !isRewarded && 'No episode that could be decided was rewarded in the simulation.',
  ];
  return reasons.filter((reason) => reason !== false).join(' ');
}

function notesOf(loops: readonly OpenLoopRow[], hasTruth: boolean): string[] {
  const cut = loops.filter(({ isWhole }) => !isWhole).length;
  const isStateless = loops.some(({ steps }) => steps.some(({ state }) => state === null));
  return [
    'What was said in an episode stays as it was, whatever the simulation answered: an agent would have reacted.',
    ...(cut === 0 ? [] : [`${cut} episodes broke off at a call that got no answer; they count up to there.`]),
    ...(isEverWrong(loops) || isUnknown(loops)
      ? []
      : [
          'No state was ever wrong: the steps before the first wrong one are the mean length of these episodes, and how long a simulation would go on right is not known.',
        ]),
    ...(isStateless
      ? ['Of some steps no state is known, for real or in the simulation: only their observations count.']
      : []),
    ...(hasTruth ? [] : [NO_TRUTH]),
  ];
}

function stillRight(loops: readonly OpenLoopRow[]): LinesChart {
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
    const key = JSON.stringify([divergence.call.name, divergence.backend]);
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
      const { step, call: action, ...found } = divergence;
      const title = `step ${step + 1} of ${steps.length} in ${task.id}`;
      const context = { episode: id, task: task.id, step: step + 1, steps: steps.length };
      return { title, badness, context, action, ...found };
    });
}
