// How a job's result reads on a terminal.

import { formatCount, formatDuration, formatNumber, formatRate, formatSpread } from './format.js';
import type {
  CollectResult,
  EvalResult,
  FidelityResult,
  FitResult,
  QuickstartResult,
  SynthResult,
  TrainResult,
} from './job.js';
import type { AnyJobResult } from './jobs.js';
import type { ReportTable } from './report/report-input.js';
import { auditLines, episodeLines, realLines } from './tools-result-text.js';

type Line = readonly [label: string, value: string];

/** The result as lines for a human. */
export function resultText(result: AnyJobResult): string {
  switch (result.job) {
    case 'collect':
      return aligned([...(result.family === 'tools' ? realLines(result) : collectLines(result)), wall(result)]);
    case 'fit':
      return aligned([...fitLines(result), wall(result)]);
    case 'synth':
      return aligned([...(result.family === 'tools' ? episodeLines(result) : synthLines(result)), wall(result)]);
    case 'train':
      return aligned([...trainLines(result), wall(result)]);
    case 'eval':
      return aligned([...(result.family === 'tools' ? realLines(result) : evalLines(result)), wall(result)]);
    case 'fidelity':
      return aligned([...fidelityLines(result), wall(result)]);
    case 'audit':
      return aligned([...auditLines(result), wall(result)]);
    case 'export':
      return aligned([...result.datasets.map((path): Line => ['dataset', path]), wall(result)]);
    case 'quickstart':
      return quickstartText(result);
  }
}

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

function fidelityLines({ subjects, gates, report }: FidelityResult): Line[] {
  return [
    ...subjects.flatMap(({ name, headlines }): Line[] => [
      ['model', name],
      ...headlines.map(({ label, text }): Line => [`  ${label}`, text]),
    ]),
    ...gates.map(
      ({ metric, limit, value, passed }): Line => [
        passed ? 'gate passed' : 'GATE FAILED',
        `${metric} ${value === null ? 'was not measured' : formatNumber(value)}, limit ${formatNumber(limit)}`,
      ],
    ),
    ['report', report],
  ];
}

function quickstartText(result: QuickstartResult): string {
  const { title, lead, summary } = result.reportInput;
  const tail = aligned([['report', result.report], wall(result)]);
  return [title, ...(lead === undefined ? [] : [lead]), '', terminalTable(summary), '', tail].join('\n');
}

function wall(result: { wallSeconds: number }): Line {
  return ['wall time', formatDuration(result.wallSeconds)];
}

function aligned(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(([label]) => label.length));
  return lines.map(([label, value]) => `${label.padEnd(width)}   ${value}`).join('\n');
}

// A table for the terminal: columns aligned, nothing drawn that would not survive a copy into a mail.

const GAP = '   ';

/**
 * The table as lines joined by newlines: first column to the left, the others to the right, a rule under the head.
 * @param alignment `text` puts every column to the left
 */
export function terminalTable({ columns, rows, note }: ReportTable, alignment: 'figures' | 'text' = 'figures'): string {
  const widths = columns.map((column, index) =>
    Math.max(...[column, ...rows.map((row) => row[index] ?? '')].map(width)),
  );
  const line = (cells: readonly string[]) =>
    widths
      .map((size, index) => padded(cells[index] ?? '', size, index === 0 || alignment === 'text'))
      .join(GAP)
      .trimEnd();
  const rule = widths.map((size) => '─'.repeat(size)).join(GAP);
  return [line(columns), rule, ...rows.map(line), ...(note === undefined ? [] : ['', note])].join('\n');
}

function padded(cell: string, size: number, left: boolean): string {
  const space = ' '.repeat(size - width(cell));
  return left ? cell + space : space + cell;
}

/** Characters, not code units: figures may hold signs outside the basic plane. */
function width(cell: string): number {
  return [...cell].length;
}
