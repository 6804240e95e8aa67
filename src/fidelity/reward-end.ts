// Reward and end. Of numbers: as a learner in the simulation would be given them, sampled, one step from real states and summed
// over sequences of actions that were really taken. Of tools: what a simulation says an episode was worth, against what the same
// calls truly lead to.

import type { WorstTransition } from './report.js';
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
  type Beginning,
  beginningsOf,
  CHUNK_ROWS,
  CHUNK_STARTS,
  chunkOfRows,
  chunkRange,
  chunkRng,
  clusteredMean,
  clusteredShare,
  type Ground,
  intervalRng,
  type Judged,
  openLoop,
  unitsOfBeginnings,
} from './vector/ground.js';

const ABOUT = { id: 'reward-end', title: 'Reward and end' } as const;

// Of numbers.

type VectorRow =
  /** What was simulated to follow one transition. */
  | { readonly kind: 'step'; readonly reward: number; readonly terminated: number }
  /** What a simulation under recorded actions came to, up to its own end. */
  | { readonly kind: 'sequence'; readonly return: number };
type Step = Extract<VectorRow, { kind: 'step' }>;

/** Chunks of transitions come first, then those of sequences. */
export function vectorRewardEnd(judged: Judged): Instrument<VectorRow> {
  const beginnings = beginningsOf(judged);
  const stepChunks = Math.ceil(judged.ground.truth.rows.rows / CHUNK_ROWS);
  return {
    id: 'reward-end',
    chunks: stepChunks + Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: (chunk) => {
      if (chunk < stepChunks) return steps(judged, chunk);
      const [first, end] = chunkRange(chunk - stepChunks, CHUNK_STARTS, beginnings.length);
      return sequences(judged, beginnings.slice(first, end), chunk);
    },
    conclude: (rows) => concludeVector(judged, beginnings, rows),
  };
}

async function steps(judged: Judged, chunk: number): Promise<readonly VectorRow[]> {
  const { action, carry, rng } = await chunkOfRows(judged, 'reward-end', chunk);
  const { propagation } = judged.ground.plan;
  const { reward, terminated } = await judged.subject.model.imagine(carry, action, rng, { propagation });
  return Array.from(reward, (value, r) => ({ kind: 'step', reward: short(value), terminated: terminated[r] }));
}

async function sequences(
  judged: Judged,
  beginnings: readonly Beginning[],
  chunk: number,
): Promise<readonly VectorRow[]> {
  const { plan } = judged.ground;
  const { propagation } = plan;
  const tracks = await openLoop(judged, beginnings, chunkRng(plan, 'reward-end', chunk), { propagation });
  return tracks.map(({ length, reward, terminated }) => {
    const end = terminated.subarray(0, length).indexOf(1);
    let sum = 0;
    for (let t = 0; t < (end < 0 ? length : end + 1); t++) sum += reward[t];
    return { kind: 'sequence', return: short(sum) };
  });
}

const VECTOR_METRICS = metricTable(`
optimism      | neither | return | Optimism | Simulated minus real return of the same recorded actions from the same real state, up to the horizon: above 0 the simulation promises too much.
reward-bias   | neither | number | Reward bias | Mean of simulated minus real reward, one step from real states.
reward-rmse   | lower   | number | Reward error (root mean square) | Root mean squared error of the sampled reward, one step from real states, in units of the reward.
end-precision | higher  | share  | Precision of ends | Of the transitions that the simulation lets end the episode, the share that really did.
end-recall    | higher  | share  | Recall of ends | Of the transitions that really ended the episode, the share that the simulation lets end it.
false-done    | lower   | share  | False ends | Of the transitions after which the episode really went on, the share that the simulation lets end it.
`);

function concludeVector(judged: Judged, beginnings: readonly Beginning[], rows: readonly VectorRow[]): Finding {
  const { ground } = judged;
  const single = rows.filter((row) => row.kind === 'step');
  const returns = rows.filter((row) => row.kind === 'sequence').map((row) => row.return);
  const real = beginnings.map(({ row, steps: length }) =>
    ground.truth.rows.reward.subarray(row, row + length).reduce((sum, reward) => sum + reward, 0),
  );
  const gaps = returns.map((value, i) => value - real[i]);
  const rng = intervalRng(ground.plan, 'reward-end', 'optimism');
  const figures = figuresOf(VECTOR_METRICS, {
    optimism: clusteredMean(gaps, unitsOfBeginnings(judged, beginnings), rng),
    ...oneStep(ground, single),
  });
  return findingOf(
    {
      ...ABOUT,
      summary: `For the same actions the simulation promises ${shown(estimateIn(figures, 'optimism').value)} more return than they really earned; it ends ${shownShare(estimateIn(figures, 'false-done').value)} of the steps that really went on.`,
      notes: vectorNotes(ground),
    },
    figures,
  );
}

function oneStep({ truth, units, plan }: Ground, rows: readonly Step[]) {
  const rng = (key: string) => intervalRng(plan, 'reward-end', key);
  const { reward, terminated } = truth.rows;
  const errors = rows.map((step, r) => step.reward - reward[r]);
  const squares = errors.map((error) => error ** 2);
  const { precision, recall } = precisionRecall(
    rows.map((step) => step.terminated === 1),
    rows.map((_, r) => terminated[r] === 1),
  );
  const falseDone = rows.map((step, r) => (terminated[r] === 1 ? null : step.terminated));
  return {
    'reward-bias': clusteredMean(errors, units, rng('reward-bias')),
    'reward-rmse': clusteredMean(squares, units, rng('reward-rmse'), Math.sqrt),
    'end-precision': precision,
    'end-recall': recall,
    'false-done': clusteredShare(falseDone, units, rng('false-done')),
  };
}

function vectorNotes({ truth, plan }: Ground): readonly string[] {
  const hasEnds = truth.rows.terminated.some((end) => end === 1);
  return [
    `The simulation is sampled (${plan.propagation === 'ts1' ? 'a random elite a step, with its noise' : 'the mean of the elites, with noise'}), as a learner is given it.`,
    'A sequence is summed up to its recorded end: what a simulation that misses the end would go on to promise is not in the optimism, but in the recall of ends.',
    ...(hasEnds
      ? []
      : ['No recorded transition ends its episode by the task: precision and recall of ends say nothing here.']),
  ];
}

// Of tools.

const EPISODES = 4;

export function toolsRewardEnd({ simulated, notes }: ToolsJudged): Instrument<SimulatedRow> {
  return {
    id: 'reward-end',
    chunks: Math.ceil(simulated.count / EPISODES),
    measure: async (chunk, signal) => {
      const rows: SimulatedRow[] = [];
      const end = Math.min((chunk + 1) * EPISODES, simulated.count);
      for (let episode = chunk * EPISODES; episode < end; episode++) rows.push(await simulated.row(episode, signal));
      return rows;
    },
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
      worst: worstEpisodes(decided),
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

const SHOWN = 8;

/** Reward for nothing is worse than none for something: learners go where it is. */
function worstEpisodes(decided: readonly Decided[]): WorstTransition[] {
  return decided
    .filter(({ simulated, real }) => simulated !== real)
    .sort((a, b) => b.simulated - b.real - (a.simulated - a.real))
    .slice(0, SHOWN)
    .map(({ task, policy, episode, simulated, real, calls, checks }) => ({
      title: `episode ${episode} of ${task}`,
      badness: simulated > real ? 2 : 1,
      context: { task, agent: policy, episode },
      action: calls,
      real: { reward: real },
      simulated: { reward: simulated },
      differences: checks.map((check) => ({ path: check.name, real: check.real, simulated: check.simulated })),
    }));
}
