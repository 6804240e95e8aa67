// What a warm start saved against the best of its baselines: the table, the figures, the charts, and the price of a real step
// from which the dream pays.

import type { Panel } from '../../core/evaluation-set.js';
import type { Block, CurvesBlock, Report, TableBlock } from '../../core/report.js';
import type { ScenarioConfig } from '../../kinds/vector.js';
import {
  type ArmSummary,
  type BreakEven,
  compareWarmStart,
  DREAM_ARM,
  MANY_UPDATES_ARM,
  medianSteps,
  type TrainedArm,
  type WarmStart,
} from '../../training/warm-start.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import { formatCount, formatDuration, formatNumber, formatSpread } from '../format.js';
import type { JobContext } from '../job.js';
import type { MetricsEvent } from '../metrics.js';
import { provenanceBlock, reportProvenance } from '../versions.js';
import type { ArmRun } from './arms.js';

export interface Comparison extends WarmStart {
  readonly reportInput: Report;
}

export function compare(runs: readonly ArmRun[], threshold: number, context: JobContext, panel: Panel): Comparison {
  const found = compareWarmStart(runs.map(trainedArm));
  return { ...found, reportInput: report(runs, found, threshold, context, panel) };
}

function trainedArm({ arm, result, finalReturns, events }: ArmRun): TrainedArm {
  const dreams = events.filter((event) => event.kind === 'dream');
  const { realStepsToThreshold, wallSeconds } = result;
  const dreamtTransitions = sumOf(dreams, 'rows');
  return {
    arm,
    realStepsToThreshold,
    finalReturns,
    wallSeconds,
    dreamtTransitions,
    dreamSeconds: sumOf(dreams, 'seconds'),
  };
}

function sumOf(events: readonly MetricsEvent[], key: string): number {
  return events.reduce((total, event) => total + Number(event[key] ?? 0), 0);
}

function report(
  runs: readonly ArmRun[],
  found: WarmStart,
  threshold: number,
  context: JobContext,
  panel: Panel,
): Report {
  const { seeds } = panel;
  const { config } = context.scenario;
  const price = breakEvenText(found.breakEven, config.quickstart.computePerHour);
  const charts = [returnChart(runs, threshold), errorChart(runs), dreamtChart(runs), ...lossCharts(runs)];
  return {
    title: `Warm start: ${config.name}`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: `${lead(found, threshold, seeds.length)} ${price}` },
      figures(found),
      summaryTable(found, seeds.length),
      ...charts.filter(({ curves }) => curves.length > 0),
      {
        kind: 'list',
        tone: 'note',
        items: [
          'Real steps count every training step in the real environment, the random ones at the start included; evaluation episodes are not counted, and are as many in all. The ratio is that of the best baseline, the one that needed the fewest real steps, to the dream.',
          `"${MANY_UPDATES_ARM}" is the learner of the dream with all its gradient updates and nothing simulated (replay.realRatio=1): what a dream is worth beyond learning more often.`,
          'A run ends at its first evaluation whose mean return reaches the threshold. The final return comes from episodes of their own, not from the evaluation that ended the run.',
          rewardNote(config),
          ...settingsNotes(runs),
        ],
      },
      provenanceBlock(reportProvenance(context, `reverie quickstart ${config.name} --seed ${context.seed}`, panel)),
    ],
  };
}

/** The price of a real step that decides: what a step costs in waiting, or, where the computer has a price, in money. */
export function breakEvenText(breakEven: BreakEven, computePerHour: number | null): string {
  switch (breakEven.kind) {
    case 'unknown':
      return 'Break-even: not known, as the dream did not reach it.';
    case 'always':
      return 'Break-even: the dream pays at any price of a real step, as it takes no more time either.';
    case 'never':
      return 'Break-even: the dream does not pay at any price of a real step, as a baseline needs no more of them.';
    case 'from': {
      const { secondsPerStep } = breakEven;
      const money =
        computePerHour === null ? '' : `, or ${formatNumber((secondsPerStep * computePerHour) / 3600)} in money`;
      return `Break-even: the dream pays where a real step takes more than ${formatNumber(secondsPerStep)} s beyond its computing here${money}.`;
    }
  }
}

/** Where dreams were not dreamt, and which settings found themselves: of each run. */
function settingsNotes(runs: readonly ArmRun[]): string[] {
  return runs.flatMap(({ arm, seed, result: { dream } }) => {
    if (dream === undefined) return [];
    const { rounds, shutRounds, shutBecause, settings } = dream;
    const found = settings
      .filter(({ reason }) => reason !== 'pinned')
      .map(({ key, value, reason }) => `${key} ${value} (${reason})`);
    const shut = shutRounds === 0 ? '' : `; ${shutRounds} of ${rounds} rounds were not dreamt in, as ${shutBecause}`;
    return [`${arm}, seed ${seed}, at its end: ${found.join('; ') || 'all settings pinned'}${shut}.`];
  });
}

/** What of the dream was learned and what was known. */
function rewardNote({ model }: ScenarioConfig): string {
  if (dynamicsKinds.get(model.kind).broughtFolder)
    return 'The world model is a brought one; nothing of it was learned here.';
  if (model['learnReward'] === 'auto')
    return 'The world model learns how the environment moves; the reward is the known function of what is observed where there is one, and learnt where there is none.';
  return model['learnReward'] !== false
    ? 'The world model learns how the environment moves and what it rewards.'
    : 'The world model learns how the environment moves; the reward is the known function of what is observed.';
}

function lead({ best, ratio }: WarmStart, threshold: number, seeds: number): string {
  const goal = `a mean real return of ${formatNumber(threshold)}`;
  const medians = `median of ${seedsText(seeds)}`;
  if (best === null) return `No baseline reached ${goal} within its budget of real steps (${medians}).`;
  if (ratio === null) return `The dream did not reach ${goal} within its budget of real steps (${medians}).`;
  const more = ratio >= 1 ? `${formatNumber(ratio)} times fewer` : `${formatNumber(1 / ratio)} times more`;
  return `To reach ${goal}, the policy that learned in the dream needed ${more} real steps than the best baseline, "${best}" (medians of ${seedsText(seeds)}).`;
}

function seedsText(seeds: number): string {
  return seeds === 1 ? '1 seed' : `${seeds} seeds`;
}

function figures({ arms, best, ratio }: WarmStart): Block {
  const dream = arms.find((arm) => arm.arm === DREAM_ARM);
  return {
    kind: 'figures',
    items: [
      {
        value: ratio === null ? '–' : `${formatNumber(ratio)}×`,
        label: `fewer real steps than ${best ?? 'any baseline'}`,
      },
      { value: formatCount(dream?.dreamtTransitions ?? 0), label: 'transitions simulated' },
      {
        value: dream?.dreamtPerSecond ? formatCount(dream.dreamtPerSecond) : '–',
        label: 'simulated a second, one thread',
      },
    ],
  };
}

function summaryTable({ arms, best }: WarmStart, seeds: number): TableBlock {
  const least = arms.find(({ arm }) => arm === best);
  return {
    kind: 'table',
    columns: ['', 'real steps to threshold', 'ratio', 'final real return', 'wall time a run', 'dreamt', 'dreamt/s'],
    rows: arms.map((arm) => [
      arm.arm === best ? `${arm.arm} (best baseline)` : arm.arm,
      stepsText(arm.realStepsToThreshold),
      ratioText(arm, least),
      formatSpread(arm.finalReturn.mean, arm.finalReturn.std),
      formatDuration(arm.wallSeconds),
      arm.dreamtTransitions > 0 ? formatCount(arm.dreamtTransitions) : '–',
      arm.dreamtPerSecond === null ? '–' : formatCount(arm.dreamtPerSecond),
    ]),
    note: `Steps: median of ${seedsText(seeds)} [least – most]. Ratio: to the best baseline. Return: mean ± standard deviation over all final episodes.`,
  };
}

/** How many times the best baseline's real steps an arm's go into. */
function ratioText(arm: ArmSummary, best: ArmSummary | undefined): string {
  if (arm === best) return '1';
  const steps = medianSteps(arm.realStepsToThreshold);
  const least = best && medianSteps(best.realStepsToThreshold);
  if (steps === null || least == null) return '–';
  return least >= steps ? `${formatNumber(least / steps)}× fewer` : `${formatNumber(steps / least)}× more`;
}

function stepsText(steps: readonly (number | null)[]): string {
  const middle = medianSteps(steps);
  const reached = steps.filter((value) => value !== null);
  if (reached.length === 0) return 'not reached';
  const range = `[${formatCount(Math.min(...reached))} – ${formatCount(Math.max(...reached))}]`;
  const missing =
    reached.length < steps.length ? `, ${steps.length - reached.length} of ${steps.length} not reached` : '';
  return `${middle === null ? '–' : formatCount(middle)} ${range}${missing}`;
}

function returnChart(runs: readonly ArmRun[], threshold: number): CurvesBlock {
  return {
    kind: 'curves',
    title: 'Return in the real environment',
    caption: 'Mean of the evaluation episodes against real steps taken. Line: mean over seeds; band: least to most.',
    xTitle: 'real environment steps',
    yTitle: 'return',
    threshold: { value: threshold, label: `threshold ${formatNumber(threshold)}` },
    curves: runs.map(({ arm, seed, result }) => ({
      name: arm,
      seed,
      points: result.evaluations.map(({ realSteps, meanReturn }) => ({ x: realSteps, y: meanReturn })),
    })),
  };
}

function errorChart(runs: readonly ArmRun[]): CurvesBlock {
  return {
    kind: 'curves',
    title: 'One-step error of the world model',
    caption: 'On held-out real transitions, in standard deviations of the data.',
    xTitle: 'real environment steps',
    yTitle: 'held-out error',
    curves: eventCurves(runs, 'fit', 'holdoutError'),
  };
}

function dreamtChart(runs: readonly ArmRun[]): CurvesBlock {
  return {
    kind: 'curves',
    title: 'Transitions dreamt',
    caption: 'All synthetic transitions so far, against the real steps they were dreamt from.',
    xTitle: 'real environment steps',
    yTitle: 'dreamt transitions',
    curves: eventCurves(runs, 'dream', 'syntheticSteps'),
  };
}

function lossCharts(runs: readonly ArmRun[]): CurvesBlock[] {
  return [
    {
      kind: 'curves',
      title: 'Critic loss',
      xTitle: 'gradient updates',
      yTitle: 'mean squared error',
      yScale: 'log',
      curves: eventCurves(runs, 'update', 'criticLoss', 'updates'),
    },
    {
      kind: 'curves',
      title: 'Temperature',
      xTitle: 'gradient updates',
      yTitle: 'alpha',
      curves: eventCurves(runs, 'update', 'alpha', 'updates'),
    },
    {
      kind: 'curves',
      title: 'Value loss',
      xTitle: 'gradient updates',
      yTitle: 'half the squared error',
      yScale: 'log',
      curves: eventCurves(runs, 'update', 'valueLoss', 'updates'),
    },
  ];
}

function eventCurves(runs: readonly ArmRun[], kind: string, key: string, xKey = 'realSteps') {
  const curves = runs.map(({ arm, seed, events }) => {
    const told = events.filter((event) => event.kind === kind && Number.isFinite(event[key]));
    // Several events at one place (the cycles of a round): the last one counts.
    const last = new Map(told.map((event) => [Number(event[xKey]), Number(event[key])]));
    return { name: arm, seed, points: Array.from(last, ([x, y]) => ({ x, y })) };
  });
  return curves.filter((curve) => curve.points.length > 0);
}
