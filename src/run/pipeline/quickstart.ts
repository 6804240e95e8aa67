// `reverie quickstart`: the same learner from scratch and warm-started in the dream, to the same real return.

import { join } from 'node:path';
import { DREAM_ARM, SCRATCH_ARM } from '../../algorithms/index.js';
import { reverieError } from '../../core/errors.js';
import type { JobContext, QuickstartResult } from '../job.js';
import { writeReport } from '../report/report.js';
import { adjustScenario, type Scenario } from '../scenario.js';
import { type Arm, trainArms } from './arms.js';
import { compare } from './comparison.js';

/** Runs side by side: one a core of the smallest machine we expect. */
const THREADS = 2;

export async function quickstartJob(context: JobContext): Promise<QuickstartResult> {
  const { quickstart, train } = context.scenario.config;
  if (train.threshold === null) {
    const problem = 'train.threshold is null, and the quickstart trains to a threshold.';
    throw reverieError('SCENARIO_INVALID', { path: context.scenario.config.name, problem });
  }
  const seeds = Array.from({ length: quickstart.seeds }, (_, i) => context.seed + i);
  const options = { seeds, finalEpisodes: quickstart.finalEpisodes, threads: THREADS };
  const runs = await trainArms(await warmStartArms(context.scenario), options, context);
  const report = join(context.out, 'report.html');
  const { arms, ratio, reportInput } = compare(runs, train.threshold, context, seeds);
  await writeReport(report, reportInput);
  return {
    job: 'quickstart',
    wallSeconds: context.metrics.wallSeconds,
    threshold: train.threshold,
    arms,
    ratio,
    report,
    reportInput,
  };
}

/** The scenario twice: as the same learner's plain baseline, and as it is, in the dream. Both end at the threshold. */
export async function warmStartArms(scenario: Scenario): Promise<Arm[]> {
  const scratch = Object.entries(scenario.config.quickstart.fromScratch).map(([key, value]) => `train.${key}=${value}`);
  return [
    {
      name: SCRATCH_ARM,
      scenario: await adjustScenario(scenario, { set: ['train.mode=real', 'train.stopAtThreshold=true', ...scratch] }),
    },
    {
      name: DREAM_ARM,
      scenario: await adjustScenario(scenario, { set: ['train.mode=dream', 'train.stopAtThreshold=true'] }),
    },
  ];
}
