// What a warm start saved: the table, the figures and the charts of runs from scratch and in the dream.

import {
  type ArmSummary,
  compareWarmStart,
  DREAM_ARM,
  medianSteps,
  SCRATCH_ARM,
  type TrainedArm,
} from '../../algorithms/index.js';
import type { ScenarioConfig } from '../../kinds/index.js';
import { dynamicsKinds } from '../../worldmodel/index.js';
import { formatCount, formatDuration, formatNumber, formatSpread } from '../format.js';
import type { JobContext } from '../job.js';
import type { MetricsEvent } from '../metrics.js';
import type { ReportChart, ReportInput, ReportTable } from '../report/report-input.js';
import { reportProvenance } from '../versions.js';
import type { ArmRun } from './arms.js';

export interface Comparison {
  readonly arms: readonly ArmSummary[];
  readonly ratio: number | null;
  readonly reportInput: ReportInput;
}

export function compare(
  runs: readonly ArmRun[],
  threshold: number,
  context: JobContext,
  seeds: readonly number[],
): Comparison {
  const { arms, ratio } = compareWarmStart(runs.map(trainedArm));
  return { arms, ratio, reportInput: report(runs, arms, ratio, threshold, context, seeds) };
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
  arms: readonly ArmSummary[],
  ratio: number | null,
  threshold: number,
  context: JobContext,
  seeds: readonly number[],
): ReportInput {
  const { config } = context.scenario;
  return {
    title: `Warm start: ${config.name}`,
    lead: lead(ratio, threshold, seeds.length),
    figures: figures(arms, ratio),
    summary: summaryTable(arms, ratio, seeds.length),
    charts: [returnChart(runs, threshold), errorChart(runs), dreamtChart(runs), ...lossCharts(runs)].filter(
      (chart) => chart.curves.length > 0,
    ),
    notes: [
      'Both ways use the same learner and network. Real steps count every training step in the real environment, the random ones at the start included; evaluation episodes are not counted, and are as many in both.',
      'A run ends at its first evaluation whose mean return reaches the threshold. The final return comes from episodes of their own, not from the evaluation that ended the run.',
      rewardNote(config),
    ],
    provenance: reportProvenance(context, `reverie quickstart ${config.name} --seed ${context.seed}`, seeds),
  };
}

/** What of the dream was learned and what was known. */
function rewardNote({ model }: ScenarioConfig): string {
  if (dynamicsKinds.get(model.kind).broughtFolder)
    return 'The world model is a brought one; nothing of it was learned here.';
  return model['learnReward'] !== false
    ? 'The world model learns how the environment moves and what it rewards.'
    : 'The world model learns how the environment moves; the reward is the known function of what is observed.';
}

function lead(ratio: number | null, threshold: number, seeds: number): string {
  const goal = `a mean real return of ${formatNumber(threshold)}`;
  if (ratio === null)
    return `Not every way reached ${goal} within its budget of real steps (median of ${seedsText(seeds)}).`;
  const more = ratio >= 1 ? `${formatNumber(ratio)} times fewer` : `${formatNumber(1 / ratio)} times more`;
  return `To reach ${goal}, the policy that learned in the dream needed ${more} real steps than the same learner from scratch (medians of ${seedsText(seeds)}).`;
}

function seedsText(seeds: number): string {
  return seeds === 1 ? '1 seed' : `${seeds} seeds`;
}

function figures(arms: readonly ArmSummary[], ratio: number | null) {
  const dream = arms.find((arm) => arm.arm === DREAM_ARM);
  return [
    { value: ratio === null ? '–' : `${formatNumber(ratio)}×`, label: 'fewer real steps' },
    { value: formatCount(dream?.dreamtTransitions ?? 0), label: 'transitions dreamt' },
    { value: dream?.dreamtPerSecond ? formatCount(dream.dreamtPerSecond) : '–', label: 'dreamt a second, one thread' },
  ];
}

function summaryTable(arms: readonly ArmSummary[], ratio: number | null, seeds: number): ReportTable {
  return {
    columns: ['', 'real steps to threshold', 'ratio', 'final real return', 'wall time a run', 'dreamt', 'dreamt/s'],
    rows: arms.map((arm) => [
      arm.arm,
      stepsText(arm.realStepsToThreshold),
      arm.arm === SCRATCH_ARM ? '1' : ratio === null ? '–' : `${formatNumber(ratio)}× fewer`,
      formatSpread(arm.finalReturn.mean, arm.finalReturn.std),
      formatDuration(arm.wallSeconds),
      arm.dreamtTransitions > 0 ? formatCount(arm.dreamtTransitions) : '–',
      arm.dreamtPerSecond === null ? '–' : formatCount(arm.dreamtPerSecond),
    ]),
    note: `Steps: median of ${seedsText(seeds)} [least – most]. Return: mean ± standard deviation over all final episodes.`,
  };
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

function returnChart(runs: readonly ArmRun[], threshold: number): ReportChart {
  return {
    title: 'Return in the real environment',
    caption: 'Mean of the evaluation episodes against real steps taken. Line: mean over seeds; band: least to most.',
    xTitle: 'real environment steps',
    yTitle: 'return',
    threshold: { value: threshold, label: `threshold ${formatNumber(threshold)}` },
    curves: runs.map(({ arm, seed, result }) => ({
      arm,
      seed,
      points: result.evaluations.map(({ realSteps, meanReturn }) => ({ x: realSteps, y: meanReturn })),
    })),
  };
}

function errorChart(runs: readonly ArmRun[]): ReportChart {
  return {
    title: 'One-step error of the world model',
    caption: 'On held-out real transitions, in standard deviations of the data.',
    xTitle: 'real environment steps',
    yTitle: 'held-out error',
    curves: eventCurves(runs, 'fit', 'holdoutError'),
  };
}

function dreamtChart(runs: readonly ArmRun[]): ReportChart {
  return {
    title: 'Transitions dreamt',
    caption: 'All synthetic transitions so far, against the real steps they were dreamt from.',
    xTitle: 'real environment steps',
    yTitle: 'dreamt transitions',
    curves: eventCurves(runs, 'dream', 'syntheticSteps'),
  };
}

function lossCharts(runs: readonly ArmRun[]): ReportChart[] {
  return [
    {
      title: 'Critic loss',
      xTitle: 'gradient updates',
      yTitle: 'mean squared error',
      yScale: 'log',
      curves: eventCurves(runs, 'update', 'criticLoss', 'updates'),
    },
    {
      title: 'Temperature',
      xTitle: 'gradient updates',
      yTitle: 'alpha',
      curves: eventCurves(runs, 'update', 'alpha', 'updates'),
    },
    {
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
    return { arm, seed, points: Array.from(last, ([x, y]) => ({ x, y })) };
  });
  return curves.filter((curve) => curve.points.length > 0);
}
