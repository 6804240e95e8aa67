// The episode a session is in, for the viewer: from what the server remembers of it.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import type { Face } from '../../core/kind.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state-hash.js';
import type { Verdict } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/task-states.js';
import type { ToolsAction, ToolsObservation, ToolsStepInfo } from '../../env/tools/tools-family.js';
import { stateChanges } from '../../env/tools/verify-episode.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/serving/servable.js';
import { type HistoryStep, type SessionHistory, type SessionState, sessionKey } from '../core/session-contract.js';
import type { AnswerView, ChangeView, EpisodeView, MessageView, TurnView, VerdictView, WireJson } from './wire.js';

interface SessionEpisodeOptions {
  readonly served: Servable;
  readonly history: SessionHistory;
  readonly isOpen: boolean;
  readonly hasScene: boolean;
}

export function sessionEpisode({ served, history, isOpen, hasScene }: SessionEpisodeOptions): EpisodeView {
  const { session, steps } = history;
  const isWhole = steps[0]?.index === 0;
  const trace = new StateTrace(isWhole ? initialState(served, session) : undefined);
  const turns = steps.map((step, i) => turnView(served, step, i === 0, trace));
  const verdict = toolsInfo(steps.at(-1)?.info ?? null).verdict;
  const { parent } = session;
  return {
    title: `${served.name} · session ${session.id}`,
    env: served.name,
    family: served.family,
    source: served.source,
    task: session.task,
    seed: session.seed,
    status: isOpen ? session.status : 'closed',
    return: session.return,
    turns,
    ...(verdict === undefined ? {} : { verdict: verdictView(verdict) }),
    notes: notesOf(steps, isWhole, trace),
    facts: factsOf(served, session),
    session: sessionKey(session.owner, session.id),
    ...(parent === undefined ? {} : { parent: sessionKey(session.owner, parent) }),
    hasScene,
  };
}

function initialState({ domain }: Servable, { task: id }: SessionState): JsonObject | undefined {
  const task = domain?.tasks.find((one) => one.id === id);
  return domain === undefined || task === undefined ? undefined : initialStateOf(domain, task);
}

function turnView(served: Servable, step: HistoryStep, isFirst: boolean, trace: StateTrace): TurnView {
  const { index, reward, terminated, truncated, seconds, info } = step;
  const { predictions = [], stateHash } = toolsInfo(info);
  const changes = trace.step(predictions, stateHash);
  const { acts } = faceOf(served);
  const tools = callsOf(step, acts);
  return {
    step: index,
    ...(acts === 'turn' ? {} : rowsOf(step, isFirst)),
    messages: acts === 'turn' ? messagesOf(step, isFirst) : [],
    reward,
    terminated,
    truncated,
    answers: predictions.map((one, i) => answerView(tools[i] ?? '', one, changes[i])),
    ...(stateHash === undefined ? {} : { stateHash }),
    seconds,
    info: otherInfo(info),
  };
}

/** Action and observation of families whose steps are no conversation. */
function rowsOf({ action, observation }: HistoryStep, isFirst: boolean): Pick<TurnView, 'action' | 'observation'> {
  const shown = observation as readonly number[] | string;
  return isFirst ? { observation: shown } : { action: action as readonly number[] | string, observation: shown };
}

function messagesOf({ action, observation }: HistoryStep, isFirst: boolean): MessageView[] {
  const shown = ((observation as unknown as ToolsObservation | null)?.messages ?? []).map(messageView);
  if (isFirst || action === null) return shown;
  const said = shown[0]?.role === 'assistant' ? [] : [spoken(action as unknown as ToolsAction)];
  return [...said, ...shown];
}

function spoken(action: ToolsAction): MessageView {
  return messageView({ ...action, role: 'assistant' } as Message);
}

function callsOf({ action }: HistoryStep, acts: Face['acts']): string[] {
  if (acts !== 'turn') return ['act'];
  return ((action as unknown as ToolsAction | null)?.toolCalls ?? []).map(({ name }) => name);
}

function notesOf(steps: readonly HistoryStep[], isWhole: boolean, trace: StateTrace): string[] {
  const notes: string[] = [];
  if (steps.length === 0) notes.push('Nothing has happened in this session yet, or it is no longer kept.');
  else if (!isWhole)
    notes.push(`Steps before step ${steps[0].index} are not kept, so states before changes are not known.`);
  if (trace.lost)
    notes.push('The state could not be followed to the end: some changes are shown without what was before.');
  return notes;
}

function factsOf({ version }: Servable, session: SessionState): EpisodeView['facts'] {
  const opened = new Date(session.openedAt).toISOString();
  return [
    ['session', session.id],
    ['episode', session.episodeId ?? 'none yet'],
    ['owner', session.owner],
    ['opened', opened],
    ...(session.parent === undefined ? [] : [['forked from', session.parent] as const]),
    ['version', version],
  ];
}

export function messageView(message: Message): MessageView {
  const { role, content } = message;
  if (message.role === 'tool') return { role, content, name: message.name, isError: message.isError ?? false };
  if (message.role !== 'assistant') return { role, content };
  const { reasoning, toolCalls } = message;
  return {
    role,
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map(callView) }),
  };
}

function callView({ id, name, arguments: given }: ToolCall) {
  return { id, name, arguments: given };
}

/** @param tool  name of the tool that was called */
export function answerView(tool: string, prediction: Prediction, changes: readonly ChangeView[]): AnswerView {
  const { backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning } = prediction;
  return {
    tool,
    backend,
    modelVersion,
    confidence,
    why,
    isError,
    ...(refused === undefined ? {} : { refused }),
    ...(repaired === undefined ? {} : { repaired }),
    ...(stateless === undefined ? {} : { stateless }),
    ...(reasoning === undefined ? {} : { reasoning }),
    changes,
  };
}

export function verdictView({ reward, checks, judge }: Verdict): VerdictView {
  return { reward, checks, ...(judge === undefined ? {} : { judge }) };
}

const TOLD_ELSEWHERE = ['predictions', 'verdict', 'stateHash', 'userCost', 'task', 'seed'];

/** What an environment says of a step beside what has its own place. */
function otherInfo(info: Json): Readonly<Record<string, WireJson>> {
  const entries = Object.entries((info ?? {}) as Record<string, WireJson>);
  return Object.fromEntries(entries.filter(([key]) => !TOLD_ELSEWHERE.includes(key)));
}

/** A step's info in JSON, as an environment of tools gives it. */
function toolsInfo(info: Json): Partial<ToolsStepInfo> {
  return (info ?? {}) as unknown as Partial<ToolsStepInfo>;
}

// Changes of a typed state, step by step, with what was there before: from the state an episode began in and the
// operations of its answers.

/** Longest text of a value that is sent; longer ones are cut. */
const LONGEST_VALUE = 2_000;

/** Follows the state of an episode; loses it where it does not come out as it was recorded. */
export class StateTrace {
  private state: JsonObject | undefined;
  /** Whether the state was known at first and was lost. */
  lost = false;

  /** @param initial  undefined where it is not known: changes are told without what was there before */
  constructor(initial: JsonObject | undefined) {
    this.state = initial;
  }

  /**
   * What each answer of a step changed.
   * @param hash  of the state after the step, as it was recorded
   */
  step(answers: readonly Pick<Prediction, 'operations'>[], hash: string | undefined): ChangeView[][] {
    if (this.state === undefined) return answers.map(told);
    try {
      let state = this.state;
      const changes = answers.map(({ operations }) => {
        const before = state;
        state = applyOperations(before, operations);
        return changesBetween(before, state);
      });
      if (hash !== undefined && stateHash(state) !== hash) return this.lose(answers);
      this.state = state;
      return changes;
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      return this.lose(answers);
    }
  }

  private lose(answers: readonly Pick<Prediction, 'operations'>[]): ChangeView[][] {
    this.state = undefined;
    this.lost = true;
    return answers.map(told);
  }
}

/** Operations alone, where what was there before is not known. */
function told({ operations }: Pick<Prediction, 'operations'>): ChangeView[] {
  return operations.map((operation) =>
    change(operation.op, operation.path, undefined, 'value' in operation ? operation.value : undefined),
  );
}

function changesBetween(before: JsonObject, after: JsonObject): ChangeView[] {
  return stateChanges(before, after).map(({ op, path, value }) =>
    change(op, pointerOf(path), op === 'add' ? undefined : partOf(before, path), op === 'remove' ? undefined : value),
  );
}

function change(op: string, path: string, before: Json | undefined, after: Json | undefined): ChangeView {
  return {
    op,
    path,
    ...(before === undefined ? {} : { before: shortened(before) }),
    ...(after === undefined ? {} : { after: shortened(after) }),
  };
}

function shortened(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_VALUE)} …`;
}

function partOf(state: JsonObject, path: readonly (string | number)[]): Json | undefined {
  let value: Json | undefined = state;
  for (const key of path) value = (value as Record<string | number, Json> | undefined)?.[key];
  return value;
}

function pointerOf(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
