// Reports as text: lines for a terminal of some width, and Markdown for a pull request or a wiki.

import type { Block, Cell, CurvesBlock, Fact, Report, TableBlock } from '../core/report.js';
import { formatDuration, formatNumber, widthOf, wrapped } from './format.js';
import type { JobResult } from './job.js';

/** Rows of a curve's table; more are thinned, first and last stay. */
const CURVE_ROWS = 12;

/** What a cell says. */
export function cellText(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text;
}

/** The numbers of a chart, for those who read them. */
export function chartTable(chart: CurvesBlock): TableBlock {
  const rows = chart.curves.flatMap(({ name, seed, points }) =>
    thinned(points, chart.isScatter ? points.length : CURVE_ROWS).map(({ x, y, low, high, label }) => {
      const interval =
        low === undefined || high === undefined ? '' : ` (${formatNumber(low)} to ${formatNumber(high)})`;
      const what = [name, ...(seed === undefined ? [] : [`seed ${seed}`]), ...(label === undefined ? [] : [label])];
      return [what.join(', '), formatNumber(x), `${formatNumber(y)}${interval}`];
    }),
  );
  return { kind: 'table', columns: ['', chart.xTitle, chart.yTitle], rows };
}

/** At most `count` of them, evenly spread, the first and the last among them. */
function thinned<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]);
}

// On a terminal: columns aligned, nothing drawn that would not survive a copy into a mail.

const GAP = '   ';
const LEAST_COLUMN = 12;

/**
 * Charts, transcripts and what is folded are left to the page.
 * @param columns width of the terminal
 */
export function terminalText({ title, blocks }: Report, columns?: number): string {
  const parts = blocks.flatMap((block) => terminalBlock(block, columns) ?? []);
  return [...(title === '' ? [] : [wrapped(title, columns).join('\n')]), ...parts].join('\n\n');
}

function terminalBlock(block: Block, columns?: number): string | undefined {
  switch (block.kind) {
    case 'heading':
    case 'paragraph':
      return wrapped(block.text, columns).join('\n');
    case 'list':
      return [...(block.title === undefined ? [] : [block.title]), ...block.items]
        .flatMap((item) => wrapped(item, columns, 2))
        .join('\n');
    case 'facts':
      return block.rows.length === 0 ? undefined : aligned(block.rows, columns);
    case 'figures':
      return aligned(
        block.items.map(({ label, value }) => [label, value]),
        columns,
      );
    case 'table':
      return terminalTable(block, columns);
    default:
      return undefined;
  }
}

function aligned(rows: readonly Fact[], columns?: number): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.flatMap(([label, value]) => wrapped(`${label.padEnd(width)}   ${value}`, columns, width + 3)).join('\n');
}

/**
 * The table as lines joined by newlines, a rule under the head; where it is too wide, cells are wrapped between words.
 * @param columns width of the terminal
 */
export function terminalTable(
  { title, columns: heads, rows, note, alignment = 'figures' }: Omit<TableBlock, 'kind'>,
  columns?: number,
): string {
  const texts = rows.map((row) => row.map(cellText));
  const widths = heads.map((head, index) => Math.max(...[head, ...texts.map((row) => row[index] ?? '')].map(widthOf)));
  narrow(widths, (columns ?? Number.POSITIVE_INFINITY) - GAP.length * (heads.length - 1));
  const line = (cells: readonly string[]) => {
    const folded = widths.map((size, index) => wrapped(cells[index] ?? '', size));
    const height = Math.max(...folded.map(({ length }) => length));
    return Array.from({ length: height }, (_, row) =>
      widths
        .map((size, index) => {
          const cell = folded[index][row]?.trim() ?? '';
          const space = ' '.repeat(Math.max(0, size - widthOf(cell)));
          return index === 0 || alignment === 'text' ? cell + space : space + cell;
        })
        .join(GAP)
        .trimEnd(),
    ).join('\n');
  };
  const rule = widths.map((size) => '─'.repeat(size)).join(GAP);
  const below = note === undefined ? [] : ['', ...wrapped(note, columns)];
  return [...(title === undefined ? [] : [title, '']), line(heads), rule, ...texts.map(line), ...below].join('\n');
}

/** Takes from the widest column until all fit in `room`. */
function narrow(widths: number[], room: number): void {
  while (widths.reduce((sum, width) => sum + width, 0) > room) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= LEAST_COLUMN) return;
    widths[widest]--;
  }
}

/** What the terminal shows of a job: its report, or the plain values of its result, and what every result has. */
export function resultText(result: JobResult, report: Report | undefined, columns?: number): string {
  const { job: _, family: __, wallSeconds, evaluationSet, report: page, ...rest } = result;
  const plainFacts = Object.entries(rest).flatMap(([key, value]): Fact[] =>
    typeof value === 'object' ? [] : [[key, typeof value === 'number' ? formatNumber(value) : String(value)]],
  );
  const about: Fact[] = [
    ...(evaluationSet === undefined ? [] : [['evaluation set', evaluationSet.hash] as const]),
    ['wall time', formatDuration(wallSeconds)],
    ...(page === undefined ? [] : [['report', page] as const]),
  ];
  const { title = '', blocks = [{ kind: 'facts', rows: plainFacts }] } = report ?? {};
  return terminalText({ title, blocks: [...blocks, { kind: 'facts', rows: about }] }, columns);
}

// As Markdown: charts become tables of their numbers.

export function markdownText({ title, blocks }: Report): string {
  return `${paragraphs([`# ${plain(title)}`, ...blocks.map(markdownBlock)])}\n`;
}

function markdownBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level ?? 2)} ${plain(block.text)}`;
    case 'paragraph':
      return block.tone === 'warning' ? `**${plain(block.text)}**` : plain(block.text);
    case 'list': {
      const mark = block.tone === 'passed' ? '**passed** ' : block.tone === 'failed' ? '**FAILED** ' : '';
      const items = block.items.map((item) => `- ${mark}${plain(item)}`).join('\n');
      return paragraphs([block.title === undefined ? '' : `**${plain(block.title)}**`, items]);
    }
    case 'facts':
      return block.rows.map(([label, value]) => `- ${plain(label)}: ${plain(value)}`).join('\n');
    case 'figures':
      return block.items
        .map(
          ({ value, label, text }) =>
            `- **${plain(value)}** ${plain(label)}${text === undefined ? '' : `. ${plain(text)}`}`,
        )
        .join('\n');
    case 'table':
      return markdownTable(block);
    case 'curves':
      return paragraphs([`**${plain(block.title)}.** ${plain(block.caption ?? '')}`, markdownTable(chartTable(block))]);
    case 'details':
      return paragraphs([`**${plain(block.title)}**`, ...block.blocks.map(markdownBlock)]);
    case 'transcript':
      return block.lines.map(({ role, text }) => `- **${role}** ${plain(text)}`).join('\n');
    case 'code':
      // Nothing within can close the fence.
      return `\`\`\`json\n${block.text.replaceAll('```', '\\u0060\\u0060\\u0060')}\n\`\`\``;
  }
}

/** Text in which nothing is a mark: no emphasis, link, HTML, table cell or new line begins in it. */
function plain(text: string): string {
  return text
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/[\\`*_[\]<>|#]/g, (mark) => (mark === '<' ? '&lt;' : `\\${mark}`));
}

/** Cells are text, not Markdown; explanations stand below. */
function markdownTable({ title, columns, rows, note }: TableBlock): string {
  const line = (cells: readonly Cell[]) => `| ${cells.map((cell) => plain(cellText(cell))).join(' | ')} |`;
  const table = [line(columns), `| ${columns.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n');
  const explained = rows.flatMap((row) =>
    row.flatMap((cell) => (typeof cell === 'string' || cell.about === undefined ? [] : [[cell.text, cell.about]])),
  );
  const below = explained.map(([text, about]) => `- ${plain(text)}: ${plain(about)}`).join('\n');
  return paragraphs([title === undefined ? '' : `**${plain(title)}**`, table, plain(note ?? ''), below]);
}

/** Paragraphs, those that are empty left out. */
function paragraphs(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}
