// `reverie quickstart`: a learner warm-started in the dream, to the same real return as baselines that know the real
// environment alone: the learner from scratch, the learner with as many updates, and others that a scenario names.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { requirePanel } from '../../core/evaluation-set.js';
import { mean } from '../../core/statistics.js';
import { learners } from '../../rl/learners.js';
import { DREAM_ARM, MANY_UPDATES_ARM, SCRATCH_ARM } from '../../training/warm-start.js';
import type { JobContext, QuickstartResult } from '../job.js';
import { writeReport } from '../report/report.js';
import { adjustScenario, type Scenario } from '../scenario.js';
import { wantedPanel } from '../wanted-panel.js';
import { armTask } from './arm-run.js';
import { type Arm, type ArmRun, trainArms } from './arms.js';
import { compare } from './comparison.js';
import { comparisonPanel } from './vector-panels.js';

/** Runs side by side: one a core of the smallest machine we expect. */
const THREADS = 2;

export async function quickstartJob(context: JobContext): Promise<QuickstartResult> {
  const { quickstart, train } = context.scenario.config;
  if (train.threshold === null) {
    const problem = 'train.threshold is null, and the quickstart trains to a threshold.';
    throw reverieError('SCENARIO_INVALID', { path: context.scenario.config.name, problem });
  }
  const seeds = Array.from({ length: quickstart.seeds }, (_, i) => context.seed + i);
  const options = { seeds, threads: THREADS, task: armTask, unit: 'real steps' };
  const asked = await warmStartArms(context.scenario);
  const panel = comparisonPanel(context.scenario, asked, seeds);
  requirePanel(panel, wantedPanel(context));
  const runs = await trainArms(asked, options, context);
  const report = join(context.out, 'report.html');
  const { arms, best, ratio, breakEven, taken, reportInput } = compare(runs, train.threshold, context, panel);
  await writeReport(report, reportInput);
  return {
    job: 'quickstart',
    wallSeconds: context.metrics.wallSeconds,
    panel,
    threshold: train.threshold,
    arms,
    best,
    ratio,
    breakEven,
    policy: bestRun(runs, taken),
    report,
    reportInput,
  };
}

function bestRun(runs: readonly ArmRun[], taken: string): QuickstartResult['policy'] {
  const own = runs.filter(({ arm }) => arm === taken);
  const { arm, seed, result } = own.reduce((a, b) => (mean(b.finalReturns) > mean(a.finalReturns) ? b : a));
  return { arm, seed, checkpoint: result.checkpoint };
}

/** The scenario as its baselines, and as it is, in the dream. All end at the threshold. */
export async function warmStartArms(scenario: Scenario): Promise<Arm[]> {
  const { baselines, fromScratch } = scenario.config.quickstart;
  const scratch = Object.entries(fromScratch).map(([key, value]) => `train.${key}=${JSON.stringify(value)}`);
  const arm = async (name: string, set: readonly string[]): Promise<Arm> => {
    return { name, scenario: await adjustScenario(scenario, { set: ['train.stopAtThreshold=true', ...set] }) };
  };
  const others = baselines.filter((name) => name !== scenario.config.rl.algorithm && isDrawnFrom(name, scenario));
  return [
    await arm(SCRATCH_ARM, ['train.mode=real', ...withoutModel(scenario), ...scratch]),
    ...(await Promise.all(others.map((name) => baseline(name, scenario, scratch, arm)))),
    await arm(DREAM_ARM, ['train.mode=dream']),
  ];
}

/** Who plans in a model has none to plan in from scratch: SAC stands in its place. */
function withoutModel({ config: { rl } }: Scenario): string[] {
  if (learners.get(rl.algorithm).learnsFrom !== 'model') return [];
  return ['rl.algorithm=sac', ...sharedKeys(rl, 'sac')];
}

/** Many updates are asked of a learner that replays rows alone. */
function isDrawnFrom(name: string, { config }: Scenario): boolean {
  return name !== 'many-updates' || learners.get(config.rl.algorithm).learnsFrom === 'replay';
}

function baseline(
  name: string,
  scenario: Scenario,
  scratch: readonly string[],
  arm: (name: string, set: readonly string[]) => Promise<Arm>,
): Promise<Arm> {
  const { quickstart, train, rl } = scenario.config;
  if (name === 'many-updates') {
    // The dream's own rounds, with the budget of the run from scratch.
    const budget = quickstart.fromScratch['realSteps'] ?? train.realSteps;
    return arm(MANY_UPDATES_ARM, ['train.mode=dream', 'replay.realRatio=1', `train.realSteps=${budget}`]);
  }
  const { updatesPerStep } = learners.get(name);
  return arm(name, [
    ...['train.mode=real', ...scratch],
    ...(updatesPerStep === undefined ? [] : [`train.updatesPerStep=${updatesPerStep}`]),
    `rl.algorithm=${name}`,
    ...sharedKeys(rl, name),
  ]);
}

/** What another learner takes over of the scenario's: what says how large it is and what it is after, not how it learns. */
function sharedKeys(rl: Scenario['config']['rl'], learner: string): string[] {
  const { shape } = learners.get(learner).schema;
  return Object.entries(rl)
    .filter(([key]) => key in shape && ['hidden', 'gamma', 'rewardScale'].includes(key))
    .map(([key, value]) => `rl.${key}=${JSON.stringify(value)}`);
}
