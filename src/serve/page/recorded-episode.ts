// One episode of a run, for the viewer.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { deficitText } from '../../synth/signals/deficits.js';
import { answerView, messageView, StateTrace } from './episode-view.js';
import { EPISODES_FILE, fileIn, linesOf, pathBelow, type RunList } from './runs.js';
import type { EpisodeRow, EpisodesPage, EpisodeView, Shares, TurnView } from './wire.js';

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, EPISODE_NOT_FOUND, LINE_TOO_LONG */
export async function recordedEpisode(root: string, run: string, at: number): Promise<EpisodeView> {
  const folder = pathBelow(root, run);
  const file = fileIn(root, folder, EPISODES_FILE);
  if (file === undefined) throw reverieError('RUN_NOT_FOUND', { path: join(run, EPISODES_FILE) });
  const record = await recordAt(file, at);
  if (record === undefined) throw reverieError('EPISODE_NOT_FOUND', { run, at });
  const trace = new StateTrace(undefined);
  const turns = turnsOf(record, trace);
  const { task, seed, scenario, source, verdict } = record;
  const notes = lostNote(record);
  const about = { title: `${scenario} · ${task}`, env: scenario, family: 'tools' as const, source, task, seed };
  return { ...about, status: endOf(record), return: record.return, turns, verdict, notes, facts: factsOf(run, record) };
}

async function recordAt(file: string, at: number): Promise<EpisodeRecord | undefined> {
  for await (const { text } of linesOf(file, at)) return parsed(text);
  return undefined;
}

function endOf({ terminated, truncated }: EpisodeRecord) {
  return terminated ? 'terminated' : truncated ? 'truncated' : 'open';
}

/** Steps are counted as on the page: 0 is where the episode began. */
function lostNote({ lostStep, lostBy, steps }: EpisodeRecord): string[] {
  if (lostStep === undefined) return [];
  const what = lostBy === undefined ? '' : `: the agent ${deficitText(lostBy)}`;
  if (lostStep >= steps.length) return [`Nothing was lost before the end; the episode was cut off${what}.`];
  return [`The episode was lost in step ${lostStep + 1}${what}.`];
}

/** The first turn is all that was said before the agent acted; each other begins with what the agent did. */
function turnsOf({ messages, steps, terminated, truncated }: EpisodeRecord, trace: StateTrace): TurnView[] {
  const starts = steps.map(({ message }) => message);
  const said = (from: number, to?: number) => messages.slice(from, to).map(messageView);
  const nothing = { reward: null, terminated: false, truncated: false, answers: [], info: {} };
  const others = steps.map(({ message, predictions, reward, stateHash, action }, i): TurnView => {
    const changes = trace.step(predictions, stateHash);
    const written = messages[message];
    const calls = action.toolCalls ?? (written?.role === 'assistant' ? written.toolCalls : undefined) ?? [];
    const isLast = i === steps.length - 1;
    return {
      step: i + 1,
      messages: said(message, starts[i + 1]),
      reward,
      terminated: isLast && terminated,
      truncated: isLast && truncated,
      answers: predictions.map((one, call) => answerView(calls[call]?.name ?? '', one, changes[call])),
      stateHash,
      info: {},
    };
  });
  return [{ ...nothing, step: 0, messages: said(0, starts[0]) }, ...others];
}

function factsOf(run: string, record: EpisodeRecord): EpisodeView['facts'] {
  const { id, row, family, split, group, parent, policyVersion, userVersion, responderVersion, weight } = record;
  return [
    ['run', run],
    ['episode', id],
    ['row', String(row)],
    ['task family', family],
    ['split', split],
    ...(group === -1 ? [] : [['group', String(group)] as const]),
    ...(parent === undefined ? [] : [['forked from', `${parent.episode}, step ${parent.step}`] as const]),
    ['weight', String(weight)],
    ['agent', policyVersion],
    ['user', userVersion],
    ['answered by', responderVersion],
  ];
}

/** Episodes of a page. */
const PAGE = 50;
/** Characters looked at for one page: then what was found is told, and where to go on. */
const LOOKED_AT = 96 << 20;
const EXCERPT = 160;

interface EpisodeFilter {
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

function parsed(line: string): EpisodeRecord | undefined {
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

function wordsOf(words = ''): readonly string[] {
  return words.toLowerCase().match(/\S+/g) ?? [];
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
  const { id, row, task, split, source, return: sum, steps } = record;
  const about = { run, at, id, row, task, split, source, return: sum, ended: endOf(record), steps: steps.length };
  return { ...about, answered: answersOf(record), excerpt: excerptOf(record, wordsOf(words)) } as EpisodeRow;
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
