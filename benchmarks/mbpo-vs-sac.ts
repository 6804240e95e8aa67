// MBPO-style training against our own SAC at equal real steps on half-cheetah: final return of the dream ÷ that of the
// stronger of two plain SACs, one with the customary update a step and one with as many updates as the dream has.
// The same network, learning rates and evaluation for all; pairs by seed; interval by bootstrap over seeds.

import { Rng } from '../src/core/rng.js';
import type { ArmRun } from '../src/run/pipeline/arms.js';
import { comparisonPanel } from '../src/run/pipeline/vector-panels.js';
import type { ReportInput } from '../src/run/report/report-input.js';
import { adjustScenario, loadScenario, type Scenario } from '../src/run/scenario.js';
import { reportProvenance } from '../src/run/versions.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { mean } from './measure.js';
import { keepReport } from './pages.js';
import { runArms } from './training-arms.js';

const ID = 'mbpo-vs-sac.half-cheetah';
const DREAM = 'dream (MBPO)';
const PLAIN = 'SAC, 1 update a step';
const EAGER = 'SAC, 10 updates a step';
const REAL_STEPS = 6_000;

/** MBPO's settings for HalfCheetah, cut to a budget that a small machine finishes. */
const SETTINGS = [
  `train.realSteps=${REAL_STEPS}`,
  'train.initialRandomSteps=1000',
  'train.updatesPerRound=2500',
  'train.cyclesPerRound=5',
  'train.stopAtThreshold=false',
  'model.hidden=[200, 200]',
  'model.minEpochSteps=30',
  'rl.hidden=[128, 128]',
  'rl.batchSize=128',
  'rollout.startsPerRound=25000',
  'rollout.chunkRows=1024',
];

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, root } = context;
  const seeds = Array.from({ length: quick ? 1 : 3 }, (_, i) => 200 + i);
  const scenario = quick
    ? await loadScenario('half-cheetah', { profile: 'smoke' })
    : await loadScenario('half-cheetah', { set: SETTINGS });
  const arms = await armsOf(scenario);
  const panel = comparisonPanel(scenario, arms, seeds);
  const { runs, context: job } = await runArms(
    { id: ID, scenario, arms, seeds, finalEpisodes: quick ? 1 : 10 },
    context,
  );
  const returns = Object.fromEntries(
    [DREAM, PLAIN, EAGER].map((arm) => [arm, seeds.map((seed) => finalReturn(runs, arm, seed))]),
  );
  const provenance = reportProvenance(job, `npm run bench -- ${ID}`, panel);
  if (!quick) {
    await keepReport(root, ID, report(runs, returns, provenance));
  }
  return {
    ...ratio(returns),
    n: seeds.length,
    panel,
    raw: { seeds, realSteps: scenario.config.train.realSteps, finalReturns: returns, curves: curves(runs) },
  };
}

async function armsOf(scenario: Scenario) {
  const plain = (updates: number) => ['train.mode=real', 'train.stepsPerRound=50', `train.updatesPerStep=${updates}`];
  return [
    { name: DREAM, scenario },
    { name: PLAIN, scenario: await adjustScenario(scenario, { set: plain(1) }) },
    { name: EAGER, scenario: await adjustScenario(scenario, { set: plain(10) }) },
  ];
}

function finalReturn(runs: readonly ArmRun[], arm: string, seed: number): number {
  return mean(runs.find((run) => run.arm === arm && run.seed === seed)!.finalReturns);
}

/** Mean final return of the dream over that of the better SAC, resampled over seeds. */
function ratio(returns: Record<string, number[]>) {
  const n = returns[DREAM].length;
  const rng = Rng.fromSeed(0).split('bootstrap');
  const of = (seeds: readonly number[]) => {
    const meanOf = (arm: string) => mean(seeds.map((i) => returns[arm][i]));
    return meanOf(DREAM) / Math.max(meanOf(PLAIN), meanOf(EAGER));
  };
  const all = Array.from({ length: n }, (_, i) => i);
  const resampled = Array.from({ length: 10_000 }, () => of(all.map(() => rng.int(n)))).sort((a, b) => a - b);
  return { value: of(all), low: resampled[250], high: resampled[9_749] };
}

function curves(runs: readonly ArmRun[]) {
  return runs.map(({ arm, seed, result }) => ({
    arm,
    seed,
    points: result.evaluations.map(({ realSteps, meanReturn }) => ({ x: realSteps, y: meanReturn })),
  }));
}

function report(
  runs: readonly ArmRun[],
  returns: Record<string, number[]>,
  provenance: ReportInput['provenance'],
): ReportInput {
  const rows = Object.entries(returns).map(([arm, values]) => {
    const wall = mean(runs.filter((run) => run.arm === arm).map((run) => run.result.wallSeconds));
    return [
      arm,
      mean(values).toFixed(0),
      `${Math.min(...values).toFixed(0)} – ${Math.max(...values).toFixed(0)}`,
      `${(wall / 60).toFixed(1)} min`,
    ];
  });
  return {
    title: 'MBPO-style training against SAC: half-cheetah',
    lead: `Real return after ${REAL_STEPS.toLocaleString('en')} real steps, with the same network and evaluation for all.`,
    summary: {
      columns: ['', 'final return', 'least – most', 'wall time a run'],
      rows,
      note: 'Mean over seeds of the mean of ten final episodes.',
    },
    charts: [
      {
        title: 'Return in the real environment',
        caption: 'Line: mean over seeds; band: least to most.',
        xTitle: 'real environment steps',
        yTitle: 'return',
        curves: curves(runs),
      },
    ],
    provenance,
  };
}
