// How a job's result reads on a terminal.

import { kinds } from '../kinds/index.js';
import { formatCount, formatDuration, formatNumber } from './format.js';
import type { FidelityResult, JobResult, QuickstartResult } from './job.js';
import type { ReportTable } from './report/report-input.js';

export type Line = readonly [label: string, value: string];

/** The result as lines for a human, as its kind of world says them. */
export async function resultText(result: JobResult): Promise<string> {
  // A result that names no kind is of the one kind that has the job, which is the first.
  const kind = result.family === undefined ? undefined : kinds.get(result.family);
  const of = kind ?? kinds.list().find(({ jobs }) => jobs[result.job] !== undefined);
  const text = await of?.jobs[result.job]?.text?.();
  return text === undefined ? resultLines(result, plainLines(result)) : text(result as never);
}

/** @param lines what is told of it beside the wall time */
export function resultLines(result: Pick<JobResult, 'wallSeconds' | 'panel'>, lines: readonly Line[]): string {
  return aligned([...lines, ...panel(result), wall(result)]);
}

export function fidelityText(result: FidelityResult): string {
  return resultLines(result, fidelityLines(result));
}

/** What a comparison of trainings says at its head, and its table. */
export function quickstartText(
  result: Pick<QuickstartResult, 'wallSeconds' | 'panel' | 'report' | 'reportInput'> &
    Partial<Pick<QuickstartResult, 'policy'>>,
): string {
  const { title, lead, summary } = result.reportInput;
  const { policy } = result;
  const taken: Line[] =
    policy === undefined ? [] : [['policy', `${policy.checkpoint} ("${policy.arm}", seed ${policy.seed})`]];
  const tail = resultLines(result, [...taken, ['report', result.report]]);
  return [title, ...(lead === undefined ? [] : [lead]), '', terminalTable(summary), '', tail].join('\n');
}

function plainLines({ wallSeconds: _, job: __, family: ___, ...rest }: JobResult): Line[] {
  const told = Object.entries(rest).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  return told.map(([key, value]) => [
    key,
    typeof value !== 'number' ? String(value) : Number.isInteger(value) ? formatCount(value) : formatNumber(value),
  ]);
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

function panel({ panel: found }: Pick<JobResult, 'panel'>): Line[] {
  return found === undefined ? [] : [['panel', found.hash]];
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
