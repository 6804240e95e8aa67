// How a job's result reads on a terminal.

import { formatCount, formatDuration, formatNumber, widthOf, wrapped } from './format.js';
import type { FidelityResult, JobResult, QuickstartResult } from './job.js';
import { viewFor } from './jobs.js';
import type { ReportTable } from './report/report-input.js';

export type Line = readonly [label: string, value: string];

/** What is told of a result: under a title and a table, where it has them, labelled lines. */
export interface ResultView {
  readonly head?: readonly string[];
  readonly table?: ReportTable;
  readonly lines: readonly Line[];
}

/**
 * The result as lines for a human, as its kind of world says them.
 * @param columns width of the terminal
 */
export async function resultText(result: JobResult, columns?: number): Promise<string> {
  const view = (await viewFor(result)) as ((result: never) => ResultView) | undefined;
  const { head = [], table, lines } = view?.(result as never) ?? resultLines(result, plainLines(result));
  return [
    ...head.flatMap((line) => wrapped(line, columns)),
    ...(table === undefined ? [] : ['', terminalTable(table, { columns }), '']),
    aligned(lines, columns),
  ].join('\n');
}

/** @param lines what is told of it beside the wall time */
export function resultLines(result: Pick<JobResult, 'wallSeconds' | 'panel'>, lines: readonly Line[]): ResultView {
  return { lines: [...lines, ...panel(result), wall(result)] };
}

export function fidelityText(result: FidelityResult): ResultView {
  return resultLines(result, fidelityLines(result));
}

/** What a comparison of trainings says at its head, and its table. */
export function quickstartText(
  result: Pick<QuickstartResult, 'wallSeconds' | 'panel' | 'report' | 'reportInput'> &
    Partial<Pick<QuickstartResult, 'policy'>>,
): ResultView {
  const { title, lead, summary } = result.reportInput;
  const { policy } = result;
  const taken: Line[] =
    policy === undefined ? [] : [['policy', `${policy.checkpoint} ("${policy.arm}", seed ${policy.seed})`]];
  const { lines } = resultLines(result, [...taken, ['report', result.report]]);
  return { head: [title, ...(lead === undefined ? [] : [lead])], table: summary, lines };
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

function aligned(lines: readonly Line[], columns?: number): string {
  const width = Math.max(...lines.map(([label]) => label.length));
  return lines.flatMap(([label, value]) => wrapped(`${label.padEnd(width)}   ${value}`, columns, width + 3)).join('\n');
}

// A table for the terminal: columns aligned, nothing drawn that would not survive a copy into a mail.

const GAP = '   ';
const LEAST_COLUMN = 12;

export interface TableLayout {
  /** `text` puts every column to the left; of figures, all but the first stand to the right. */
  readonly alignment?: 'figures' | 'text';
  /** Width of the terminal: wider tables have their cells wrapped between words. */
  readonly columns?: number;
}

/** The table as lines joined by newlines, a rule under the head. */
export function terminalTable({ columns, rows, note }: ReportTable, layout: TableLayout = {}): string {
  const widths = columns.map((column, index) =>
    Math.max(...[column, ...rows.map((row) => row[index] ?? '')].map(widthOf)),
  );
  narrow(widths, (layout.columns ?? Number.POSITIVE_INFINITY) - GAP.length * (columns.length - 1));
  const line = (cells: readonly string[]) => {
    const folded = widths.map((size, index) => wrapped(cells[index] ?? '', size));
    const height = Math.max(...folded.map(({ length }) => length));
    return Array.from({ length: height }, (_, row) =>
      widths
        .map((size, index) => {
          const cell = folded[index][row]?.trim() ?? '';
          const space = ' '.repeat(Math.max(0, size - widthOf(cell)));
          return index === 0 || layout.alignment === 'text' ? cell + space : space + cell;
        })
        .join(GAP)
        .trimEnd(),
    ).join('\n');
  };
  const rule = widths.map((size) => '─'.repeat(size)).join(GAP);
  const below = note === undefined ? [] : ['', ...wrapped(note, layout.columns)];
  return [line(columns), rule, ...rows.map(line), ...below].join('\n');
}

/** Takes from the widest column until all fit in `room`. */
function narrow(widths: number[], room: number): void {
  while (widths.reduce((sum, width) => sum + width, 0) > room) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= LEAST_COLUMN) return;
    widths[widest]--;
  }
}
