// `reverie quickstart`: a learner warm-started in simulation, to the same real return as baselines that know the real environment
// alone: the learner from scratch, the learner with as many updates, and others that a scenario names. What that saved, and the price
// of a real step from which it pays.

import { reverieError } from '../../core/errors.js';
import type { Report } from '../../core/report.js';
import { mean } from '../../core/statistics.js';
import { learners } from '../../rl/learners.js';
import {
  type BreakEven,
  compareWarmStart,
  DREAM_ARM,
  MANY_UPDATES_ARM,
  medianSteps,
  SCRATCH_ARM,
  type WarmStart,
} from '../../training/warm-start.js';
import { comparisonSet } from '../evaluation-set.js';
import { formatCount, formatDuration, formatNumber, formatSpread } from '../format.js';
import type { JobContext } from '../job.js';
import type { MetricsEvent } from '../metrics.js';
import { publish } from '../report-page.js';
import { adjustScenario, type Scenario } from '../scenario.js';
import { type Arm, type ArmRun, trainArms } from './arms.js';

export async function quickstartJob(context: JobContext) {
  const { scenario, seed, metrics } = context;
  const { quickstart, train, name } = scenario.config;
  const { threshold } = train;
  if (threshold === null) {
    const problem = 'train.threshold is null, and the quickstart trains to a threshold.';
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const seeds = Array.from({ length: quickstart.seeds }, (_, i) => seed + i);
  const asked = await warmStartArms(scenario);
  const evaluationSet = comparisonSet(scenario, asked, seeds);
  const runs = await trainArms(asked, seeds, context);
  const found = compareWarmStart(
    runs.map(({ arm, result, finalReturns, events }) => {
      const dreams = events.filter((event) => event.kind === 'dream');
      const { realStepsToThreshold, wallSeconds } = result;
      const [simulatedTransitions, dreamSeconds] = [sumOf(dreams, 'rows'), sumOf(dreams, 'seconds')];
      return { arm, realStepsToThreshold, finalReturns, wallSeconds, simulatedTransitions, dreamSeconds };
    }),
  );
  const { arms, best, ratio, breakEven, taken } = found;
  // The policy to go on with: of the way that needed the fewest real steps, the run whose final return was best.
  const kept = runs
    .filter(({ arm }) => arm === taken)
    .reduce((a, b) => (mean(b.finalReturns) > mean(a.finalReturns) ? b : a));
  const policy = { arm: kept.arm, seed: kept.seed, checkpoint: kept.result.checkpoint };
  return {
    ...{ job: 'quickstart', wallSeconds: metrics.wallSeconds, evaluationSet, threshold, arms, best, ratio, breakEven },
    policy,
    report: await publish(context, reportOf(runs, found, policy, context), evaluationSet),
  };
}

function sumOf(events: readonly MetricsEvent[], key: string): number {
  return events.reduce((total, event) => total + Number(event[key] ?? 0), 0);
}

/** The scenario as its baselines, and as it is, in simulation. All end at the threshold. */
export async function warmStartArms(scenario: Scenario): Promise<Arm[]> {
  const { rl, train, quickstart } = scenario.config;
  const { baselines, fromScratch } = quickstart;
  const own = learners.get(rl.algorithm);
  const scratch = Object.entries(fromScratch).map(([key, value]) => `train.${key}=${JSON.stringify(value)}`);
  const arm = async (name: string, set: readonly string[]): Promise<Arm> => {
    return { name, scenario: await adjustScenario(scenario, { set: ['train.stopAtThreshold=true', ...set] }) };
  };
  // What another learner takes over: what says how large it is and what it is after, not how it learns. What is open stays open.
  const isTaken = (key: string, value: unknown) => ['hidden', 'gamma', 'rewardScale'].includes(key) && value !== 'auto';
  const as = (learner: string) => [
    `rl.algorithm=${learner}`,
    ...(learners.get(learner).learnsFrom === 'replay' ? [] : ['replay.selector.kind=uniform']),
    ...Object.entries(rl)
      .filter(([key, value]) => key in learners.get(learner).schema.shape && isTaken(key, value))
      .map(([key, value]) => `rl.${key}=${JSON.stringify(value)}`),
  ];
  // Who plans in a model has none to plan in from scratch: SAC stands in its place.
  const arms = [arm(SCRATCH_ARM, ['train.mode=real', ...(own.learnsFrom === 'model' ? as('sac') : []), ...scratch])];
  for (const name of baselines.filter((one) => one !== rl.algorithm)) {
    if (name !== 'many-updates')
      arms.push(arm(name, ['train.mode=real', ...scratch, 'train.updatesPerStep=auto', ...as(name)]));
    else if (own.learnsFrom === 'replay') {
      // The rounds of the simulation, with the budget of the run from scratch.
      const budget = fromScratch['realSteps'] ?? train.realSteps;
      arms.push(arm(MANY_UPDATES_ARM, ['train.mode=dream', 'replay.realRatio=1', `train.realSteps=${budget}`]));
    }
  }
  return Promise.all([...arms, arm(DREAM_ARM, ['train.mode=dream'])]);
}

function reportOf(
  runs: readonly ArmRun[],
  found: WarmStart,
  policy: { readonly arm: string; readonly seed: number; readonly checkpoint: string },
  { scenario: { config } }: JobContext,
): Report {
  const { arms, best, breakEven } = found;
  const threshold = config.train.threshold!;
  const isBeside = arms.some(({ arm }) => arm === MANY_UPDATES_ARM);
  const seeds = new Set(runs.map(({ seed }) => seed)).size;
  return {
    title: `Warm start: ${config.name}`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: `${lead(found, threshold, seeds)} ${breakEvenText(breakEven)}` },
      {
        kind: 'table',
        columns: ['', 'real steps to threshold', 'final real return', 'wall time a run', 'simulated'],
        rows: arms.map((arm) => [
          arm.arm === best ? `${arm.arm} (best baseline)` : arm.arm,
          stepsText(arm.realStepsToThreshold),
          formatSpread(arm.finalReturn.mean, arm.finalReturn.std, seeds * config.quickstart.finalEpisodes),
          formatDuration(arm.wallSeconds),
          arm.simulatedTransitions > 0 ? formatCount(arm.simulatedTransitions) : '–',
        ]),
        note: `Steps: ${seedsText(seeds)}${seeds === 1 ? '' : ' [least – most]'}, evaluations not counted. Return: mean ± standard deviation over final episodes, of which none decided when to stop.${isBeside ? ` "${MANY_UPDATES_ARM}" is the learner with all the gradient updates and nothing simulated: what simulation is worth beyond learning more often.` : ''}`,
      },
      { kind: 'facts', rows: [['policy', `${policy.checkpoint} ("${policy.arm}", seed ${policy.seed})`]] },
      {
        ...{ kind: 'curves', title: 'Return in the real environment' },
        ...{ xTitle: 'real environment steps', yTitle: 'return' },
        caption:
          'Mean of the evaluation episodes against real steps taken. Line: mean over seeds; band: least to most.',
        threshold: { value: threshold, label: `threshold ${formatNumber(threshold)}` },
        curves: runs.map(({ arm, seed, result }) => ({
          ...{ name: arm, seed },
          points: result.evaluations.map(({ realSteps, meanReturn }) => ({ x: realSteps, y: meanReturn })),
        })),
      },
    ],
  };
}

/** The price of a real step that decides: what a step costs in waiting. */
export function breakEvenText(breakEven: BreakEven): string {
  const seconds = breakEven.kind === 'from' ? formatNumber(breakEven.secondsPerStep) : '';
  const text = {
    unknown: 'not known, as the dream did not reach it',
    always: 'the dream pays at any price of a real step, as no baseline that reached it took less time',
    never: 'the dream does not pay at any price of a real step, as a baseline needs no more of them',
    from: `the dream pays where a real step takes more than ${seconds} s beyond its computing here`,
  };
  return `Break-even: ${text[breakEven.kind]}.`;
}

function lead({ best, ratio }: WarmStart, threshold: number, seeds: number): string {
  const goal = `a mean real return of ${formatNumber(threshold)}`;
  if (best === null) return `No baseline reached ${goal} within its budget of real steps (${seedsText(seeds)}).`;
  if (ratio === null) return `The dream did not reach ${goal} within its budget of real steps (${seedsText(seeds)}).`;
  const more = ratio >= 1 ? `${formatNumber(ratio)} times fewer` : `${formatNumber(1 / ratio)} times more`;
  return `To reach ${goal}, the policy that learned in the dream needed ${more} real steps than the best baseline, "${best}" (${seedsText(seeds)}).`;
}

function seedsText(seeds: number): string {
  return seeds === 1 ? 'one seed' : `medians of ${seeds} seeds`;
}

function stepsText(steps: readonly (number | null)[]): string {
  const middle = medianSteps(steps);
  const reached = steps.filter((value) => value !== null);
  if (reached.length === 0) return 'not reached';
  const range =
    steps.length === 1 ? '' : ` [${formatCount(Math.min(...reached))} – ${formatCount(Math.max(...reached))}]`;
  const missing =
    reached.length < steps.length ? `, ${steps.length - reached.length} of ${steps.length} not reached` : '';
  return `${middle === null ? '–' : formatCount(middle)}${range}${missing}`;
}
