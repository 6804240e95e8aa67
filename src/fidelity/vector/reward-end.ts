// Reward and end as a learner in the dream would be given them: sampled, one step from real states, and summed over
// sequences of actions that were really taken.

import type { Finding, Instrument } from '../instrument.js';
import type { FidelityChart, Point } from '../report/fidelity-report.js';
import { type Found, findingOf, type MetricInfo, metricsOfInfos, short, shown, shownShare } from '../section.js';
import { pearson } from '../statistics/agreement.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING, precisionRecall, shareEstimate } from '../statistics/estimate.js';
import { byUnit, clusteredMean, clusteredShare } from './clustered.js';
import {
  CHUNK_ROWS,
  CHUNK_STARTS,
  chunkRange,
  chunkRng,
  type Ground,
  intervalRng,
  type Judged,
  ONLY_LIVED_IN,
} from './ground.js';
import { type Beginning, beginningsOf, begunAtRows, openLoop, unitsOfBeginnings } from './open-loop.js';
import { widths } from './truth.js';

/** Chunks of transitions come first, then those of sequences. */
export function rewardEndInstrument(judged: Judged): Instrument<RewardEndRow> {
  const beginnings = beginningsOf(judged);
  const stepChunks = judged.subject.model === undefined ? 0 : Math.ceil(judged.ground.truth.rows.rows / CHUNK_ROWS);
  return {
    id: 'reward-end',
    unit: 'transitions and dreams',
    chunks: stepChunks + Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: (chunk) => {
      if (chunk < stepChunks) return steps(judged, chunk);
      const [first, end] = chunkRange(chunk - stepChunks, CHUNK_STARTS, beginnings.length);
      return sequences(judged, beginnings.slice(first, end), chunk);
    },
    conclude: (rows) => concludeRewardEnd(judged, beginnings, rows),
  };
}

async function steps({ ground, subject }: Judged, chunk: number): Promise<readonly RewardEndRow[]> {
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
): Promise<readonly RewardEndRow[]> {
  const { plan } = judged.ground;
  const tracks = await openLoop(judged, beginnings, chunkRng(plan, 'reward-end', chunk), {
    propagation: plan.propagation,
  });
  return tracks.map(({ lived, reward, terminated }) => {
    const end = terminated.subarray(0, lived).indexOf(1);
    const steps = end < 0 ? lived : end + 1;
    let sum = 0;
    for (let t = 0; t < steps; t++) sum += reward[t];
    return { kind: 'sequence', return: short(sum), steps };
  });
}

// What is kept of rewards and ends.

type RewardEndRow =
  /** What was dreamt to follow one transition. */
  | { readonly kind: 'step'; readonly reward: number; readonly terminated: number }
  /** What a dream under recorded actions came to, up to its own end. */
  | { readonly kind: 'sequence'; readonly return: number; readonly steps: number };

// What rewards and ends show: whether ends are found and not invented, and whether the dream promises too much.

const METRICS = {
  optimism: {
    label: 'Optimism',
    better: 'neither',
    unit: 'return',
    meaning:
      'Dreamt minus real return of the same recorded actions from the same real state, up to the horizon: above 0 the dream promises too much.',
  },
  'optimism-per-step': {
    label: 'Optimism a step',
    better: 'neither',
    unit: 'return',
    meaning: 'The same, divided by the steps of the recorded sequence.',
  },
  'reward-bias': {
    label: 'Reward bias',
    better: 'neither',
    unit: 'number',
    meaning: 'Mean of dreamt minus real reward, one step from real states.',
  },
  'reward-rmse': {
    label: 'Reward error (root mean square)',
    better: 'lower',
    unit: 'number',
    meaning: 'Root mean squared error of the sampled reward, one step from real states, in units of the reward.',
  },
  'reward-correlation': {
    label: 'Reward correlation',
    better: 'higher',
    unit: 'number',
    meaning: "Pearson's correlation of dreamt and real reward over transitions.",
  },
  'end-precision': {
    label: 'Precision of ends',
    better: 'higher',
    unit: 'share',
    meaning: 'Of the transitions that the dream lets end the episode, the share that really did.',
  },
  'end-recall': {
    label: 'Recall of ends',
    better: 'higher',
    unit: 'share',
    meaning: 'Of the transitions that really ended the episode, the share that the dream lets end it.',
  },
  'end-f1': {
    label: 'F1 of ends',
    better: 'higher',
    unit: 'number',
    meaning: 'Harmonic mean of precision and recall of ends.',
  },
  'false-done': {
    label: 'False ends',
    better: 'lower',
    unit: 'share',
    meaning: 'Of the transitions after which the episode really went on, the share that the dream lets end it.',
  },
} as const satisfies Record<string, MetricInfo>;

type Step = Extract<RewardEndRow, { kind: 'step' }>;
type Sequence = Extract<RewardEndRow, { kind: 'sequence' }>;

function concludeRewardEnd(judged: Judged, beginnings: readonly Beginning[], rows: readonly RewardEndRow[]): Finding {
  const { ground } = judged;
  const steps = rows.filter((row): row is Step => row.kind === 'step');
  const sequences = rows.filter((row): row is Sequence => row.kind === 'sequence');
  const gaps = sequences.map((dreamt, i) => dreamt.return - realReturn(ground, beginnings[i]));
  const found = { ...optimism(judged, beginnings, gaps), ...(steps.length > 0 ? oneStep(ground, steps) : {}) } as Found;
  const { optimism: promised, 'false-done': falseDone } = estimatesOf(found);
  return findingOf(
    {
      id: 'reward-end',
      title: 'Reward and end',
      summary: `For the same actions the dream promises ${shown(promised.value)} more return than they really earned; it ends ${shownShare(falseDone.value)} of the steps that really went on.`,
      charts: rewardEndCharts(ground, beginnings, sequences, steps),
      tables: [],
      worst: [],
      notes: notesOf(ground, steps),
    },
    metricsOfInfos(METRICS, found),
  );
}

function optimism(judged: Judged, beginnings: readonly Beginning[], gaps: readonly number[]) {
  const units = unitsOfBeginnings(judged, beginnings);
  const rng = (key: string) => intervalRng(judged.ground.plan, 'reward-end', key);
  const perStep = gaps.map((gap, i) => gap / beginnings[i].steps);
  return {
    optimism: clusteredMean(gaps, units, rng('optimism')),
    'optimism-per-step': clusteredMean(perStep, units, rng('optimism-per-step')),
  };
}

function oneStep({ truth, units, plan }: Ground, steps: readonly Step[]) {
  const rng = (key: string) => intervalRng(plan, 'reward-end', key);
  const { reward, terminated } = truth.rows;
  const errors = steps.map((step, r) => step.reward - reward[r]);
  const pairs = byUnit(
    steps.map((step, r) => [step.reward, reward[r]] as const),
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
    steps.map((step) => step.terminated === 1),
    steps.map((_, r) => terminated[r] === 1),
  );
  const falseDone = steps.map((step, r) => (terminated[r] === 1 ? null : step.terminated));
  return {
    'reward-bias': clusteredMean(errors, units, rng('reward-bias')),
    'reward-rmse': clusteredMean(
      errors.map((error) => error ** 2),
      units,
      rng('reward-rmse'),
      Math.sqrt,
    ),
    'reward-correlation': bootstrapEstimate(pairs, correlation, rng('reward-correlation'), { draws: 300 }),
    'end-precision': ends.precision,
    'end-recall': ends.recall,
    'end-f1': ends.f1,
    'false-done': clusteredShare(falseDone, units, rng('false-done')),
  };
}

function estimatesOf(found: Found): Readonly<Record<string, Estimate>> {
  const entries = Object.keys(METRICS).map((key) => {
    const value = found[key];
    return [key, value === undefined ? NOTHING : 'estimate' in value ? value.estimate : value] as const;
  });
  return Object.fromEntries(entries);
}

function notesOf({ truth, plan }: Ground, steps: readonly Step[]): readonly string[] {
  const ends = truth.rows.terminated.reduce((sum, end) => sum + end, 0);
  return [
    `The dream is sampled (${plan.propagation === 'ts1' ? 'a random elite a step, with its noise' : 'the mean of the elites, with noise'}), as a learner is given it.`,
    'A sequence is summed up to its recorded end: what a dream that misses the end would go on to promise is not in the optimism, but in the recall of ends.',
    ...(ends === 0
      ? ['No recorded transition ends its episode by the task: precision and recall of ends say nothing here.']
      : []),
    ...(steps.length === 0 ? [`${ONLY_LIVED_IN} Rewards and ends of single steps were not measured.`] : []),
  ];
}

// What recorded actions really earned.

/** Sum of the recorded rewards of a beginning's steps. */
function realReturn({ truth }: Ground, { row, steps }: Beginning): number {
  return truth.rows.reward.subarray(row, row + steps).reduce((sum, reward) => sum + reward, 0);
}

// Rewards and returns as pictures: what was promised against what was earned.

/** Points of the scatter at most; more would hide one another. */
const POINTS = 256;

function rewardEndCharts(
  ground: Ground,
  beginnings: readonly Beginning[],
  sequences: readonly Sequence[],
  steps: readonly Step[],
): readonly FidelityChart[] {
  const points = sequences
    .slice(0, POINTS)
    .map((dreamt, i): Point => ({ x: realReturn(ground, beginnings[i]), y: dreamt.return }));
  const scatter: FidelityChart = {
    kind: 'points',
    title: 'Dreamt against real return of the same actions',
    caption: 'Each point is a sequence of recorded actions; above the diagonal the dream promised too much.',
    xTitle: 'Real return',
    yTitle: 'Dreamt return',
    diagonal: true,
    series: [{ name: 'sequences', points }],
  };
  return steps.length === 0 ? [scatter] : [scatter, endBars(ground, steps)];
}

/** What the dream says where the episode really ended, and where it went on. */
function endBars({ truth }: Ground, steps: readonly Step[]): FidelityChart {
  const bar = (label: string, ended: number) => {
    const rows = steps.filter((_, r) => truth.rows.terminated[r] === ended);
    const hits = rows.filter(({ terminated }) => terminated === 1).length;
    return { label, estimate: shareEstimate(hits, rows.length), unit: 'share' as const };
  };
  return {
    kind: 'bars',
    title: 'How often the dream ends an episode',
    caption: 'It should always where the episode really ended, and never where it went on.',
    bars: [bar('where it really ended', 1), bar('where it really went on', 0)],
  };
}
