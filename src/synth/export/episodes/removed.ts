// What the filters took away, as Markdown: a table of before and after for the card, and examples on a page beside it.

import type { Message } from '../../../env/index.js';
import { type DatasetReport, type FilterReport, type RemovedExample, stagesOf } from '../../quality/report.js';
import { markdownTable } from './markdown-table.js';

export const REMOVED_FILE = 'REMOVED.md';

/** Each filter with episodes and turns before and after it, and what it removed by kind. */
export function removedTable(report: DatasetReport): string {
  const head = ['filter', 'episodes before', 'after', 'turns before', 'after', 'what was removed or mended'];
  const rows = stagesOf(report).map((stage): (string | number)[] => [
    ...[stage.name, stage.in, stage.out, stage.turnsIn, stage.turnsOut],
    told(stage),
  ]);
  return markdownTable(head, rows);
}

function told({ repaired, dropped, removed }: FilterReport): string {
  const kinds = Object.entries(removed).map(
    ([kind, { episodes, turns }]) => `${turns} turns of ${episodes} episodes: ${kind}`,
  );
  const mended = Object.entries(repaired).map(([note, count]) => `${count} mended: ${note}`);
  const gone = Object.entries(dropped)
    .filter(([reason]) => removed[reason] === undefined)
    .map(([reason, count]) => `${count} dropped: ${reason}`);
  return [...kinds, ...mended, ...gone].join('; ');
}

/** The page of examples. What anybody said stands in code blocks, where no markup of it counts. */
export function removedPage(report: DatasetReport): string {
  const kinds = stagesOf(report).flatMap(({ name, removed }) =>
    Object.entries(removed).map(([kind, { episodes, turns, examples }]) => {
      const counts = `${turns} turns of ${episodes} episodes. The first ${examples.length}:`;
      return [`## ${name}: ${kind}`, counts, ...examples.map(exampleText)].join('\n\n');
    }),
  );
  const lead =
    'Turns of the agent that are not to be learnt, by the filter that removed them: what was said, and what speaks against it.';
  return `${['# What was removed', lead, removedTable(report), ...kinds].join('\n\n')}\n`;
}

function exampleText({ row, task, because, messages, turn, omitted }: RemovedExample): string {
  const lines = messages.flatMap((message, at) => [
    ...(at === 1 && omitted > 0 ? [`… ${omitted} messages …`] : []),
    `${at === turn ? '→ ' : ''}${messageText(message)}`,
  ]);
  return `Row ${row}, task \`${task.replaceAll('`', "'")}\`:\n\n${coded([...lines, '', `why: ${because}`].join('\n'))}`;
}

function messageText(message: Message): string {
  if (message.role === 'tool') return `tool ${message.name}: ${message.content}`;
  if (message.role !== 'assistant') return `${message.role}: ${message.content}`;
  const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => `${name}(${JSON.stringify(given)})`);
  return `agent: ${[message.content ?? '', ...calls].filter((part) => part !== '').join('\n')}`;
}

function coded(text: string): string {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `    ${line}`)
    .join('\n');
}
