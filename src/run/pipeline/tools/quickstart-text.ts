// `reverie quickstart` in a world of text: an agent that imitates the same walkthroughs, and then learns in a dream of a few real
// episodes, or for as many rounds in the exact rules.

import { reverieError } from '../../../core/errors.js';
import { evaluationSetOf } from '../../../core/evaluation-set.js';
import type { Block, Report } from '../../../core/report.js';
import { mean, rateOf } from '../../../core/statistics.js';
import { formatCount, formatDuration, formatNumber, formatPercent } from '../../format.js';
import type { JobContext } from '../../job.js';
import { publish } from '../../report-page.js';
import { adjustScenario, type ToolsScenario } from '../../scenario.js';
import { type Arm, type ArmRun, type TextArmReply, textArmTask, trainArms } from '../arms.js';
import { remarkOn } from './parts.js';
import { simulationBlocks, successChart } from './train-policy.js';

type Context = JobContext<ToolsScenario>;

const DREAM = 'dream of a few real episodes';
const REAL_ONLY = 'real episodes alone';

/** Runs side by side: one a core of the smallest machine we expect. */
const THREADS = 2;

/** @throws SCENARIO_INVALID where no dream would be made of records, and what trainings throw */
export type TextQuickstartResult = Awaited<ReturnType<typeof quickstartTextJob>>;

export async function quickstartTextJob(context: Context) {
  const { scenario } = context;
  const { quickstart, name } = scenario.config;
  const seeds = Array.from({ length: quickstart.seeds }, (_, i) => context.seed + i);
  const arms = await textArms(scenario);
  if (arms[0].scenario.config.train.gather === undefined) {
    const problem =
      'train.gather is missing: the quickstart compares a dream that is made of a few real episodes with the exact rules, and nothing says how these are recorded; see "Agents of text" in docs/learners.md';
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const runs = await trainArms(arms, { seeds, threads: THREADS, task: textArmTask, unit: 'rounds' }, context);
  // As each way of training is judged, with the first of the seeds.
  const [dream, real] = arms.map(({ name: arm }) => runs.find((run) => run.arm === arm && run.seed === seeds[0])!);
  const { environment, tasks, policies } = dream.result.evaluationSet;
  const ways = { [DREAM]: dream.result.evaluationSet.hash, [REAL_ONLY]: real.result.evaluationSet.hash };
  const compared = { environment, tasks, seeds, policies: { ...ways, answers: policies.answers }, settings: {} };
  const evaluationSet = evaluationSetOf(compared);
  const found = compareText(runs);
  const { wallSeconds } = context.metrics;
  const report = await publish(context, comparisonReport(name, found, runs), evaluationSet);
  return { job: 'quickstart', family: 'tools', wallSeconds, evaluationSet, ...found, report };
}

/** The scenario in its dream and in the exact rules, for as many rounds. */
async function textArms(scenario: ToolsScenario): Promise<Arm<ToolsScenario>[]> {
  const { train, realOnly } = scenario.config.quickstart;
  const arm = async (name: string, mode: string, keys: object): Promise<Arm<ToolsScenario>> => {
    const set = Object.entries(keys).map(([key, value]) => `train.${key}=${JSON.stringify(value)}`);
    return { name, scenario: await adjustScenario(scenario, { set: [`train.mode=${mode}`, ...set] }) };
  };
  return [await arm(DREAM, 'dream', train), await arm(REAL_ONLY, 'real', { ...train, ...realOnly })];
}

type Run = ArmRun<TextArmReply>;

/**
 * Both ways of training with the same seeds, in pairs. The exact rules are given the benefit of the doubt: where evaluations lie apart,
 * the later one counts.
 */
function compareText(runs: readonly Run[]) {
  const of = (arm: string) => runs.filter((run) => run.arm === arm);
  const pairs = of(DREAM).map(({ seed, result }) => {
    const { realSteps, success: won } = result.evaluations.at(-1)!;
    const real = of(REAL_ONLY).find((run) => run.seed === seed)!.result;
    const learned = real.evaluations.filter(({ after }) => after !== 'nothing');
    const asMany = learned.find((one) => one.realSteps >= realSteps);
    const asGood = learned.find(({ success }) => success.value! >= won.value!);
    return { asMany: asMany?.success.value ?? null, ratio: asGood === undefined ? null : asGood.realSteps / realSteps };
  });
  return {
    arms: [DREAM, REAL_ONLY].map((arm) => summaryOf(arm, of(arm))),
    realForAsMany: pairs.map(({ asMany }) => asMany),
    stepsRatios: pairs.map(({ ratio }) => ratio),
  };
}

function summaryOf(arm: string, runs: readonly Run[]) {
  const results = runs.map(({ result }) => result);
  const ends = results.map(({ evaluations }) => evaluations.at(-1)!.success);
  const episodes = ends.reduce((sum, { of }) => sum + of, 0);
  const wins = ends.reduce((sum, { value, of }) => sum + Math.round(value! * of), 0);
  const cloned = results.map(({ evaluations }) => evaluations.find(({ after }) => after === 'cloning'));
  return {
    arm,
    success: rateOf(wins, episodes),
    bySeed: ends.map(({ value }) => value!),
    imitated: cloned.map((evaluation) => evaluation?.success.value ?? null),
    realSteps: results.map(({ realSteps }) => realSteps),
    simulatedSteps: results.map(({ simulatedSteps }) => simulatedSteps),
    wallSeconds: mean(results.map(({ wallSeconds }) => wallSeconds)),
  };
}

type TextComparison = ReturnType<typeof compareText>;

function comparisonReport(name: string, found: TextComparison, runs: readonly Run[]): Report {
  const simulated = runs.filter(({ arm }) => arm === DREAM);
  return {
    title: `An agent that learned in simulation: ${name}`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: leadOf(found) },
      {
        kind: 'table',
        columns: ['', 'won', '95 %', 'by seed', 'after imitation', 'real steps', 'simulated steps', 'wall time a run'],
        rows: found.arms.map(({ arm, success, bySeed, imitated, realSteps, simulatedSteps, wallSeconds }) => [
          arm,
          formatPercent(success.value),
          `${formatPercent(success.low)} to ${formatPercent(success.high)}`,
          bySeed.map(formatPercent).join(', '),
          imitated.map(formatPercent).join(', '),
          formatCount(Math.round(mean(realSteps))),
          formatCount(Math.round(mean(simulatedSteps))),
          formatDuration(wallSeconds),
        ]),
        note: `Won: unseen tasks at the end of training, all seeds together. Steps: means over seeds, of walkthroughs, records and rounds, none of evaluations. Intervals are those of episodes, not of training again. ${remarkOn('The policy')}`,
      },
      successChart(runs.map(({ arm, seed, result: { evaluations } }) => ({ arm, seed, evaluations }))),
      ...simulated.map(({ seed, result }): Block => {
        return { kind: 'details', title: `The simulation, seed ${seed}`, blocks: simulationBlocks(result) };
      }),
    ],
  };
}

function leadOf({ arms: [dream, real], realForAsMany, stepsRatios }: TextComparison): string {
  const steps = (arm: typeof dream) => formatCount(Math.round(mean(arm.realSteps)));
  const known = realForAsMany.filter((value) => value !== null);
  const asMany =
    known.length === realForAsMany.length ? `${formatPercent(mean(known))} for at least as many, and ` : '';
  const reached = stepsRatios.filter((value) => value !== null).map((value) => `${formatNumber(value)}×`);
  const missing = stepsRatios.length - reached.length;
  const needed =
    reached.length === 0 ? [] : [`for as many wins they took ${reached.join(', ')} the dream's real steps`];
  const never = missing === 0 ? [] : [`with ${missing} of ${stepsRatios.length} seeds they never won as many`];
  return `Of unseen tasks the policy that learned in the dream wins ${formatPercent(dream.success.value)}, after ${steps(dream)} real steps. Real episodes alone lead to ${asMany}${formatPercent(real.success.value)} in the end, after ${steps(real)}; ${[...needed, ...never].join(', and ')}.`;
}
