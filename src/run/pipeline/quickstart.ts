// `reverie quickstart`: a learner warm-started in the dream, to the same real return as baselines that know the real
// environment alone: the learner from scratch, the learner with as many updates, and others that a scenario names.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { mean } from '../../core/statistics.js';
import { learners } from '../../rl/learners.js';
import { DREAM_ARM, MANY_UPDATES_ARM, SCRATCH_ARM } from '../../training/warm-start.js';
import { comparisonPanel, requireSet } from '../evaluation-set.js';
import type { JobContext, QuickstartResult } from '../job.js';
import { writeReport } from '../report-page.js';
import { adjustScenario, type Scenario } from '../scenario.js';
import { type Arm, armTask, trainArms } from './arms.js';
import { compare } from './comparison.js';

/** Runs side by side: one a core of the smallest machine we expect. */
const THREADS = 2;

export async function quickstartJob(context: JobContext): Promise<QuickstartResult> {
  const { scenario, seed, inputs, metrics, out } = context;
  const { quickstart, train, name } = scenario.config;
  const { threshold } = train;
  if (threshold === null) {
    const problem = 'train.threshold is null, and the quickstart trains to a threshold.';
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const seeds = Array.from({ length: quickstart.seeds }, (_, i) => seed + i);
  const asked = await warmStartArms(scenario);
  const panel = comparisonPanel(scenario, asked, seeds);
  requireSet(panel, inputs);
  const runs = await trainArms(asked, { seeds, threads: THREADS, task: armTask, unit: 'real steps' }, context);
  const { arms, best, ratio, breakEven, taken, reportInput } = compare(runs, threshold, context, panel);
  const report = join(out, 'report.html');
  await writeReport(report, reportInput);
  const kept = runs
    .filter(({ arm }) => arm === taken)
    .reduce((a, b) => (mean(b.finalReturns) > mean(a.finalReturns) ? b : a));
  const policy = { arm: kept.arm, seed: kept.seed, checkpoint: kept.result.checkpoint };
  const { wallSeconds } = metrics;
  return {
    job: 'quickstart',
    wallSeconds,
    panel,
    threshold,
    arms,
    best,
    ratio,
    breakEven,
    policy,
    report,
    reportInput,
  };
}

/** The scenario as its baselines, and as it is, in the dream. All end at the threshold. */
export async function warmStartArms(scenario: Scenario): Promise<Arm[]> {
  const { rl, train, quickstart } = scenario.config;
  const { baselines, fromScratch } = quickstart;
  const own = learners.get(rl.algorithm);
  const scratch = Object.entries(fromScratch).map(([key, value]) => `train.${key}=${JSON.stringify(value)}`);
  const arm = async (name: string, set: readonly string[]): Promise<Arm> => {
    return { name, scenario: await adjustScenario(scenario, { set: ['train.stopAtThreshold=true', ...set] }) };
  };
  // What another learner takes over: what says how large it is and what it is after, not how it learns.
  const as = (learner: string) => [
    `rl.algorithm=${learner}`,
    ...Object.entries(rl)
      .filter(([key]) => key in learners.get(learner).schema.shape && ['hidden', 'gamma', 'rewardScale'].includes(key))
      .map(([key, value]) => `rl.${key}=${JSON.stringify(value)}`),
  ];
  // Who plans in a model has none to plan in from scratch: SAC stands in its place.
  const arms = [arm(SCRATCH_ARM, ['train.mode=real', ...(own.learnsFrom === 'model' ? as('sac') : []), ...scratch])];
  for (const name of baselines.filter((one) => one !== rl.algorithm)) {
    if (name !== 'many-updates') {
      const { updatesPerStep: updates } = learners.get(name);
      const more = updates === undefined ? [] : [`train.updatesPerStep=${updates}`];
      arms.push(arm(name, ['train.mode=real', ...scratch, ...more, ...as(name)]));
    } else if (own.learnsFrom === 'replay') {
      // The dream's own rounds, with the budget of the run from scratch.
      const budget = fromScratch['realSteps'] ?? train.realSteps;
      arms.push(arm(MANY_UPDATES_ARM, ['train.mode=dream', 'replay.realRatio=1', `train.realSteps=${budget}`]));
    }
  }
  return Promise.all([...arms, arm(DREAM_ARM, ['train.mode=dream'])]);
}
