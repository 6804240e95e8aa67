// Reward and end. Of numbers: as a learner in the simulation would be given them, sampled, one step from real states. Of tools: what
// a simulation says an episode was worth, against what the same calls truly lead to.

import {
  estimateIn,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  meanOf,
  metricTable,
  percent,
  shareOf,
  short,
  shown,
  shownShare,
} from './section.js';
import { precisionRecall } from './statistics.js';
import type { SimulatedRow } from './tools/episodes.js';
import type { ToolsJudged } from './tools/judged.js';
import {
  CHUNK_ROWS,
  chunkOfRows,
  clusteredMean,
  clusteredShare,
  type Ground,
  intervalRng,
  type Judged,
} from './vector/ground.js';

const ABOUT = { id: 'reward-end', title: 'Reward and end' } as const;

// Of numbers.

/** What was simulated to follow one transition: the reward minus the real one, and whether the episode ends. */
type VectorRow = { readonly error: number; readonly terminated: number };

export function vectorRewardEnd(judged: Judged): Instrument<VectorRow> {
  const { plan, truth } = judged.ground;
  const { reward: real, rows } = truth.rows;
  return {
    id: 'reward-end',
    chunks: Math.ceil(rows / CHUNK_ROWS),
    measure: async (chunk) => {
      const { first, action, carry, rng } = await chunkOfRows(judged, 'reward-end', chunk);
      const step = { propagation: plan.propagation };
      const { reward, terminated } = await judged.subject.model.imagine(carry, action, rng, step);
      return Array.from(reward, (value, r): VectorRow => {
        return { error: short(value) - real[first + r], terminated: terminated[r] };
      });
    },
    conclude: (found) => concludeVector(judged.ground, found),
  };
}

const VECTOR_METRICS = metricTable(`
reward-bias   | neither | number | Reward bias | Mean of simulated minus real reward, one step from real states.
reward-rmse   | lower   | number | Reward error (root mean square) | Root mean squared error of the sampled reward, one step from real states, in units of the reward.
end-precision | higher  | share  | Precision of ends | Of the transitions that the simulation lets end the episode, the share that really did.
end-recall    | higher  | share  | Recall of ends | Of the transitions that really ended the episode, the share that the simulation lets end it.
false-done    | lower   | share  | False ends | Of the transitions after which the episode really went on, the share that the simulation lets end it.
`);

function concludeVector(ground: Ground, rows: readonly VectorRow[]): Finding {
  const { truth, units, plan } = ground;
  const { terminated } = truth.rows;
  const rng = (key: string) => intervalRng(plan, 'reward-end', key);
  const errors = rows.map(({ error }) => error);
  const squares = errors.map((error) => error ** 2);
  const falseDone = rows.map((row, r) => (terminated[r] === 1 ? null : row.terminated));
  const ends = precisionRecall(
    rows.map((row) => row.terminated === 1),
    rows.map((_, r) => terminated[r] === 1),
  );
  const figures = figuresOf(VECTOR_METRICS, {
    'reward-bias': clusteredMean(errors, units, rng('reward-bias')),
    'reward-rmse': clusteredMean(squares, units, rng('reward-rmse'), Math.sqrt),
    'end-precision': ends.precision,
    'end-recall': ends.recall,
    'false-done': clusteredShare(falseDone, units, rng('false-done')),
  });
  return findingOf(
    {
      ...ABOUT,
      summary: `The simulation promises ${shown(estimateIn(figures, 'reward-bias').value)} more reward a step than is really earned; it ends ${shownShare(estimateIn(figures, 'false-done').value)} of the steps that really went on.`,
      notes: vectorNotes(ground),
    },
    figures,
  );
}

function vectorNotes({ truth, plan }: Ground): readonly string[] {
  const hasEnds = truth.rows.terminated.some((end) => end === 1);
  return [
    `The simulation is sampled (${plan.propagation === 'ts1' ? 'a random elite a step, with its noise' : 'the mean of the elites, with noise'}), as a learner is given it.`,
    ...(hasEnds
      ? []
      : ['No recorded transition ends its episode by the task: precision and recall of ends say nothing here.']),
  ];
}

// Of tools.

export function toolsRewardEnd({ simulated, notes }: ToolsJudged): Instrument<SimulatedRow> {
  return {
    id: 'reward-end',
    chunks: simulated.chunks,
    measure: (chunk, signal) => simulated.chunk(chunk, signal),
    conclude: (rows) => concludeTools(rows, simulated.hasTruth, notes.reward),
  };
}

const TOOLS_METRICS = metricTable(`
precision    | higher  | share  | Precision | Share of simulated successes that are real ones.
recall       | higher  | share  | Recall | Share of real successes that the simulation rewards.
false-done   | lower   | share  | False done | Share of real failures that the simulation takes for success.
optimism     | neither | return | Optimism | Simulated minus real return of the same calls: above 0, the simulation promises too much.
reward-exact | higher  | share  | Reward exact | Share of episodes whose simulated reward is the real one.
end-state    | higher  | share  | End state exact | Share of episodes chosen in the simulation that end in the state their calls truly lead to.
`);

const NO_TRUTH = 'No rules carry simulated calls out for real: what episodes were truly worth is not known.';

type Decided = SimulatedRow & { readonly simulated: number; readonly real: number };

function isDecided(row: SimulatedRow): row is Decided {
  return row.simulated !== null && row.real !== null;
}

function concludeTools(rows: readonly SimulatedRow[], hasTruth: boolean, notes: readonly string[]): Finding {
  const decided = rows.filter(isDecided);
  const { precision, recall, falsePositive } = precisionRecall(
    decided.map(({ simulated }) => simulated === 1),
    decided.map(({ real }) => real === 1),
  );
  const gaps = rows.map((row) => (isDecided(row) ? row.simulated - row.real : null));
  const found = {
    ...{ precision, recall, 'false-done': falsePositive },
    optimism: meanOf('optimism', gaps),
    'reward-exact': shareOf(gaps.map((gap) => (gap === null ? null : gap === 0))),
    'end-state': shareOf(rows.map(({ endState }) => endState)),
  };
  return findingOf(
    {
      ...ABOUT,
      summary:
        `Of what the simulation rewards, ${percent(precision)} is truly done; ` +
        `it rewards ${percent(falsePositive)} of what is not.`,
      notes: [...notes, ...(hasTruth ? [] : [NO_TRUTH]), ...toolsNotes(rows)],
      ...missingOf(decided, hasTruth),
    },
    figuresOf(TOOLS_METRICS, found),
  );
}

function missingOf(decided: readonly Decided[], hasTruth: boolean): { readonly missing?: string } {
  if (!hasTruth) return { missing: NO_TRUTH };
  if (decided.length === 0) return { missing: 'No episode could be decided in both worlds.' };
  return decided.every(({ real }) => real === 1) ? { missing: 'No episode that was judged failed for real.' } : {};
}

function toolsNotes(rows: readonly SimulatedRow[]): string[] {
  const unanswered = rows.filter(({ answered }) => !answered).length;
  const undecided = rows.filter(({ simulated, answered }) => answered && simulated === null).length;
  return [
    'Tools give no reward of their own here: an episode is judged at its end, by exact checks and then by the judge.',
    ...(unanswered === 0 ? [] : [`${unanswered} episodes broke off, as a model did not answer; they count nowhere.`]),
    ...(undecided === 0
      ? []
      : [`${undecided} episodes have no simulated reward: no state to check, a refused call, or no judge.`]),
  ];
}
