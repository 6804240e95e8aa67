// How the results of jobs on numbers read on a terminal.

import type { Fact } from '../core/report.js';
import type { HeldOutFigures } from '../worldmodel/dynamics.js';
import { formatCount, formatNumber, formatRate, formatSpread } from './format.js';
import type { CollectResult, EvalResult, FitResult, GenerativeReport, SynthResult, TrainResult } from './job.js';
import { quickstartText, resultFacts } from './result-text.js';

/** By the job's name. */
export const vectorResultText = {
  collect: (result: CollectResult) => resultFacts(result, collectLines(result)),
  fit: (result: FitResult) => resultFacts(result, fitLines(result)),
  synth: (result: SynthResult) => resultFacts(result, synthLines(result)),
  train: (result: TrainResult) => resultFacts(result, trainLines(result)),
  eval: (result: EvalResult) => resultFacts(result, evalLines(result)),
  quickstart: quickstartText,
};

function collectLines(result: CollectResult): Fact[] {
  return [
    ['recorded', `${formatCount(result.transitions)} real transitions, ${formatCount(result.episodes)} whole episodes`],
    ['mean return', result.meanReturn === null ? 'no episode ended' : formatNumber(result.meanReturn)],
    ['kept in', result.data],
    ['next', `reverie fit --data ${result.data}`],
  ];
}

function fitLines(result: FitResult): Fact[] {
  return [
    ['fitted', `${result.epochs} epochs on ${formatCount(result.transitions)} transitions`],
    ...verdictLine(result),
    ['held-out error', errorText(result)],
    ...heldOutLines(result),
    ...verdictLines(result),
    ['model', `${result.modelVersion.slice(0, 12)} in ${result.model}`],
    ['report', result.report],
    ['next', result.verdict?.next ?? `reverie synth --model ${result.model} --data FOLDER`],
  ];
}

function errorText({ holdoutError, rewardError }: FitResult): string {
  const reward = rewardError === undefined ? '' : `, ${formatNumber(rewardError)} of the reward`;
  return `${formatNumber(holdoutError)} standard deviations a step${reward}`;
}

function verdictLine({ verdict }: FitResult): Fact[] {
  if (verdict === undefined) return [];
  return [
    ['verdict', `${verdict.isWorthDreaming ? 'worth dreaming in' : 'not worth dreaming in'}: ${verdict.because}`],
  ];
}

/** What is wrong and why, how sure the model is of itself, and what more records would bring. */
function verdictLines({ verdict }: FitResult): Fact[] {
  if (verdict === undefined) return [];
  const { faults, within90, moreData } = verdict;
  return [
    ...faults.slice(0, SHOWN_FAULTS).map((fault): Fact => ['beware', fault]),
    ...(within90 === null
      ? []
      : [['sureness', `${(100 * within90).toFixed(0)} % of held-out values within its 90 % intervals`] as const]),
    ...(moreData === null
      ? []
      : [
          [
            'more records',
            `error ${formatNumber(moreData.half)} with half of them, about ${formatNumber(moreData.twice)} with twice as many`,
          ] as const,
        ]),
  ];
}

const SHOWN_FAULTS = 5;

/** Elements told one by one; of more, the worst. `result.json` has them all. */
const SHOWN_ELEMENTS = 12;

/** What the fit is worth, element by element, and whether it was cut off. */
function heldOutLines({ heldOut }: FitResult): Fact[] {
  if (heldOut === undefined) return [];
  const { elements, logLikelihood } = heldOut;
  const worstFirst = elements.toSorted((a, b) => (a.r2.model ?? 1) - (b.r2.model ?? 1));
  const shown = elements.length <= SHOWN_ELEMENTS ? elements : worstFirst.slice(0, SHOWN_ELEMENTS);
  return [
    ['explained (R²)', figuresText('model', 'linear model', 'nothing changes')],
    ...shown.map(({ element, r2 }): Fact => [`  ${element}`, r2.model === null ? 'never changes' : figuresOf(r2)]),
    ...(shown.length < elements.length
      ? [['', `the worst ${shown.length} of ${elements.length}; all are in result.json`] as const]
      : []),
    ['log-likelihood', figuresOf(logLikelihood)],
  ];
}

function figuresOf({ model, linear, unchanged }: HeldOutFigures<number | null>): string {
  const text = (value: number | null) => (value === null ? '–' : formatNumber(value));
  return figuresText(text(model), text(linear), text(unchanged));
}

function figuresText(...cells: readonly string[]): string {
  return cells
    .map((cell) => cell.padEnd(15))
    .join(' ')
    .trimEnd();
}

function synthLines(result: SynthResult): Fact[] {
  return [
    [
      'dreamt',
      `${formatCount(result.transitions)} transitions, ${formatRate(result.transitionsPerSecond, 'transitions')}`,
    ],
    ['cut by doubt', `${formatCount(result.truncatedByDoubt)} branches`],
    ['model', result.modelVersion.slice(0, 12)],
    ['kept in', result.data],
    ...result.datasets.map((path): Fact => ['dataset', path]),
  ];
}

function trainLines(result: TrainResult): Fact[] {
  const last = result.evaluations.at(-1);
  const solved = result.realStepsToThreshold;
  const threshold = result.threshold === null ? [] : [thresholdLine(result.threshold, solved)];
  return [
    ...sourceLines(result),
    ['learnt', `${formatCount(result.updates)} gradient updates`],
    ['last return', last === undefined ? 'not evaluated' : formatSpread(last.meanReturn, last.stdReturn)],
    ...threshold,
    ...dreamLines(result),
    ['checkpoint', result.checkpoint],
    ['next', `reverie eval --checkpoint ${result.checkpoint}`],
  ];
}

/** What was learned from, by where it came from. */
function sourceLines({ realSteps, syntheticSteps, records, generative }: TrainResult): Fact[] {
  const lived = generative ? `${formatCount(realSteps)} real steps` : null;
  const given = records && `${formatCount(records.real)} real and ${formatCount(records.synthetic)} synthetic rows`;
  const first: Fact = given
    ? ['given', given]
    : ['lived', lived ?? `${formatCount(realSteps)} real steps, ${formatCount(syntheticSteps)} dreamt`];
  return generative ? [first, drawnLine(generative)] : [first];
}

function drawnLine({ rows, fits, share, modelVersion }: GenerativeReport): Fact {
  if (modelVersion === null)
    return ['drawn', 'no rows: too few real ones for a first fit (replay.generative.refitEvery)'];
  const fitted = fits === 1 ? 'one diffusion' : `${formatCount(fits)} diffusions`;
  return ['drawn', `${formatCount(rows)} rows from ${fitted}, ${(100 * share).toFixed(0)} % of each batch`];
}

/** Whether the model was worth dreaming in, and the settings that found themselves. */
function dreamLines({ dream }: TrainResult): Fact[] {
  if (dream === undefined) return [];
  const { rounds, shutRounds, shutBecause, settings } = dream;
  const open = `in ${rounds - shutRounds} of ${rounds} rounds`;
  const found = settings.filter(({ reason }) => reason !== 'pinned');
  return [
    ['dreamt', shutRounds === 0 ? open : `${open}; in the others it learnt from real rows alone, as ${shutBecause}`],
    ...found.map(({ key, value, reason }): Fact => [`  ${key}`, `${value}: ${reason}`]),
  ];
}

function thresholdLine(threshold: number, realSteps: number | null): Fact {
  const reached = realSteps === null ? 'not reached' : `reached after ${formatCount(realSteps)} real steps`;
  return ['threshold', `${formatNumber(threshold)} ${reached}`];
}

function evalLines(result: EvalResult): Fact[] {
  return [
    ['return', `${formatSpread(result.meanReturn, result.stdReturn)} over ${result.episodes} real episodes`],
    ['range', `${formatNumber(result.minReturn)} to ${formatNumber(result.maxReturn)}`],
    ['mean length', `${formatNumber(result.meanLength)} steps`],
  ];
}
