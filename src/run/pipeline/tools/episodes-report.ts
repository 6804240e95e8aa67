// The report of `reverie synth` on tools: what was run, what came of it, why rows were left out, and episodes to read.

import type { Cost } from '../../../core/cost.js';
import type { BarsBlock, Block, Fact, Report, TranscriptLine } from '../../../core/report.js';
import type { Message } from '../../../env/tools/message.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import { type Deficit, deficitText } from '../../../synth/signals/deficits.js';
import { formatCount, formatCounts, formatPercent } from '../../format.js';
import { type GateFindings, gateFacts } from './gates.js';
import { episodeFacts, type RowStatistics } from './row-statistics.js';

export interface EpisodesReport {
  readonly name: string;
  readonly statistics: RowStatistics;
  readonly quality: DatasetReport;
  readonly rejected: Readonly<Record<string, number>>;
  readonly deficits: readonly Deficit[];
  readonly gates: GateFindings;
  readonly datasets: readonly string[];
  readonly newTasks: number;
  readonly spent: Cost;
  readonly stoppedBy: string | null;
  readonly episodes: AsyncIterable<EpisodeRecord>;
}

export async function episodesReport(report: EpisodesReport): Promise<Report> {
  const { name, statistics, quality, gates, rejected, datasets } = report;
  const { unrewarded, unwritten } = gates;
  const shut = unwritten ?? unrewarded;
  const what = unwritten === undefined ? '' : ' and no dataset was written';
  const facts: Fact[] = [
    ...episodeFacts(statistics.counts, report.spent, report.stoppedBy),
    ['accepted', [formatCount(quality.out), ...refusals(rejected)].join('; not: ')],
    ['to be imitated', imitatedText(quality)],
    ['turns removed', formatCounts(removedTurns(quality)) || 'none'],
    ['answered by', formatCounts(statistics.answeredBy) || 'none'],
    ...counted('refused answers', statistics.refusedOf),
    ...counted('repaired answers', statistics.repairedOf),
    ...gateFacts(gates),
    ...(report.newTasks > 0 ? [['new tasks', formatCount(report.newTasks)] as const] : []),
    ...datasets.map((path): Fact => ['dataset', path]),
  ];
  return {
    title: `Episodes of ${name}`,
    blocks: [
      ...(shut === undefined
        ? []
        : [{ kind: 'paragraph', tone: 'warning', text: `No episode was given a reward${what}. ${shut}` } as const]),
      { kind: 'facts', rows: facts },
      ...deficitTable(report.deficits),
      { kind: 'details', title: 'Diversity, splits and filters', blocks: [filterTable(quality), diversity(quality)] },
      ...taskBars(statistics),
      ...(gates.tricks?.tricks ?? []).map(({ task, by, moves, truth, episode }) => {
        const found = { role: 'verdict', text: `exact checks: ${truth}`, note: 'earned nothing' } as const;
        const title = `Reward for nothing · ${task} · the ${by} was taken in by: ${moves.join(', then ')}`;
        return details(title, [...transcriptOf(episode), found]);
      }),
      ...(await shownEpisodes(report.episodes)),
    ],
  };
}

function counted(label: string, counts: Readonly<Record<string, number>>): Fact[] {
  const text = formatCounts(counts);
  return text === '' ? [] : [[label, text]];
}

function refusals(rejected: Readonly<Record<string, number>>): string[] {
  const text = formatCounts(rejected);
  return text === '' ? [] : [text];
}

/** Failures and what was not judged are for preferences and rewards, and no examples. */
function imitatedText({ imitated, out }: DatasetReport): string {
  const text = `${formatCount(imitated)} of the accepted`;
  return imitated === 0 && out > 0 ? `${text}: none was found good (quality.imitation=any writes all of them)` : text;
}

/** Turns of the agent that are not to be learned, by the filter that removed them. */
export function removedTurns({ filters }: DatasetReport): Record<string, number> {
  const removed = filters.filter(({ turnsIn, turnsOut }) => turnsIn !== turnsOut);
  return Object.fromEntries(removed.map(({ name, turnsIn, turnsOut }) => [name, turnsIn - turnsOut]));
}

const LOST_TASKS = 4;

/** What the agent cannot do yet; nothing where nothing was lost that can be named. */
function deficitTable(deficits: readonly Deficit[]): Block[] {
  if (deficits.length === 0) return [];
  return [
    {
      kind: 'table',
      title: 'What the agent cannot do yet',
      alignment: 'text',
      columns: ['the agent', 'episodes lost', 'tasks that it lost'],
      rows: deficits.map(({ name, lost, tasks }) => {
        const more = tasks.length > LOST_TASKS ? ` and ${formatCount(tasks.length - LOST_TASKS)} more` : '';
        const where = `${tasks.slice(0, LOST_TASKS).join(', ')}${more}`;
        return [deficitText(name), formatCount(lost), where];
      }),
      note: 'What was done in the step that lost an episode, compared with what the task’s solution would have done there.',
    },
  ];
}

function filterTable({ filters }: DatasetReport): Block {
  const change = (before: number, after: number) =>
    before === after ? formatCount(after) : `${formatCount(before)} → ${formatCount(after)}`;
  return {
    kind: 'table',
    columns: ['filter', 'episodes', 'turns to be learned', 'repaired or dropped'],
    rows: filters.map(({ name, in: before, out, turnsIn, turnsOut, repaired, dropped }) => {
      const reasons = formatCounts({ ...repaired, ...dropped }) || '–';
      return [name, change(before, out), change(turnsIn, turnsOut), reasons];
    }),
  };
}

function diversity({ diversity: of, splits }: DatasetReport): Block {
  const { called, of: tools, unused } = of.tools;
  const never = unused.length === 0 ? '' : `, never ${unused.slice(0, 4).join(', ')}`;
  return {
    kind: 'facts',
    rows: [
      ['Splits', formatCounts(splits)],
      ['Different 3-grams of words', formatPercent(of.distinct3)],
      ['Tools called', `${called} of ${tools}${never}`],
      ['Different states reached', formatCount(of.states)],
    ],
  };
}

const SHOWN_TASKS = 16;

/** Hardest first: where a curriculum would look. */
function taskBars({ returnsByTask }: RowStatistics): BarsBlock[] {
  const rates = [...returnsByTask].map(([label, returns]) => {
    const value = returns.reduce((a, b) => a + b, 0) / returns.length;
    return { label, text: `${formatPercent(value)} of ${returns.length}`, bar: { value } };
  });
  const bars = rates.sort((a, b) => a.bar.value - b.bar.value || (a.label < b.label ? -1 : 1)).slice(0, SHOWN_TASKS);
  const caption = `Mean reward of each task's judged episodes; at most the ${SHOWN_TASKS} hardest.`;
  return bars.length === 0 ? [] : [{ kind: 'bars', title: 'Tasks', caption, bars }];
}

/** Episodes shown in full: the first of each outcome. */
const SHOWN_OF_EACH = 2;

async function shownEpisodes(episodes: AsyncIterable<EpisodeRecord>): Promise<Block[]> {
  const shown = new Map<string, Block[]>();
  for await (const record of episodes) {
    const outcome = record.return === null ? 'not judged' : record.return > 0.5 ? 'succeeded' : 'failed';
    const list = shown.get(outcome) ?? [];
    const title = [record.task, outcome, `row ${record.row}`].join(' · ');
    if (list.length < SHOWN_OF_EACH) shown.set(outcome, [...list, details(title, transcriptOf(record))]);
  }
  return [...shown.values()].flat();
}

function details(title: string, lines: readonly TranscriptLine[]): Block {
  return { kind: 'details', title, blocks: [{ kind: 'transcript', lines }] };
}

/** What was said, which calls were made, who answered them, and what was found at the end. */
function transcriptOf(record: EpisodeRecord): TranscriptLine[] {
  const { messages, steps, lostStep } = record;
  const answers = new Map<string, Prediction>();
  for (const { message, predictions } of steps) {
    const turn = messages[message];
    const calls = turn?.role === 'assistant' ? (turn.toolCalls ?? []) : [];
    for (const [i, { id }] of calls.entries()) if (predictions[i] !== undefined) answers.set(id, predictions[i]);
  }
  const lost = lostStep === undefined ? undefined : steps[lostStep]?.message;
  const lines = messages.flatMap((message, at) => {
    if (message.role === 'system') return [];
    const line = lineOf(message, answers);
    return [at === lost ? { ...line, note: 'the step that lost it' } : line];
  });
  const marks = { true: '✓', false: '✗', null: '?' };
  const checks = record.verdict.checks.map(({ name, passed, reason }) => `${marks[`${passed}`]} ${name}: ${reason}`);
  const verdict = checks.join('\n') || 'nothing was checked';
  return [...lines, { role: 'verdict', text: verdict, note: `reward ${record.return ?? 'none'}` }];
}

const LONGEST = 1_500;

function lineOf(message: Message, answers: ReadonlyMap<string, Prediction>): TranscriptLine {
  const shortened = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text);
  if (message.role === 'tool') {
    const answer = answers.get(message.toolCallId);
    return { role: 'tool', text: shortened(message.content), ...(answer && { note: answerNote(answer) }) };
  }
  if (message.role !== 'assistant') return { role: message.role, text: shortened(message.content) };
  const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => `${name}(${JSON.stringify(given)})`);
  const text = [message.content ?? '', ...calls].filter((part) => part !== '').join('\n');
  return { role: 'assistant', text: shortened(text) };
}

function answerNote({ backend, confidence, operations, refused, repaired }: Prediction): string {
  const changes = operations.length === 0 ? '' : `, ${operations.length} changes`;
  const fate = refused === undefined ? (repaired ? ', repaired' : '') : ', refused';
  return `${backend}, confidence ${confidence.toFixed(2)}${changes}${fate}`;
}
