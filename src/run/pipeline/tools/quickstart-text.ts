// `reverie quickstart` in a world of text: an agent that imitates the same walkthroughs, and then learns in a dream of a few real
// episodes, or for as many rounds in the exact rules.

import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { type Panel, panelOf } from '../../../core/evaluation-set.js';
import { rulesResponder } from '../../../env/tools/rules-responder.js';
import { evenly } from '../../../training/text-training.js';
import { requireSet } from '../../evaluation-set.js';
import type { JobContext } from '../../job.js';
import { writeReport } from '../../report-page.js';
import { adjustScenario, type ToolsScenario } from '../../scenario.js';
import type { TextQuickstartResult } from '../../tools-results.js';
import { type Arm, textArmTask, trainArms } from '../arms.js';
import { makeParts, ofTraining } from './parts.js';
import { compareText, DREAM, REAL_ONLY, textComparisonReport } from './text-comparison.js';
import { tasksOf, trainingPanel } from './train-policy.js';

type Context = JobContext<ToolsScenario>;

/** Runs side by side: one a core of the smallest machine we expect. */
const THREADS = 2;

/** @throws SCENARIO_INVALID where no dream would be made of records, and what trainings throw */
export async function quickstartTextJob(context: Context): Promise<TextQuickstartResult> {
  const { scenario, out } = context;
  const { quickstart, name } = scenario.config;
  const seeds = Array.from({ length: quickstart.seeds }, (_, i) => context.seed + i);
  const arms = await textArms(scenario);
  if (arms[0].scenario.config.train.gather === undefined) {
    const problem =
      'train.gather is missing: the quickstart compares a dream that is made of a few real episodes with the exact rules, and nobody says how these are lived; see "Agents of text" in docs/learners.md';
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const panel = await comparedPanel(context, arms, seeds);
  requireSet(panel, context.inputs);
  const runs = await trainArms(arms, { seeds, threads: THREADS, task: textArmTask, unit: 'rounds' }, context);
  const found = compareText(runs);
  const report = join(out, 'report.html');
  const reportInput = textComparisonReport(context, found, runs, panel);
  await writeReport(report, reportInput);
  return {
    ...{ job: 'quickstart', family: 'tools', wallSeconds: context.metrics.wallSeconds, panel },
    ...{ ...found, report, reportInput },
  };
}

/** The scenario in its dream and in the exact rules, for as many rounds. */
export async function textArms(scenario: ToolsScenario): Promise<Arm<ToolsScenario>[]> {
  const { train, realOnly } = scenario.config.quickstart;
  const arm = async (name: string, mode: string, keys: object): Promise<Arm<ToolsScenario>> => {
    const set = Object.entries(keys).map(([key, value]) => `train.${key}=${JSON.stringify(value)}`);
    return { name, scenario: await adjustScenario(scenario, { set: [`train.mode=${mode}`, ...set] }) };
  };
  return [await arm(DREAM, 'dream', train), await arm(REAL_ONLY, 'real', { ...train, ...realOnly })];
}

/** Known before anything is lived. */
async function comparedPanel(
  context: Context,
  arms: readonly Arm<ToolsScenario>[],
  seeds: readonly number[],
): Promise<Panel> {
  const [{ scenario }] = arms;
  const parts = await makeParts({ ...context, scenario: ofTraining(scenario), dreamsLater: true });
  try {
    const { domain } = parts;
    const { evalSplits, evalTasks } = scenario.config.train;
    const tasks = evenly(tasksOf(domain, evalSplits, 'to be judged on'), evalTasks);
    const answers = (domain.rules === undefined ? parts.responder : rulesResponder(domain)).version;
    const policies = arms.map((arm) => [
      arm.name,
      trainingPanel({ ...arm, seed: seeds[0] }, parts, tasks, answers).hash,
    ]);
    return panelOf({
      environment: domain.version,
      tasks: tasks.map(({ id }) => id),
      seeds,
      policies: { ...Object.fromEntries(policies), answers },
      settings: {},
    });
  } finally {
    await parts.close();
  }
}
