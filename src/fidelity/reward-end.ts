// Reward and end. Of numbers: as a learner in the simulation would be given them, sampled, one step from real states and summed
// over sequences of actions that were really taken. Of tools: what a simulation says an episode was worth, against what the same
// calls truly lead to.

import type { Finding, Instrument } from './measure.js';
import type { FidelityChart, FidelityTable, Point, WorstTransition } from './report.js';
import {
  estimateIn,
  type Found,
  findingOf,
  meanOf,
  metricsOfInfos,
  metricTable,
  percent,
  shareOf,
  short,
  shown,
  shownShare,
} from './section.js';
import { pearson } from './statistics/agreement.js';
import { bootstrapEstimate } from './statistics/bootstrap.js';
import { precisionRecall, shareEstimate } from './statistics/estimate.js';
import type { ToolsJudged } from './tools/judged.js';
import type { LivedRow } from './tools/lived-episodes.js';
import {
  byUnit,
  CHUNK_ROWS,
  CHUNK_STARTS,
  chunkRange,
  chunkRng,
  clusteredMean,
  clusteredShare,
  type Ground,
  intervalRng,
  type Judged,
  ONLY_LIVED_IN,
  widths,
} from './vector/ground.js';
import { type Beginning, beginningsOf, begunAtRows, openLoop, unitsOfBeginnings } from './vector/open-loop.js';

// Of numbers.

type VectorRow =
  /** What was simulated to follow one transition. */
  | { readonly kind: 'step'; readonly reward: number; readonly terminated: number }
  /** What a simulation under recorded actions came to, up to its own end. */
  | { readonly kind: 'sequence'; readonly return: number; readonly steps: number };
type Step = Extract<VectorRow, { kind: 'step' }>;

/** Chunks of transitions come first, then those of sequences. */
export function vectorRewardEnd(judged: Judged): Instrument<VectorRow> {
  const beginnings = beginningsOf(judged);
  const stepChunks = judged.subject.model === undefined ? 0 : Math.ceil(judged.ground.truth.rows.rows / CHUNK_ROWS);
  return {
    id: 'reward-end',
    unit: 'transitions and simulations',
    chunks: stepChunks + Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: (chunk) => {
      if (chunk < stepChunks) return steps(judged, chunk);
      const [first, end] = chunkRange(chunk - stepChunks, CHUNK_STARTS, beginnings.length);
      return sequences(judged, beginnings.slice(first, end), chunk);
    },
    conclude: (rows) => concludeVector(judged, beginnings, rows),
  };
}

async function steps({ ground, subject }: Judged, chunk: number): Promise<readonly VectorRow[]> {
  const { truth, plan } = ground;
  const { actionDim } = widths(truth);
  const model = subject.model!;
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const rng = chunkRng(plan, 'reward-end', chunk);
  const { propagation } = plan;
  const carry = await begunAtRows(model, truth, [first, end], rng);
  const { reward, terminated } = await model.imagine(carry, action, rng, { propagation });
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
  return tracks.map(({ lived, reward, terminated }) => {
    const end = terminated.subarray(0, lived).indexOf(1);
    const length = end < 0 ? lived : end + 1;
    let sum = 0;
    for (let t = 0; t < length; t++) sum += reward[t];
    return { kind: 'sequence', return: short(sum), steps: length };
  });
}

const VECTOR_METRICS = metricTable(`
optimism           | neither | return | Optimism | Simulated minus real return of the same recorded actions from the same real state, up to the horizon: above 0 the simulation promises too much.
optimism-per-step  | neither | return | Optimism a step | The same, divided by the steps of the recorded sequence.
reward-bias        | neither | number | Reward bias | Mean of simulated minus real reward, one step from real states.
reward-rmse        | lower   | number | Reward error (root mean square) | Root mean squared error of the sampled reward, one step from real states, in units of the reward.
reward-correlation | higher  | number | Reward correlation | Pearson's correlation of simulated and real reward over transitions.
end-precision      | higher  | share  | Precision of ends | Of the transitions that the simulation lets end the episode, the share that really did.
end-recall         | higher  | share  | Recall of ends | Of the transitions that really ended the episode, the share that the simulation lets end it.
end-f1             | higher  | number | F1 of ends | Harmonic mean of precision and recall of ends.
false-done         | lower   | share  | False ends | Of the transitions after which the episode really went on, the share that the simulation lets end it.
`);

function concludeVector(judged: Judged, beginnings: readonly Beginning[], rows: readonly VectorRow[]): Finding {
  const { ground } = judged;
  const single = rows.filter((row) => row.kind === 'step');
  const returns = rows.filter((row) => row.kind === 'sequence').map((row) => row.return);
  const real = beginnings.map(({ row, steps: length }) =>
    ground.truth.rows.reward.subarray(row, row + length).reduce((sum, reward) => sum + reward, 0),
  );
  const gaps = returns.map((value, i) => value - real[i]);
  const units = unitsOfBeginnings(judged, beginnings);
  const rng = (key: string) => intervalRng(ground.plan, 'reward-end', key);
  const perStep = gaps.map((gap, i) => gap / beginnings[i].steps);
  const metrics = metricsOfInfos(VECTOR_METRICS, {
    optimism: clusteredMean(gaps, units, rng('optimism')),
    'optimism-per-step': clusteredMean(perStep, units, rng('optimism-per-step')),
    ...(single.length > 0 ? oneStep(ground, single) : {}),
  });
  return findingOf(
    {
      id: 'reward-end',
      title: 'Reward and end',
      summary: `For the same actions the simulation promises ${shown(estimateIn(metrics, 'optimism').value)} more return than they really earned; it ends ${shownShare(estimateIn(metrics, 'false-done').value)} of the steps that really went on.`,
      charts: [returnScatter(real, returns), ...(single.length === 0 ? [] : [endBars(ground, single)])],
      tables: [],
      worst: [],
      notes: vectorNotes(ground, single),
    },
    metrics,
  );
}

function oneStep({ truth, units, plan }: Ground, rows: readonly Step[]): Found {
  const rng = (key: string) => intervalRng(plan, 'reward-end', key);
  const { reward, terminated } = truth.rows;
  const errors = rows.map((step, r) => step.reward - reward[r]);
  const pairs = byUnit(
    rows.map((step, r) => [step.reward, reward[r]] as const),
    units,
  );
  const correlation = (drawn: typeof pairs) => {
    const all = drawn.flat();
    return pearson(
      all.map(([dreamt]) => dreamt),
      all.map(([, real]) => real),
    );
  };
  const ends = precisionRecall(
    rows.map((step) => step.terminated === 1),
    rows.map((_, r) => terminated[r] === 1),
  );
  const falseDone = rows.map((step, r) => (terminated[r] === 1 ? null : step.terminated));
  const squares = errors.map((error) => error ** 2);
  return {
    'reward-bias': clusteredMean(errors, units, rng('reward-bias')),
    'reward-rmse': clusteredMean(squares, units, rng('reward-rmse'), Math.sqrt),
    'reward-correlation': bootstrapEstimate(pairs, (drawn) => correlation([...drawn]), rng('reward-correlation'), {
      draws: 300,
    }),
    'end-precision': ends.precision,
    'end-recall': ends.recall,
    'end-f1': ends.f1,
    'false-done': clusteredShare(falseDone, units, rng('false-done')),
  };
}

function vectorNotes({ truth, plan }: Ground, rows: readonly Step[]): readonly string[] {
  const hasEnds = truth.rows.terminated.some((end) => end === 1);
  return [
    `The simulation is sampled (${plan.propagation === 'ts1' ? 'a random elite a step, with its noise' : 'the mean of the elites, with noise'}), as a learner is given it.`,
    'A sequence is summed up to its recorded end: what a simulation that misses the end would go on to promise is not in the optimism, but in the recall of ends.',
    ...(hasEnds
      ? []
      : ['No recorded transition ends its episode by the task: precision and recall of ends say nothing here.']),
    ...(rows.length === 0 ? [`${ONLY_LIVED_IN} Rewards and ends of single steps were not measured.`] : []),
  ];
}

/** Points of the scatter at most; more would hide one another. */
const POINTS = 256;

function returnScatter(real: readonly number[], returns: readonly number[]): FidelityChart {
  return {
    kind: 'points',
    title: 'Simulated against real return of the same actions',
    caption: 'Each point is a sequence of recorded actions; above the diagonal the simulation promised too much.',
    xTitle: 'Real return',
    yTitle: 'Simulated return',
    diagonal: true,
    series: [{ name: 'sequences', points: returns.slice(0, POINTS).map((y, i): Point => ({ x: real[i], y })) }],
  };
}

/** What the simulation says where the episode really ended, and where it went on. */
function endBars({ truth }: Ground, rows: readonly Step[]): FidelityChart {
  const bar = (label: string, ended: number) => {
    const own = rows.filter((_, r) => truth.rows.terminated[r] === ended);
    const hits = own.filter(({ terminated }) => terminated === 1).length;
    return { label, estimate: shareEstimate(hits, own.length), unit: 'share' as const };
  };
  return {
    kind: 'bars',
    title: 'How often the simulation ends an episode',
    caption: 'It should always where the episode really ended, and never where it went on.',
    bars: [bar('where it really ended', 1), bar('where it really went on', 0)],
  };
}

// Of tools.

const EPISODES = 4;

export function toolsRewardEnd({ lived, notes }: ToolsJudged): Instrument<LivedRow> {
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
    conclude: (rows) => concludeTools(rows, lived.hasTruth, notes.reward),
  };
}

const TOOLS_METRICS = metricTable(`
f1            | higher  | share  | F1 | Harmonic mean of precision and recall of success.
precision     | higher  | share  | Precision | Share of simulated successes that are real ones.
recall        | higher  | share  | Recall | Share of real successes that the simulation rewards.
false-done    | lower   | share  | False done | Share of real failures that the simulation takes for success.
optimism      | neither | return | Optimism | Simulated minus real return of the same calls: above 0, the simulation promises too much.
reward-exact  | higher  | share  | Reward exact | Share of episodes whose simulated reward is the real one.
dreamt-return | neither | return | Simulated return | Mean simulated return of the episodes for which both are known.
real-return   | neither | return | Real return | Mean real return of the episodes for which both are known.
end-state     | higher  | share  | End state exact | Share of episodes chosen in the simulation that end in the state their calls truly lead to.
termination   | higher  | share  | End alike | Of episodes in which a tool was called that can end them: share that it ends in both or in neither.
undecided     | lower   | share  | Undecided | Share of episodes of which the real reward is known and the simulation cannot say.
not-lived     | lower   | share  | Not run | Share of episodes that were not run, as a model did not answer; they count nowhere else.
`);

const NO_TRUTH = 'No rules carry simulated calls out for real: what episodes were truly worth is not known.';

function concludeTools(rows: readonly LivedRow[], hasTruth: boolean, notes: readonly string[]): Finding {
  const metrics = metricsOfInfos(TOOLS_METRICS, toolsFound(rows));
  const estimate = (key: string) => estimateIn(metrics, key);
  const decided = rows.filter(isDecided);
  return findingOf(
    {
      id: 'reward-end',
      title: 'Reward and end',
      summary:
        `Of what the simulation rewards, ${percent(estimate('precision'))} is truly done; ` +
        `it rewards ${percent(estimate('false-done'))} of what is not.`,
      charts: [
        {
          kind: 'bars',
          title: 'Simulated and real return',
          caption: 'Mean return of the same calls in the simulation that they were chosen in, and for real.',
          bars: metrics
            .filter(({ metric }) => metric.key.endsWith('-return'))
            .map(({ metric: { label, estimate: mean, unit } }) => ({ label, estimate: mean, unit })),
        },
      ],
      tables: [confusionTable(decided)],
      worst: worstEpisodes(decided),
      notes: [...notes, ...(hasTruth ? [] : [NO_TRUTH]), ...toolsNotes(rows)],
      ...missingOf(decided, hasTruth),
    },
    metrics,
  );
}

type Decided = LivedRow & { readonly dreamt: number; readonly real: number };

function isDecided(row: LivedRow): row is Decided {
  return row.dreamt !== null && row.real !== null;
}

function toolsFound(rows: readonly LivedRow[]): Found {
  const of = <T>(value: (row: Decided) => T) => rows.map((row) => (isDecided(row) ? value(row) : null));
  const decided = rows.filter(isDecided);
  const { f1, precision, recall, falsePositive } = precisionRecall(
    decided.map(({ dreamt }) => dreamt === 1),
    decided.map(({ real }) => real === 1),
  );
  return {
    ...{ f1, precision, recall, 'false-done': falsePositive },
    optimism: meanOf(
      'optimism',
      of(({ dreamt, real }) => dreamt - real),
    ),
    'reward-exact': shareOf(of(({ dreamt, real }) => dreamt === real)),
    'dreamt-return': meanOf(
      'dreamt-return',
      of(({ dreamt }) => dreamt),
    ),
    'real-return': meanOf(
      'real-return',
      of(({ real }) => real),
    ),
    'end-state': shareOf(rows.map(({ endState }) => endState)),
    termination: shareOf(rows.map(({ ends }) => ends)),
    undecided: shareOf(rows.map(({ dreamt, real }) => (real === null ? null : dreamt === null))),
    'not-lived': shareOf(rows.map(({ answered }) => !answered)),
  };
}

function missingOf(decided: readonly Decided[], hasTruth: boolean): { readonly missing?: string } {
  if (!hasTruth) return { missing: NO_TRUTH };
  if (decided.length === 0) return { missing: 'No episode could be decided in both worlds.' };
  return decided.every(({ real }) => real === 1) ? { missing: 'No episode that was judged failed for real.' } : {};
}

function toolsNotes(rows: readonly LivedRow[]): string[] {
  const open = rows.filter(({ dreamt, answered }) => answered && dreamt === null).length;
  const ended = rows.some(({ ends }) => ends !== null);
  return [
    'Tools give no reward of their own here: an episode is judged at its end, by exact checks and then by the judge.',
    ...(open === 0
      ? []
      : [`${open} episodes have no simulated reward: no state to check, a refused call, or no judge.`]),
    ...(ended ? [] : ['No tool was called that can end an episode: whether ends agree is not known.']),
  ];
}

function confusionTable(decided: readonly Decided[]): FidelityTable {
  const count = (dreamt: boolean, real: boolean) =>
    String(decided.filter((row) => (row.dreamt === 1) === dreamt && (row.real === 1) === real).length);
  return {
    title: 'Simulated against real success',
    columns: ['', 'truly done', 'truly not done'],
    rows: [
      ['rewarded in the simulation', count(true, true), count(true, false)],
      ['not rewarded in the simulation', count(false, true), count(false, false)],
    ],
  };
}

const SHOWN = 8;

/** Reward for nothing is worse than none for something: learners go where it is. */
function worstEpisodes(decided: readonly Decided[]): WorstTransition[] {
  return decided
    .filter(({ dreamt, real }) => dreamt !== real)
    .sort((a, b) => b.dreamt - b.real - (a.dreamt - a.real))
    .slice(0, SHOWN)
    .map(({ task, policy, episode, dreamt, real, calls, checks }) => ({
      title: `episode ${episode} of ${task}`,
      badness: dreamt > real ? 2 : 1,
      context: { task, agent: policy, episode },
      action: calls,
      real: { reward: real },
      dreamt: { reward: dreamt },
      differences: checks.map((check) => ({ path: check.name, real: check.real, dreamt: check.dreamt })),
    }));
}
