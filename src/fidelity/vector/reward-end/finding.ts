// What rewards and ends show: whether ends are found and not invented, and whether the dream promises too much.

import type { Finding } from '../../instrument.js';
import { bootstrapEstimate } from '../../statistics/bootstrap.js';
import { precisionRecall } from '../../statistics/confusion.js';
import { pearson } from '../../statistics/correlation.js';
import { type Estimate, NOTHING } from '../../statistics/estimate.js';
import { byUnit, clusteredMean, clusteredShare } from '../clustered.js';
import { type Beginning, unitsOfBeginnings } from '../open-loop.js';
import { type Ground, intervalRng, type Judged } from '../plan.js';
import { type Found, findingOf, type MetricInfo, root, shown, shownShare } from '../section-parts.js';
import { ONLY_LIVED_IN } from '../unmeasured.js';
import { rewardEndCharts } from './charts.js';
import { realReturn } from './real-return.js';
import type { RewardEndRow } from './row.js';

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

export function concludeRewardEnd(
  judged: Judged,
  beginnings: readonly Beginning[],
  rows: readonly RewardEndRow[],
): Finding {
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
    METRICS,
    found,
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
      root,
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
