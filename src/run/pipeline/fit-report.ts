// The page of a fit: what it explains beside simple models, how it was learned, and the verdict in words.

import type { Block, CurvesBlock, Report } from '../../core/report.js';
import type { HeldOutFigures } from '../../worldmodel/dynamics.js';
import { formatCount, formatNumber } from '../format.js';
import type { FitResult, JobContext } from '../job.js';
import { provenanceBlock, reportProvenance } from '../versions.js';

export interface FitEpoch {
  readonly member: number;
  readonly epoch: number;
  readonly holdoutError: number;
}

/** @param epochs of all networks, in the order in which they ended; none for a kind that does not tell them */
export function fitReport(context: JobContext, result: Omit<FitResult, 'report'>, epochs: readonly FitEpoch[]): Report {
  const { config } = context.scenario;
  const { heldOut, verdict, transitions, holdoutError, panel } = result;
  const cell = (value: number | null) => (value === null ? '–' : formatNumber(value));
  const row = (name: string, { model, linear, unchanged }: HeldOutFigures<number | null>) =>
    [name, model === null ? 'never changes' : cell(model), cell(linear), cell(unchanged)] as const;
  const verdictText =
    verdict && `${verdict.isWorthDreaming ? 'Worth dreaming in' : 'Not worth dreaming in'}: ${verdict.because}.`;
  return {
    title: `World model: ${config.name}`,
    blocks: [
      ...(verdictText === undefined ? [] : [{ kind: 'paragraph', tone: 'lead', text: verdictText } as const]),
      {
        kind: 'figures',
        items: [
          { value: formatNumber(holdoutError), label: 'standard deviations of error a step' },
          { value: formatCount(transitions), label: 'transitions' },
          ...(verdict?.within90 == null
            ? []
            : [{ value: `${(100 * verdict.within90).toFixed(0)} %`, label: 'within its 90 % intervals' }]),
        ],
      },
      ...(heldOut === undefined
        ? []
        : [
            {
              kind: 'table',
              columns: ['explained on held-out rows (R²)', 'model', 'linear model', 'nothing changes'],
              rows: [
                ...heldOut.elements.map(({ element, r2 }) => row(element, r2)),
                row('log-likelihood', heldOut.logLikelihood),
              ],
              note: '1 explains all of how an element changes, 0 is as good as its mean. The log-likelihood is that of one element, in nats, where it is measured in its own deviations.',
            } as const,
          ]),
      ...(epochs.length === 0 ? [] : [learningCurve(epochs)]),
      ...(heldOut === undefined ? [] : [explainedBars(heldOut.elements)]),
      ...(verdict === undefined ? [] : [{ kind: 'list', tone: 'note', items: notesOf(verdict) } as const]),
      provenanceBlock(reportProvenance(context, `reverie fit ${config.name} --seed ${context.seed}`, panel)),
    ],
  };
}

function learningCurve(epochs: readonly FitEpoch[]): CurvesBlock {
  const members = [...new Set(epochs.map(({ member }) => member))].sort((a, b) => a - b);
  return {
    kind: 'curves',
    title: 'Held-out error as the networks learned',
    caption: 'Typical error of one step, in standard deviations. Line: mean over networks; band: least to most.',
    xTitle: 'epochs',
    yTitle: 'held-out error',
    yScale: 'log',
    curves: members.map((seed) => ({
      name: 'networks',
      seed,
      points: epochs
        .filter(({ member }) => member === seed)
        .map(({ epoch, holdoutError }) => ({ x: epoch, y: holdoutError })),
    })),
  };
}

function explainedBars(elements: NonNullable<FitResult['heldOut']>['elements']): Block {
  const changing = elements.flatMap(({ element, r2 }) => (r2.model === null ? [] : [{ element, r2: r2.model }]));
  return {
    kind: 'bars',
    title: 'What is explained of each element',
    caption: 'Share of the variance of its changes on held-out rows.',
    bars: changing.map(({ element, r2 }) => ({
      label: element,
      bar: { value: Math.max(0, r2) },
      text: formatNumber(r2),
    })),
  };
}

function notesOf({ faults, moreData, next }: NonNullable<FitResult['verdict']>): string[] {
  const more =
    moreData &&
    `With half the records the error was ${formatNumber(moreData.half)}; by the same law it would be ${formatNumber(moreData.twice)} with twice as many.`;
  return [...faults, ...(more ? [more] : []), `Next: ${next}`];
}
