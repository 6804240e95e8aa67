// One episode of a run, for the viewer.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { deficitText } from '../../synth/signals/deficits.js';
import { answerView, messageView } from './episode-view.js';
import { EPISODES_FILE, fileIn, linesOf, pathBelow, type RunList } from './runs.js';
import type { EpisodeRow, EpisodesPage, EpisodeView, TurnView } from './wire.js';

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, EPISODE_NOT_FOUND, LINE_TOO_LONG */
export async function recordedEpisode(root: string, run: string, at: number): Promise<EpisodeView> {
  const folder = pathBelow(root, run);
  const file = fileIn(root, folder, EPISODES_FILE);
  if (file === undefined) throw reverieError('RUN_NOT_FOUND', { path: join(run, EPISODES_FILE) });
  const record = await recordAt(file, at);
  if (record === undefined) throw reverieError('EPISODE_NOT_FOUND', { run, at });
  const turns = turnsOf(record);
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
function turnsOf({ messages, steps, terminated, truncated }: EpisodeRecord): TurnView[] {
  const starts = steps.map(({ message }) => message);
  const said = (from: number, to?: number) => messages.slice(from, to).map(messageView);
  const nothing = { reward: null, terminated: false, truncated: false, answers: [], info: {} };
  const others = steps.map(({ message, predictions, reward, stateHash, action }, i): TurnView => {
    const written = messages[message];
    const calls = action.toolCalls ?? (written?.role === 'assistant' ? written.toolCalls : undefined) ?? [];
    const isLast = i === steps.length - 1;
    return {
      step: i + 1,
      messages: said(message, starts[i + 1]),
      reward,
      terminated: isLast && terminated,
      truncated: isLast && truncated,
      answers: predictions.map((one, call) => answerView(calls[call]?.name ?? '', one)),
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
/** Characters looked at for one page: then what was found is answered, and where to resume. */
const LOOKED_AT = 96 << 20;
const EXCERPT = 160;

interface EpisodeFilter {
  /** One run; all unless given. */
  readonly run?: string;
  readonly task?: string;
  /** Where the last page said to resume. */
  readonly cursor?: string;
}

/** Episodes of runs, in the order of their paths, which new runs do not change for those before them. */
export async function listEpisodes(runs: RunList, { run, task, cursor }: EpisodeFilter): Promise<EpisodesPage> {
  const { root } = runs;
  const all = runs.view().runs.filter(({ hasEpisodes, path }) => hasEpisodes && (run ?? path) === path);
  const [, startAt = '0', startRun] = /^(\d+):(.*)$/s.exec(cursor ?? '') ?? [];
  const found: EpisodeRow[] = [];
  const notes: string[] = [];
  let [looked, characters] = [0, 0];
  for (const path of all.map((row) => row.path).sort()) {
    if (root === undefined || (startRun !== undefined && path < startRun)) continue;
    const file = fileIn(root, join(root, path), EPISODES_FILE);
    if (file === undefined) continue;
    for await (const { at, text } of linesOf(file, path === startRun ? Number(startAt) : 0)) {
      if (found.length === PAGE || characters > LOOKED_AT) {
        return { episodes: found, next: `${at}:${path}`, looked, notes };
      }
      looked++;
      characters += text.length;
      // Most lines are never parsed.
      if (task !== undefined && !text.includes(JSON.stringify(task))) continue;
      const record = parsed(text);
      if (record === undefined) notes.push(`${path}: what begins at byte ${at} is no episode.`);
      else if (task === undefined || record.task === task) found.push(episodeRow(path, at, record));
    }
  }
  return { episodes: found, looked, notes };
}

function parsed(line: string): EpisodeRecord | undefined {
  try {
    const record = JSON.parse(line) as EpisodeRecord;
    return Array.isArray(record.messages) && Array.isArray(record.steps) && record.verdict ? record : undefined;
  } catch {
    return undefined;
  }
}

function episodeRow(run: string, at: number, record: EpisodeRecord): EpisodeRow {
  const { id, row, task, split, source, return: sum, steps, messages } = record;
  const answered: Record<string, number> = {};
  for (const { predictions } of steps) {
    for (const { backend } of predictions) answered[backend] = (answered[backend] ?? 0) + 1;
  }
  const said = messages.find(({ role }) => role === 'user')?.content ?? '';
  const about = { run, at, id, row, task, split, source, return: sum, ended: endOf(record), steps: steps.length };
  return { ...about, answered, excerpt: said.replace(/\s+/g, ' ').slice(0, EXCERPT) } as EpisodeRow;
}
