// Episodes as the viewer shows them: the one a session is in, and what it shares with recorded ones.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { Message } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { ToolsAction, ToolsObservation, ToolsStepInfo } from '../../env/tools/tools-family.js';
import { stateChanges } from '../../env/tools/verify-episode.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import { type HistoryStep, type SessionHistory, type SessionState, sessionKey } from '../core/session-contract.js';
import type { AnswerView, ChangeView, EpisodeView, MessageView, TurnView, WireJson } from './wire.js';

export function sessionEpisode(served: Servable, { session, steps }: SessionHistory, isOpen: boolean): EpisodeView {
  const isWhole = steps[0]?.index === 0;
  const trace = new StateTrace(isWhole ? initialState(served, session) : undefined);
  const turns = steps.map((step, i) => turnView(served, step, i === 0, trace));
  const { parent, owner } = session;
  const notes: string[] = [];
  if (steps.length === 0) notes.push('Nothing has happened in this session yet, or it is no longer kept.');
  else if (!isWhole)
    notes.push(`Steps before step ${steps[0].index} are not kept, so states before changes are not known.`);
  if (trace.lost)
    notes.push('The state could not be followed to the end: some changes are shown without what was before.');
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
    verdict: toolsInfo(steps.at(-1)).verdict,
    notes,
    facts: [
      ['session', session.id],
      ['episode', session.episodeId ?? 'none yet'],
      ['owner', owner],
      ['opened', new Date(session.openedAt).toISOString()],
      ...(parent === undefined ? [] : [['forked from', parent] as const]),
      ['version', served.version],
    ],
    session: sessionKey(owner, session.id),
    ...(parent === undefined ? {} : { parent: sessionKey(owner, parent) }),
  };
}

function initialState({ domain }: Servable, { task: id }: SessionState): JsonObject | undefined {
  const task = domain?.tasks.find((one) => one.id === id);
  return domain === undefined || task === undefined ? undefined : initialStateOf(domain, task);
}

/** What has a place of its own. */
const SHOWN_ELSEWHERE = ['predictions', 'verdict', 'stateHash', 'userCost', 'task', 'seed'];

function turnView(served: Servable, step: HistoryStep, isFirst: boolean, trace: StateTrace): TurnView {
  const { index, action, observation, reward, terminated, truncated, seconds, info } = step;
  const { predictions = [], stateHash: hash } = toolsInfo(step);
  const changes = trace.step(predictions, hash);
  const isTurn = faceOf(served).acts === 'turn';
  const calls = (action as unknown as ToolsAction | null)?.toolCalls ?? [];
  const others = Object.entries((info ?? {}) as Record<string, WireJson>);
  return {
    step: index,
    ...(!isTurn && { observation: observation as readonly number[] | string }),
    ...(!isTurn && !isFirst && { action: action as readonly number[] | string }),
    messages: isTurn ? messagesOf(step, isFirst) : [],
    reward,
    terminated,
    truncated,
    answers: predictions.map((one, i) => answerView(isTurn ? (calls[i]?.name ?? '') : 'act', one, changes[i])),
    stateHash: hash,
    seconds,
    info: Object.fromEntries(others.filter(([key]) => !SHOWN_ELSEWHERE.includes(key))),
  };
}

function messagesOf({ action, observation }: HistoryStep, isFirst: boolean): MessageView[] {
  const shown = ((observation as unknown as ToolsObservation | null)?.messages ?? []).map(messageView);
  if (isFirst || action === null || shown[0]?.role === 'assistant') return shown;
  return [messageView({ ...(action as unknown as ToolsAction), role: 'assistant' } as Message), ...shown];
}

/** A step's info in JSON, as an environment of tools gives it. */
function toolsInfo(step: HistoryStep | undefined): Partial<ToolsStepInfo> {
  return (step?.info ?? {}) as unknown as Partial<ToolsStepInfo>;
}

export function messageView(message: Message): MessageView {
  const { role, content } = message;
  if (message.role === 'tool') return { role, content, name: message.name, isError: message.isError ?? false };
  if (message.role !== 'assistant') return { role, content };
  const { reasoning, toolCalls } = message;
  const calls = toolCalls?.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
  return { role, content, reasoning, toolCalls: calls };
}

/** @param tool  name of the tool that was called */
export function answerView(tool: string, prediction: Prediction, changes: readonly ChangeView[]): AnswerView {
  const { backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning } = prediction;
  return { tool, backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning, changes };
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

  /** @param initial  undefined where it is not known: changes are shown without what was there before */
  constructor(initial: JsonObject | undefined) {
    this.state = initial;
  }

  /**
   * What each answer of a step changed.
   * @param hash  of the state after the step, as it was recorded
   */
  step(answers: readonly Pick<Prediction, 'operations'>[], hash: string | undefined): ChangeView[][] {
    if (this.state === undefined) return answers.map(operationsAlone);
    try {
      let state = this.state;
      const changes = answers.map(({ operations }) => {
        const before = state;
        state = applyOperations(before, operations);
        return stateChanges(before, state).map(({ op, path, value }) =>
          change(
            op,
            pointerOf(path),
            op === 'add' ? undefined : partOf(before, path),
            op === 'remove' ? undefined : value,
          ),
        );
      });
      if (hash === undefined || stateHash(state) === hash) {
        this.state = state;
        return changes;
      }
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
    }
    this.state = undefined;
    this.lost = true;
    return answers.map(operationsAlone);
  }
}

function operationsAlone({ operations }: Pick<Prediction, 'operations'>): ChangeView[] {
  return operations.map((one) => change(one.op, one.path, undefined, 'value' in one ? one.value : undefined));
}

function change(op: string, path: string, before: Json | undefined, after: Json | undefined): ChangeView {
  return { op, path, before: shortened(before), after: shortened(after) };
}

function shortened(value: Json | undefined): Json | undefined {
  if (value === undefined) return undefined;
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
