// Looks through the episodes of runs, a page at a time: what was said and called, by words; task, reward and who answered
// by value. Files are read on from where the last page ended and never held whole.

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { EpisodeRecord } from '../../replay/index.js';
import { EPISODES_FILE, fileIn, type RunList } from './run-list.js';
import type { EpisodeRow, EpisodesPage, Shares } from './wire.js';

/** Episodes of a page. */
const PAGE = 50;
/** Characters looked at for one page: then what was found is told, and where to go on. */
const LOOKED_AT = 96 << 20;
const EXCERPT = 160;

export interface EpisodeFilter {
  /** One run; all unless given. */
  readonly run?: string;
  /** Every word must be in what was said, called or answered; case does not count. */
  readonly words?: string;
  readonly task?: string;
  readonly backend?: string;
  readonly reward?: 'full' | 'part' | 'none' | 'unjudged';
  /** Where the last page said to go on. */
  readonly cursor?: string;
}

/** Runs are looked through in the order of their paths, which new runs do not change for those before them. */
export async function searchEpisodes(runs: RunList, filter: EpisodeFilter): Promise<EpisodesPage> {
  const root = runs.root;
  const all = runs.view().runs.filter(({ hasEpisodes, path }) => hasEpisodes && (filter.run ?? path) === path);
  const paths = all.map(({ path }) => path).sort();
  const [startRun, startAt] = cursorOf(filter.cursor);
  const found: EpisodeRow[] = [];
  const notes: string[] = [];
  let [looked, characters] = [0, 0];
  for (const path of paths) {
    if (root === undefined || (startRun !== undefined && path < startRun)) continue;
    const file = fileIn(root, join(root, path), EPISODES_FILE);
    if (file === undefined) continue;
    for await (const { at, text } of linesOf(file, path === startRun ? startAt : 0)) {
      if (found.length === PAGE || characters > LOOKED_AT) {
        return { episodes: found, next: `${at}:${path}`, looked, notes };
      }
      looked++;
      characters += text.length;
      const record = mayMatch(text, filter) ? parsed(text) : null;
      if (record === undefined) notes.push(`${path}: what begins at byte ${at} is no episode.`);
      else if (record !== null && matches(record, filter)) found.push(episodeRow(path, at, record, filter));
    }
  }
  return { episodes: found, looked, notes };
}

function cursorOf(cursor: string | undefined): [run: string | undefined, at: number] {
  const [, at, run] = /^(\d+):(.*)$/s.exec(cursor ?? '') ?? [];
  return [run, Number(at ?? 0)];
}

export function parsed(line: string): EpisodeRecord | undefined {
  try {
    const record = JSON.parse(line) as EpisodeRecord;
    return Array.isArray(record.messages) && Array.isArray(record.steps) && record.verdict ? record : undefined;
  } catch {
    return undefined;
  }
}

/** A quick look at the line as it is, so that most are never parsed. Only words that JSON writes as they are count. */
function mayMatch(line: string, { words, task }: EpisodeFilter): boolean {
  if (task !== undefined && !line.includes(JSON.stringify(task))) return false;
  const plain = wordsOf(words).filter((word) => /^[\w.-]+$/.test(word));
  if (plain.length === 0) return true;
  const lower = line.toLowerCase();
  return plain.every((word) => lower.includes(word));
}

function matches(record: EpisodeRecord, { words, task, backend, reward }: EpisodeFilter): boolean {
  if (task !== undefined && record.task !== task) return false;
  if (backend !== undefined && !(backend in answersOf(record))) return false;
  if (reward !== undefined && rewardKind(record.return) !== reward) return false;
  const wanted = wordsOf(words);
  if (wanted.length === 0) return true;
  const text = textsOf(record).join('\n').toLowerCase();
  return wanted.every((word) => text.includes(word));
}

function rewardKind(sum: number | null): NonNullable<EpisodeFilter['reward']> {
  if (sum === null) return 'unjudged';
  if (sum >= 1) return 'full';
  return sum > 0 ? 'part' : 'none';
}

function wordsOf(words = ''): string[] {
  return words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** What was said, called and answered; not the policy, which all episodes share. */
function textsOf({ messages, task, id }: EpisodeRecord): string[] {
  const texts = messages.flatMap((message) => {
    if (message.role === 'system') return [];
    if (message.role !== 'assistant') return [message.content];
    const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => `${name} ${JSON.stringify(given)}`);
    return [message.content ?? '', ...calls];
  });
  return [task, id, ...texts];
}

function answersOf({ steps }: EpisodeRecord): Shares {
  const shares: Record<string, number> = {};
  for (const { predictions } of steps) {
    for (const { backend } of predictions) shares[backend] = (shares[backend] ?? 0) + 1;
  }
  return shares;
}

function episodeRow(run: string, at: number, record: EpisodeRecord, { words }: EpisodeFilter): EpisodeRow {
  const { id, row, task, split, source, return: sum, terminated, truncated, steps } = record;
  const ended = terminated ? 'terminated' : truncated ? 'truncated' : 'open';
  return {
    run,
    at,
    id,
    row,
    task,
    split,
    source,
    return: sum,
    ended,
    steps: steps.length,
    answered: answersOf(record),
    excerpt: excerptOf(record, wordsOf(words)),
  };
}

/** Around the first word that was looked for; else what the user said first. */
function excerptOf(record: EpisodeRecord, [word]: readonly string[]): string {
  const texts = textsOf(record).slice(2);
  const hit = word === undefined ? undefined : texts.find((text) => text.toLowerCase().includes(word));
  const text = (hit ?? texts[0] ?? '').replace(/\s+/g, ' ');
  const at = word === undefined ? 0 : Math.max(0, text.toLowerCase().indexOf(word) - EXCERPT / 3);
  const cut = text.slice(at, at + EXCERPT);
  return `${at > 0 ? '… ' : ''}${cut}${at + EXCERPT < text.length ? ' …' : ''}`;
}

// Lines of a large file with the bytes at which they begin, without ever holding the file.

/** Bytes of the longest line that is read. */
const LONGEST_LINE = 32 << 20;
const CHUNK = 1 << 18;

interface FileLine {
  /** Byte at which it begins. */
  readonly at: number;
  /** Byte after its end. */
  readonly end: number;
  readonly text: string;
}

/** Whole lines from byte `from` on; a last line without an end is left out. @throws LINE_TOO_LONG */
export async function* linesOf(file: string, from = 0): AsyncGenerator<FileLine> {
  const handle = await open(file);
  try {
    const parts: Buffer[] = [];
    let [at, position] = [from, from];
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      let rest = buffer.subarray(0, bytesRead);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const bytes = Buffer.concat([...parts, rest.subarray(0, end)]);
        parts.length = 0;
        yield { at, end: at + bytes.length + 1, text: bytes.toString('utf8') };
        at += bytes.length + 1;
        rest = rest.subarray(end + 1);
      }
      parts.push(rest);
      if (position - at > LONGEST_LINE) throw reverieError('LINE_TOO_LONG', { path: file, at, limit: LONGEST_LINE });
    }
  } finally {
    await handle.close();
  }
}
