// A table for the terminal: columns aligned, nothing drawn that would not survive a copy into a mail.

import type { ReportTable } from './report-input.js';

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
