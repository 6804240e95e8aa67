// One episode of a run, for the viewer.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { initialStateOf, type Message, makeDomain, serverKeyOf, type ToolsDomain } from '../../env/index.js';
import { isToolsScenario } from '../../kinds/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import { SCENARIO_FILE, savedScenario } from '../../run/index.js';
import { deficitText } from '../../synth/index.js';
import { linesOf, parsed } from './episode-search.js';
import { answerView, messageView, StateTrace, verdictView } from './episode-turns.js';
import { EPISODES_FILE, fileIn, pathBelow } from './run-list.js';
import type { EpisodeView, TurnView } from './wire.js';

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, EPISODE_NOT_FOUND, LINE_TOO_LONG */
export async function recordedEpisode(
  root: string,
  run: string,
  at: number,
  starts: StartStates,
): Promise<EpisodeView> {
  const folder = pathBelow(root, run);
  const file = fileIn(root, folder, EPISODES_FILE);
  if (file === undefined) throw reverieError('RUN_NOT_FOUND', { path: join(run, EPISODES_FILE) });
  const record = await recordAt(file, at);
  if (record === undefined) throw reverieError('EPISODE_NOT_FOUND', { run, at });
  const start = await starts.of(folder, record.task);
  return episodeView(run, record, start);
}

async function recordAt(file: string, at: number): Promise<EpisodeRecord | undefined> {
  for await (const { text } of linesOf(file, at)) return parsed(text);
  return undefined;
}

function episodeView(run: string, record: EpisodeRecord, { state, problem }: Start): EpisodeView {
  const trace = new StateTrace(state);
  const { task, seed, verdict, terminated, truncated } = record;
  const turns = turnsOf(record, trace);
  const notes = problem === undefined ? [] : [`Values before changes are not known: ${problem}.`];
  notes.push(...lostNote(record));
  if (trace.lost) notes.push('The domain has changed since: some changes are shown without what was before.');
  return {
    title: `${record.scenario} · ${task}`,
    env: record.scenario,
    family: 'tools',
    source: record.source,
    task,
    seed,
    status: terminated ? 'terminated' : truncated ? 'truncated' : 'open',
    return: record.return,
    turns,
    verdict: verdictView(verdict),
    notes,
    facts: factsOf(run, record),
    hasScene: false,
  };
}

/** Steps are told as the page counts them: 0 is where the episode began. */
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
  const first: TurnView = { ...NOTHING, step: 0, messages: said(0, starts[0]) };
  const others = steps.map(({ message, predictions, reward, stateHash, action }, i): TurnView => {
    const changes = trace.step(predictions, stateHash);
    const names = callsAt(
      messages,
      message,
      action.toolCalls?.map(({ name }) => name),
    );
    const isLast = i === steps.length - 1;
    return {
      step: i + 1,
      messages: said(message, starts[i + 1]),
      reward,
      terminated: isLast && terminated,
      truncated: isLast && truncated,
      answers: predictions.map((one, call) => answerView(names[call] ?? '', one, changes[call])),
      stateHash,
      info: {},
    };
  });
  return [first, ...others];
}

const NOTHING = { reward: null, terminated: false, truncated: false, answers: [], info: {} };

function callsAt(messages: readonly Message[], at: number, names?: readonly string[]): readonly string[] {
  if (names !== undefined) return names;
  const message = messages[at];
  return message?.role === 'assistant' ? (message.toolCalls ?? []).map(({ name }) => name) : [];
}

function factsOf(run: string, record: EpisodeRecord): EpisodeView['facts'] {
  const { id, row, family, split, group, parent, policyVersion, userVersion, responderVersion, weight } = record;
  const { signals = [], aim } = record;
  return [
    ['run', run],
    ['episode', id],
    ['row', String(row)],
    ['task family', family],
    ['split', split],
    ...(group === -1 ? [] : [['group', String(group)] as const]),
    ...(parent === undefined ? [] : [['forked from', `${parent.episode}, step ${parent.step}`] as const]),
    ...(signals.length === 0 ? [] : [['signals', signals.join(', ')] as const]),
    ...(aim === undefined ? [] : [['task made for', deficitText(aim)] as const]),
    ['weight', String(weight)],
    ['agent', policyVersion],
    ['user', userVersion],
    ['answered by', responderVersion],
  ];
}

// The states that tasks of a run began in, from the domain of its scenario as it is today. Making a domain takes seconds, so
// the last ones are kept.

const KEPT = 4;

interface Start {
  readonly state?: JsonObject;
  /** Why it is not known. */
  readonly problem?: string;
}

type Known = Promise<ToolsDomain | string>;

export class StartStates {
  private readonly domains = new LRUCache<string, Known>({ max: KEPT, dispose: (known) => void known.then(closed) });

  /** @param folder  of a run */
  async of(folder: string, task: string): Promise<Start> {
    const domain = await this.domainOf(folder);
    if (typeof domain === 'string') return { problem: domain };
    const found = domain.tasks.find(({ id }) => id === task);
    return found === undefined
      ? { problem: `its domain has no task "${task}"` }
      : { state: initialStateOf(domain, found) };
  }

  close(): void {
    this.domains.clear();
  }

  private domainOf(folder: string): Known {
    const written = statSync(join(folder, SCENARIO_FILE), { throwIfNoEntry: false })?.mtimeMs;
    const key = `${written}:${folder}`;
    const known = this.domains.get(key) ?? made(folder);
    this.domains.set(key, known);
    return known;
  }
}

async function made(folder: string): Promise<ToolsDomain | string> {
  try {
    const scenario = await savedScenario(folder, { plugins: false });
    if (scenario === undefined || !isToolsScenario(scenario)) return 'the run keeps no scenario of tools';
    // A saved file may come from anywhere: nobody is asked, and nothing started, for a look at it.
    if (serverKeyOf(scenario.config.domain) !== undefined) return 'its domain is on a server of its own';
    return await makeDomain(scenario.config.domain, { folder: scenario.folder });
  } catch (error) {
    if (error instanceof ReverieError) return error.message.replace(/\.$/, '');
    throw error;
  }
}

function closed(domain: ToolsDomain | string): void {
  if (typeof domain !== 'string') domain.close();
}
