// Real steps to threshold: the best baseline ÷ warm-started in the dream. Baselines are the learner from scratch and the
// learner with as many updates on real rows alone. Five seeds an arm, not paired: the value is the ratio of medians, its
// interval the bootstrap over seeds of both arms. A run that never got there counts as its whole budget, which can only make
// the ratio of an unreached baseline smaller.

import { Rng } from '../src/core/rng.js';
import type { ArmRun } from '../src/run/pipeline/arms.js';
import { compare } from '../src/run/pipeline/comparison.js';
import { warmStartArms } from '../src/run/pipeline/quickstart.js';
import { comparisonPanel } from '../src/run/pipeline/vector-panels.js';
import { loadScenario } from '../src/run/scenario.js';
import { DREAM_ARM } from '../src/training/warm-start.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { median } from './measure.js';
import { keepReport } from './pages.js';
import { runArms } from './training-arms.js';

const RESAMPLES = 10_000;

export async function runWarmStart(id: string, scenarioName: string, context: BenchmarkContext): Promise<Measurement> {
  const { quick, root } = context;
  const scenario = await loadScenario(scenarioName, quick ? { profile: 'smoke' } : {});
  const seeds = Array.from({ length: quick ? 1 : 5 }, (_, i) => 100 + i);
  const { finalEpisodes } = scenario.config.quickstart;
  const compared = await warmStartArms(scenario);
  const panel = comparisonPanel(scenario, compared, seeds);
  const { runs, context: job } = await runArms({ id, scenario, arms: compared, seeds, finalEpisodes }, context);
  const threshold = scenario.config.train.threshold ?? Number.POSITIVE_INFINITY;
  const { arms, breakEven, reportInput } = compare(runs, threshold, job, panel);
  if (!quick) {
    await keepReport(root, id, {
      ...reportInput,
      provenance: { ...reportInput.provenance, command: `npm run bench -- ${id}` },
    });
  }
  const realSteps = Object.fromEntries(arms.map(({ arm }) => [arm, stepsOf(runs, arm)]));
  const { [DREAM_ARM]: dream, ...baselines } = realSteps;
  // The interval is that of the baseline that is best in the median, and says nothing of which one that is.
  const [best, steps] = Object.entries(baselines).reduce((a, b) => (median(b[1]) < median(a[1]) ? b : a));
  return { ...ratioOfMedians(steps, dream), n: seeds.length, panel, raw: { seeds, best, breakEven, realSteps, arms } };
}

function stepsOf(runs: readonly ArmRun[], arm: string): number[] {
  return runs.filter((run) => run.arm === arm).map(({ result }) => result.realStepsToThreshold ?? result.realSteps);
}

function ratioOfMedians(baseline: readonly number[], dream: readonly number[]) {
  const rng = Rng.fromSeed(0).split('bootstrap');
  const resample = (values: readonly number[]) => values.map(() => values[rng.int(values.length)]);
  const ratios = Float64Array.from(
    { length: RESAMPLES },
    () => median(resample(baseline)) / median(resample(dream)),
  ).sort();
  const at = (share: number) => ratios[Math.round(share * (RESAMPLES - 1))];
  return { value: median(baseline) / median(dream), low: at(0.025), high: at(0.975) };
}
