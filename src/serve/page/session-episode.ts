// The episode a session is in, for the viewer: from what the server remembers of it.

import type { JsonObject } from '../../core/json.js';
import type { Face } from '../../core/kind.js';
import { initialStateOf, type Message, type ToolsAction, type ToolsObservation } from '../../env/index.js';
import { faceOf } from '../../kinds/index.js';
import type { Servable } from '../../run/serving/index.js';
import type { HistoryStep, SessionHistory, SessionState } from '../core/session-contract.js';
import { sessionKey } from '../core/session-ids.js';
import { answerView, messageView, otherInfo, StateTrace, toolsInfo, verdictView } from './episode-turns.js';

import type { EpisodeView, MessageView, TurnView } from './wire.js';

export interface SessionEpisodeOptions {
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
