// Logs of the real environment as episodes like any other, with what their calls did to the state as far as that is known.

import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { canonicalJson, type JsonObject, parsedJson, sha256 } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import { parseExactly } from '../../../core/exact-numbers.js';
import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../../env/tools/message.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import {
  type CallState,
  type EpisodeRecord,
  type EpisodeStep,
  type ExperienceConfig,
  type ExperienceStep,
  episodeSteps,
} from '../experience.js';
import { type LoggedConversation, RecordProblem, readConversation } from './conversation.js';
import { SessionLines } from './other-forms.js';

interface LogOptions {
  /** Whose logs they are: gives the policy, families of tasks and, with rules, states and operations of the calls. */
  readonly domain?: ToolsDomain;
  /** Name under which steps are remembered; by default the domain's id. */
  readonly scenario?: string;
  /** Skip records that cannot be read, and say which; otherwise the first is an error. */
  readonly tolerant?: boolean;
  /** Accept records of simulators as simulated answers; otherwise each is an unreadable record. */
  readonly simulated?: boolean;
}

interface EpisodeLogs {
  readonly episodes: readonly EpisodeRecord[];
  readonly steps: readonly ExperienceStep[];
  readonly skipped: readonly SkippedRecord[];
  /** Calls whose state and operations are known: the domain's rules answer as was recorded. */
  readonly replayed: number;
}

interface SkippedRecord {
  readonly path: string;
  readonly where: string;
  readonly problem: string;
}

/**
 * Reads a file, or all .jsonl and .json files of a folder, in order of names.
 * Throws LOG_INVALID naming file and line.
 */
export async function readEpisodeLogs(path: string, options: LogOptions = {}): Promise<EpisodeLogs> {
  const episodes: EpisodeRecord[] = [];
  const steps: ExperienceStep[] = [];
  const skipped: SkippedRecord[] = [];
  const files = filesAt(path);
  if (files.length === 0)
    throw reverieError('LOG_INVALID', { path, where: 'the folder', problem: 'it holds no .jsonl or .json file' });
  for (const file of files) {
    for await (const record of recordsOf(file)) {
      const read = readRecord(record, options);
      if ('problem' in read) {
        if (!options.tolerant) throw reverieError('LOG_INVALID', { path: file, ...read });
        skipped.push({ path: file, ...read });
        continue;
      }
      episodes.push(read.episode);
      for (const step of read.steps) steps.push(step);
    }
  }
  return { episodes, steps, skipped, replayed: steps.filter(({ operations }) => operations !== undefined).length };
}

function readRecord(
  { where, value, problem }: LogRecord,
  { domain, scenario = domain?.id ?? '', simulated = false }: LogOptions,
): { episode: EpisodeRecord; steps: ExperienceStep[] } | { where: string; problem: string } {
  if (problem !== undefined) return { where, problem };
  try {
    const conversation = readConversation(value);
    if (conversation.simulated !== undefined && !simulated) throw new RecordProblem(SIMULATED);
    const { record, states } = loggedEpisode(conversation, scenario, domain);
    return { episode: record, steps: episodeSteps(record, states) };
  } catch (error) {
    if (error instanceof RecordProblem) return { where, problem: error.message };
    throw error;
  }
}

const RECORDED = 'recorded';
const SIMULATED =
  'a simulator answered its calls, as it says, and no real environment; `reverie collect` writes what that answered to RUN/logs';

/** The episode, and the state of each answered call, as far as known. */
function loggedEpisode(
  { id, task, messages: said, reward, simulated }: LoggedConversation,
  scenario: string,
  domain: ToolsDomain | undefined,
): { record: EpisodeRecord; states: readonly CallState[] } {
  const messages = withPolicy(said, domain);
  const calls = new ReplayedCalls(domain, task);
  const states: CallState[] = [];
  const steps = messages.flatMap((message, i) =>
    message.role === 'assistant'
      ? [stepOf(message, i, answersTo(message, messages), domain, states, calls, simulated?.version)]
      : [],
  );
  const last = steps.at(-1);
  if (last !== undefined && reward !== null) steps[steps.length - 1] = { ...last, reward };
  const known = domain?.tasks.find((each) => each.id === task);
  const identity = canonicalJson([scenario, task, id, messages]);
  const record: EpisodeRecord = {
    id: sha256(identity).slice(0, 16),
    row: simulated?.row ?? -1,
    source: simulated === undefined ? 'real' : 'synthetic',
    scenario,
    scenarioHash: domain?.version ?? '',
    task,
    family: known?.family ?? task,
    split: known?.split ?? 'train',
    seed: 0,
    group: -1,
    policyVersion: RECORDED,
    userVersion: RECORDED,
    responderVersion: simulated?.version ?? RECORDED,
    messages,
    steps,
    verdict: { reward, checks: [] },
    outcome: { kind: 'judged', cause: reward === null ? 'no reward was recorded' : null, attempt: RECORDED },
    return: reward,
    terminated: true,
    truncated: false,
    weight: 1,
    cost: NO_COST,
  };
  return { record, states };
}

function withPolicy(messages: readonly Message[], domain: ToolsDomain | undefined): readonly Message[] {
  if (messages[0]?.role === 'system' || domain === undefined) return messages;
  return [{ role: 'system', content: domain.policy }, ...messages];
}

/** Answers in the order of the calls; calls at the very end may have none. */
function answersTo({ toolCalls = [] }: AssistantMessage, messages: readonly Message[]): ToolMessage[] {
  return toolCalls.flatMap(({ id }) =>
    messages.filter((each): each is ToolMessage => each.role === 'tool' && each.toolCallId === id),
  );
}

function stepOf(
  { role: _, ...action }: AssistantMessage,
  message: number,
  answers: readonly ToolMessage[],
  domain: ToolsDomain | undefined,
  states: CallState[],
  calls: ReplayedCalls,
  simulator: string | undefined,
): EpisodeStep {
  const predictions = answers.map((answer, i): Prediction => {
    const call = (action.toolCalls ?? [])[i];
    const state = calls.next(call, answer.content);
    states.push(state);
    const isError = answer.isError ?? false;
    const isLast = domain?.tools.find(({ name }) => name === call.name)?.terminates === true && !isError;
    return {
      operations: state.operations ?? [],
      observation: answer.content,
      isError,
      reward: null,
      terminated: isLast,
      truncated: false,
      confidence: 1,
      backend: simulator === undefined ? 'real' : 'simulated',
      modelVersion: simulator ?? '',
      why: [RECORDED],
      cost: NO_COST,
    };
  });
  // Empty: not known, as a record has no state of its own.
  return { message, action, predictions, reward: 0, stateHash: calls.hash ?? '' };
}

// What recorded calls did to the state, found by running the domain's own rules: known of the calls to which the rules
// give the recorded answer, as long as every change was such a call.

export class ReplayedCalls {
  private state: JsonObject | undefined;

  /** Without rules nothing is known. */
  constructor(
    private readonly domain: ToolsDomain | undefined,
    task: string,
  ) {
    if (domain?.rules === undefined) return;
    const known = domain.tasks.find(({ id }) => id === task);
    this.state = applyOperations(domain.initialState, known?.initialOperations ?? []);
  }

  /** The state as it stands; undefined once it is not known. */
  get current(): JsonObject | undefined {
    return this.state;
  }

  /** Its hash. */
  get hash(): string | undefined {
    return this.state === undefined ? undefined : stateHash(this.state);
  }

  /** State and changes of the call; nothing if the rules do not know it or answer otherwise. */
  next(call: ToolCall, observation: string): CallState {
    const state = this.state;
    const rules = this.domain?.rules;
    if (state === undefined || rules === undefined) return {};
    const isWrite = this.domain?.tools.find(({ name }) => name === call.name)?.kind === 'write';
    const outcome = rules.tools.has(call.name) ? rules.execute(state, call) : undefined;
    if (outcome === undefined || !isSameAnswer(outcome.observation, observation)) {
      // What a write did to the real state is not known then; other tools change nothing.
      if (isWrite) this.state = undefined;
      return {};
    }
    this.state = applyOperations(state, outcome.operations);
    return { stateHash: stateHash(state), operations: outcome.operations };
  }
}

/** The state a recorded conversation ended in; undefined where that is not known. */
export function stateAfter(domain: ToolsDomain, task: string, messages: readonly Message[]): JsonObject | undefined {
  const calls = new ReplayedCalls(domain, task);
  const answers = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each.content]] : [])));
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      const answer = answers.get(call.id);
      if (answer !== undefined) calls.next(call, answer);
    }
  }
  return calls.current;
}

/** Equal texts, or JSON that says the same. */
function isSameAnswer(a: string, b: string): boolean {
  return a === b || (/^\s*[[{]/.test(a) && canonicalOf(a) === canonicalOf(b));
}

function canonicalOf(text: string): string {
  const value = parsedJson(text);
  return value === undefined ? text : canonicalJson(value);
}

// Files of logs and the records in them: JSON lines, or one JSON list.

/** One record, or why there is none. */
export interface LogRecord {
  /** `line 3` or `record 3`. */
  readonly where: string;
  readonly value?: unknown;
  readonly problem?: string;
}

/** The files that `logs` names, relative to the scenario's folder; what is not there is named as it is. */
export function episodeLogFiles({ logs }: Pick<ExperienceConfig, 'logs'>, folder: string): string[] {
  return logs.flatMap((path) => filesAt(resolve(folder, path)));
}

/** The file itself, or those of a folder that end in .jsonl or .json, by name; of the folder of a run, those of its logs. */
export function filesAt(path: string): string[] {
  if (!existsSync(path) || !statSync(path).isDirectory()) return [path];
  if (existsSync(join(path, 'run.json'))) return filesAt(join(path, 'logs'));
  const names = readdirSync(path).filter((name) => /\.jsonl?$/.test(name));
  return names.sort().map((name) => join(path, name));
}

/** Records in order. Throws LOG_INVALID if the file cannot be read, is no UTF-8, or is one JSON text that is damaged. */
export async function* recordsOf(path: string): AsyncGenerator<LogRecord> {
  try {
    yield* extname(path) === '.json' ? listed(path) : lines(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function* lines(path: string): AsyncGenerator<LogRecord> {
  const sessions = new SessionLines();
  let number = 0;
  for await (const line of textLines(path)) {
    const where = `line ${++number}`;
    if (line.trim() === '') continue;
    let value: unknown;
    try {
      value = parseExactly(line);
    } catch (error) {
      yield { where, problem: `it is not JSON (${(error as Error).message})` };
      continue;
    }
    if (!sessions.take(where, value)) yield { where, value };
  }
  yield* sessions.records();
}

/** One record may stand alone. */
async function* listed(path: string): AsyncGenerator<LogRecord> {
  const records = [parseExactly(utf8().decode(await readFile(path)))].flat();
  for (const [i, value] of records.entries()) yield { where: `record ${i + 1}`, value };
}

/**
 * Lines of a text in UTF-8, as JSON Lines have them: JSON leaves U+2028 within a text as it is, where Node's readline ends a line.
 * Throws what reading throws, and a TypeError where it is no UTF-8: put in place of such bytes, U+FFFD would make two ids one.
 */
async function* textLines(path: string): AsyncGenerator<string> {
  const decoder = utf8();
  let rest = '';
  for await (const bytes of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    const complete = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = complete.pop()!;
    yield* complete;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

const utf8 = () => new TextDecoder('utf-8', { fatal: true });

function unreadable(path: string, error: unknown) {
  const { code, message } = error as NodeJS.ErrnoException;
  const isForeign = code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
  const problem = isForeign ? 'it is no UTF-8; save it in that encoding' : `it cannot be read (${message})`;
  return reverieError('LOG_INVALID', { path, where: 'the file', problem }, error);
}
