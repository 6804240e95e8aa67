// Episodes as the viewer shows them: the one a session is in, and what it shares with recorded ones.

import type { Json } from '../../core/canonical-json.js';
import type { Message } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import type { ToolsAction, ToolsObservation, ToolsStepInfo } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import { type HistoryStep, type SessionHistory, sessionKey } from '../core/session-contract.js';
import type { AnswerView, EpisodeView, MessageView, TurnView, WireJson } from './wire.js';

export function sessionEpisode(served: Servable, { session, steps }: SessionHistory, isOpen: boolean): EpisodeView {
  const { parent, owner } = session;
  const notes: string[] = [];
  if (steps.length === 0) notes.push('Nothing has happened in this session yet, or it is no longer kept.');
  else if (steps[0].index > 0) notes.push(`Steps before step ${steps[0].index} are not kept.`);
  return {
    title: `${served.name} · session ${session.id}`,
    env: served.name,
    family: served.family,
    source: served.source,
    task: session.task,
    seed: session.seed,
    status: isOpen ? session.status : 'closed',
    return: session.return,
    turns: steps.map((step, i) => turnView(served, step, i === 0)),
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

/** What has a place of its own. */
const SHOWN_ELSEWHERE = ['predictions', 'verdict', 'stateHash', 'userCost', 'task', 'seed'];

function turnView(served: Servable, step: HistoryStep, isFirst: boolean): TurnView {
  const { index, action, observation, reward, terminated, truncated, seconds, info } = step;
  const { predictions = [], stateHash } = toolsInfo(step);
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
    answers: predictions.map((one, i) => answerView(isTurn ? (calls[i]?.name ?? '') : 'act', one)),
    stateHash,
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

/** Longest text of a value that is sent; longer ones are cut. */
const LONGEST_VALUE = 2_000;

/** @param tool  name of the tool that was called */
export function answerView(tool: string, prediction: Prediction): AnswerView {
  const { backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning } = prediction;
  const changes = prediction.operations.map((one) => {
    return { op: one.op, path: one.path, ...('value' in one && { after: shortened(one.value) }) };
  });
  return { tool, backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning, changes };
}

function shortened(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_VALUE)} …`;
}
