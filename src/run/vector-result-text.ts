// How the results of jobs on numbers read on a terminal.

import { formatCount, formatNumber, formatRate, formatSpread } from './format.js';
import type { CollectResult, EvalResult, FitResult, QuickstartResult, SynthResult, TrainResult } from './job.js';
import { type Line, resultLines, terminalTable } from './result-text.js';

/** By the job's name. */
export const vectorResultText = {
  collect: (result: CollectResult) => resultLines(result, collectLines(result)),
  fit: (result: FitResult) => resultLines(result, fitLines(result)),
  synth: (result: SynthResult) => resultLines(result, synthLines(result)),
  train: (result: TrainResult) => resultLines(result, trainLines(result)),
  eval: (result: EvalResult) => resultLines(result, evalLines(result)),
  quickstart: quickstartText,
};

function collectLines(result: CollectResult): Line[] {
  return [
    ['recorded', `${formatCount(result.transitions)} real transitions, ${formatCount(result.episodes)} whole episodes`],
    ['mean return', result.meanReturn === null ? 'no episode ended' : formatNumber(result.meanReturn)],
    ['kept in', result.data],
    ['next', `reverie fit --data ${result.data}`],
  ];
}

function fitLines(result: FitResult): Line[] {
  return [
    ['fitted', `${result.epochs} epochs on ${formatCount(result.transitions)} transitions`],
    ['held-out error', `${formatNumber(result.holdoutError)} standard deviations a step`],
    ['model', `${result.modelVersion.slice(0, 12)} in ${result.model}`],
    ['next', `reverie synth --model ${result.model} --data FOLDER`],
  ];
}

function synthLines(result: SynthResult): Line[] {
  return [
    [
      'dreamt',
      `${formatCount(result.transitions)} transitions, ${formatRate(result.transitionsPerSecond, 'transitions')}`,
    ],
    ['cut by doubt', `${formatCount(result.truncatedByDoubt)} branches`],
    ['model', result.modelVersion.slice(0, 12)],
    ['kept in', result.data],
    ...result.datasets.map((path): Line => ['dataset', path]),
  ];
}

function trainLines(result: TrainResult): Line[] {
  const last = result.evaluations.at(-1);
  const solved = result.realStepsToThreshold;
  const threshold = result.threshold === null ? [] : [thresholdLine(result.threshold, solved)];
  return [
    ['lived', `${formatCount(result.realSteps)} real steps, ${formatCount(result.syntheticSteps)} dreamt`],
    ['learnt', `${formatCount(result.updates)} gradient updates`],
    ['last return', last === undefined ? 'not evaluated' : formatSpread(last.meanReturn, last.stdReturn)],
    ...threshold,
    ['checkpoint', result.checkpoint],
    ['next', `reverie eval --checkpoint ${result.checkpoint}`],
  ];
}

function thresholdLine(threshold: number, realSteps: number | null): Line {
  const reached = realSteps === null ? 'not reached' : `reached after ${formatCount(realSteps)} real steps`;
  return ['threshold', `${formatNumber(threshold)} ${reached}`];
}

function evalLines(result: EvalResult): Line[] {
  return [
    ['return', `${formatSpread(result.meanReturn, result.stdReturn)} over ${result.episodes} real episodes`],
    ['range', `${formatNumber(result.minReturn)} to ${formatNumber(result.maxReturn)}`],
    ['mean length', `${formatNumber(result.meanLength)} steps`],
  ];
}

function quickstartText(result: QuickstartResult): string {
  const { title, lead, summary } = result.reportInput;
  const tail = resultLines(result, [['report', result.report]]);
  return [title, ...(lead === undefined ? [] : [lead]), '', terminalTable(summary), '', tail].join('\n');
}
