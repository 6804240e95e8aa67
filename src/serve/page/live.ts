// What the live page shows: counts, environments, the sessions used last, and the episode that one is in.

import type { Json } from '../../core/canonical-json.js';
import type { Message } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import type { ToolsAction, ToolsObservation, ToolsStepInfo } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import type { HistoryStep, SessionHistory } from '../core/history.js';
import { type SessionEvent, sessionKey, type Turn } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { encodeObservation } from '../core/tasks.js';
import type { AnswerView, EpisodeView, LiveView, MessageView, TurnView, WireJson } from './wire.js';

/** Sessions listed at once. */
const LISTED = 100;

const emptyTally = () => ({ steps: 0, episodes: 0, failures: 0, answered: {} as Record<string, number> });

/** Counts what happens in sessions as it happens, by environment. */
export class LiveLog {
  /** Changes with every event. */
  revision = 0;
  private readonly byEnv: ReadonlyMap<string, ReturnType<typeof emptyTally>>;
  private readonly listener = (event: SessionEvent) => this.count(event);

  constructor(
    private readonly sessions: Sessions,
    private readonly version: string,
  ) {
    this.byEnv = new Map([...sessions.environments.keys()].map((name) => [name, emptyTally()]));
    sessions.events.on('event', this.listener);
  }

  close(): void {
    this.sessions.events.off('event', this.listener);
  }

  view(): LiveView {
    const { environments, counts } = this.sessions;
    const open = this.sessions.list();
    const latest = open.toSorted((a, b) => b.lastUsedAt - a.lastUsedAt).slice(0, LISTED);
    return {
      version: this.version,
      at: Date.now(),
      counts,
      environments: [...environments.values()].map(({ name, family, source, description, tasks }) => {
        const sessions = open.filter((one) => one.env === name).length;
        return { name, family, source, description, tasks: tasks.length, sessions, ...this.byEnv.get(name)! };
      }),
      sessions: latest.map((one) => {
        return { ...one, key: sessionKey(one.owner, one.id), source: environments.get(one.env)!.source };
      }),
      sessionsInAll: open.length,
    };
  }

  private count(event: SessionEvent): void {
    this.revision++;
    const { env } = event.session;
    const tally = this.byEnv.get(env)!;
    if (event.kind === 'reset') tally.episodes++;
    else if (event.kind === 'failed') tally.failures++;
    else if (event.kind === 'step') {
      tally.steps++;
      const { predictions } = event.turn.info as Partial<ToolsStepInfo>;
      const backends = predictions?.map(({ backend }) => backend) ?? [this.sessions.environments.get(env)!.source];
      // Without calls the user answers.
      for (const backend of backends.length === 0 ? ['user'] : backends) {
        tally.answered[backend] = (tally.answered[backend] ?? 0) + 1;
      }
    }
  }
}

export function sessionEpisode(served: Servable, { session, steps }: SessionHistory, isOpen: boolean): EpisodeView {
  const { parent, owner } = session;
  const notes: string[] = [];
  if (steps.length === 0) notes.push('Nothing has happened in this session yet, or it is no longer kept.');
  else if (steps[0].turn.stepCount > 0) notes.push(`Steps before step ${steps[0].turn.stepCount} are not kept.`);
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
    verdict: (steps.at(-1)?.turn.info as Partial<ToolsStepInfo> | undefined)?.verdict,
    notes,
    session: sessionKey(owner, session.id),
    ...(parent === undefined ? {} : { parent: sessionKey(owner, parent) }),
  };
}

/** What has a place of its own. */
const SHOWN_ELSEWHERE = ['predictions', 'verdict', 'stateHash', 'userCost', 'task', 'seed'];

function turnView(served: Servable, step: HistoryStep, isFirst: boolean): TurnView {
  const { action, turn, seconds } = step;
  const { stepCount, reward, terminated, truncated, info } = turn;
  const { predictions = [], stateHash } = info as Partial<ToolsStepInfo>;
  const isTurn = faceOf(served).acts === 'turn';
  const calls = (action as ToolsAction | null)?.toolCalls ?? [];
  const shown = Object.entries(info).filter(([key]) => !SHOWN_ELSEWHERE.includes(key));
  return {
    step: stepCount,
    ...(!isTurn && { observation: encodeObservation(served, turn.observation) as readonly number[] | string }),
    ...(!isTurn && !isFirst && { action: asJson(action) as readonly number[] | string }),
    messages: isTurn ? messagesOf(action as ToolsAction | null, turn, isFirst) : [],
    reward,
    terminated,
    truncated,
    answers: predictions.map((one, i) => answerView(isTurn ? (calls[i]?.name ?? '') : 'act', one)),
    stateHash,
    seconds,
    info: Object.fromEntries(shown.map(([key, value]) => [key, asJson(value)])),
  };
}

/** Rows as lists. */
function asJson(value: unknown): WireJson {
  return value instanceof Float32Array ? Array.from(value) : (value as WireJson);
}

function messagesOf(action: ToolsAction | null, { observation }: Turn, isFirst: boolean): MessageView[] {
  const shown = ((observation as ToolsObservation | null)?.messages ?? []).map(messageView);
  if (isFirst || action === null || shown[0]?.role === 'assistant') return shown;
  return [messageView({ ...action, role: 'assistant' } as Message), ...shown];
}

function messageView(message: Message): MessageView {
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
function answerView(tool: string, prediction: Prediction): AnswerView {
  const { backend, modelVersion, confidence, why, isError, refused, repaired, reasoning } = prediction;
  const changes = prediction.operations.map((one) => {
    return { op: one.op, path: one.path, ...('value' in one && { after: shortened(one.value) }) };
  });
  return { tool, backend, modelVersion, confidence, why, isError, refused, repaired, reasoning, changes };
}

function shortened(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_VALUE)} …`;
}
