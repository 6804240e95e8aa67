// What the live page shows: counts, environments, and the sessions used last.

import type { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import type { Servable } from '../../run/serving/servable.js';
import { type SessionEvent, type SessionState, sessionKey } from '../core/session-contract.js';
import type { SessionTable } from '../core/sessions.js';
import type { Activity, EnvironmentRow, LiveView, SessionRow } from './wire.js';

/** Sessions listed at once. */
const LISTED = 100;

interface LiveSource {
  readonly sessions: SessionTable;
  readonly activity: ActivityLog;
  readonly version: string;
}

interface LiveFilter {
  readonly env?: string;
  readonly status?: string;
}

export function liveView({ sessions, activity, version }: LiveSource, filter: LiveFilter = {}): LiveView {
  const open = sessions.list();
  const counts = new Map<string, number>();
  for (const { env } of open) counts.set(env, (counts.get(env) ?? 0) + 1);
  const rows = [...open.map((one) => [one, false] as const), ...activity.closed.map((one) => [one, true] as const)]
    .map(([state, closed]) =>
      sessionRow(
        state,
        sessions.environments.get(state.env),
        activity.ofSession(sessionKey(state.owner, state.id)),
        closed,
      ),
    )
    .filter((row) => filter.env === undefined || row.env === filter.env)
    .filter((row) => filter.status === undefined || row.status === filter.status)
    .sort((a, b) => b.lastUsedAt - a.lastUsedAt);
  const { steps, episodes, failures } = activity.totals;
  return {
    version,
    at: Date.now(),
    counts: sessions.counts,
    totals: { steps, episodes, failures },
    activity: activity.recent(),
    environments: [...sessions.environments.values()].map((one) =>
      environmentRow(one, counts.get(one.name) ?? 0, activity.ofEnvironment(one.name)),
    ),
    sessions: rows.slice(0, LISTED),
    sessionsInAll: rows.length,
  };
}

function sessionRow(state: SessionState, served: Servable | undefined, tally: Tally, closed: boolean): SessionRow {
  const { id, env, owner, task, seed, stepCount, return: sum, parent, lastUsedAt } = state;
  return {
    key: sessionKey(owner, id),
    id,
    env,
    owner,
    family: served?.family ?? 'vector',
    source: served?.source ?? 'real',
    status: closed ? 'closed' : state.status,
    task,
    seed,
    stepCount,
    return: sum,
    ...(parent === undefined ? {} : { parent }),
    answered: tally.answered,
    failures: tally.failures,
    ...(tally.lastFailure === undefined ? {} : { lastFailure: tally.lastFailure }),
    lastUsedAt,
  };
}

function environmentRow(served: Servable, sessions: number, { steps, failures, answered }: Tally): EnvironmentRow {
  const { name, family, source, description, version, tasks } = served;
  return { name, family, source, description, version, tasks: tasks.length, sessions, steps, failures, answered };
}

// What happens in sessions, counted as it happens: second by second for the chart, by session and environment for tables.

/** Seconds that are kept. */
const ACTIVITY_SECONDS = 300;
const REMEMBERED_SESSIONS = 10_000;
const REMEMBERED_CLOSED = 50;

interface Tally {
  steps: number;
  episodes: number;
  failures: number;
  lastFailure?: string;
  readonly answered: Record<string, number>;
}

/** What is known of a session. */
interface Counted extends Tally {
  /** The second it was used last. */
  usedAt: number;
}

interface Second {
  at: number;
  steps: number;
  failures: number;
  waiting: number;
}

interface ActivitySource {
  readonly events: EventEmitter<{ event: [SessionEvent] }>;
  /** How many resets wait for a slot. */
  readonly waiting: () => number;
  /** Whether an environment is real or dreamt. */
  readonly sourceOf: (env: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class ActivityLog {
  readonly totals = emptyTally();
  /** Changes with every event. */
  revision = 0;
  private readonly seconds: Second[] = [];
  private readonly bySession = new LRUCache<string, Counted>({ max: REMEMBERED_SESSIONS });
  private readonly byEnv = new Map<string, Tally>();
  private readonly gone = new LRUCache<string, SessionState>({ max: REMEMBERED_CLOSED });
  private readonly listener = (event: SessionEvent) => this.count(event);

  constructor(private readonly source: ActivitySource) {
    source.events.on('event', this.listener);
  }

  /** Sessions closed last, the latest first. */
  get closed(): readonly SessionState[] {
    return [...this.gone.values()];
  }

  /** @param key  as `sessionKey` makes it */
  ofSession(key: string): Tally {
    return this.bySession.peek(key) ?? emptyTally();
  }

  ofEnvironment(name: string): Tally {
    return this.byEnv.get(name) ?? emptyTally();
  }

  /** The last seconds; the one under way is left out. */
  recent(): Activity {
    const now = this.second().at;
    const known = new Map(this.seconds.map((one) => [one.at, one]));
    const seconds = Array.from({ length: ACTIVITY_SECONDS }, (_, i) => known.get(now - ACTIVITY_SECONDS + i));
    const of = (name: 'steps' | 'failures' | 'waiting') => seconds.map((one) => one?.[name] ?? 0);
    return { steps: of('steps'), failures: of('failures'), waiting: of('waiting') };
  }

  close(): void {
    this.source.events.off('event', this.listener);
  }

  private count(event: SessionEvent): void {
    this.revision++;
    const { session, kind } = event;
    const second = this.second();
    const key = sessionKey(session.owner, session.id);
    const tallies = [this.totals, this.tallyOf(key, second.at), this.envTallyOf(session.env)];
    if (kind === 'step') {
      second.steps++;
      const backends = backendsOf(event.turn.info) ?? [this.source.sourceOf(session.env)];
      for (const tally of tallies) countStep(tally, backends);
    } else if (kind === 'reset') {
      for (const tally of tallies) tally.episodes++;
    } else if (kind === 'failed') {
      second.failures++;
      for (const tally of tallies) countFailure(tally, event.code);
    } else if (kind === 'closed') this.gone.set(key, session);
  }

  private second(): Second {
    const at = Math.floor(this.source.now() / 1000);
    const last = this.seconds.at(-1);
    const waiting = this.source.waiting();
    if (last?.at === at) {
      last.waiting = Math.max(last.waiting, waiting);
      return last;
    }
    const next = { at, steps: 0, failures: 0, waiting };
    this.seconds.push(next);
    while (this.seconds.length > ACTIVITY_SECONDS + 1) this.seconds.shift();
    return next;
  }

  /** Once a second is enough to know which session was used least recently. */
  private tallyOf(key: string, second: number): Tally {
    const known = this.bySession.peek(key);
    if (known?.usedAt === second) return known;
    const tally = known ?? { ...emptyTally(), usedAt: second };
    tally.usedAt = second;
    this.bySession.set(key, tally);
    return tally;
  }

  private envTallyOf(name: string): Tally {
    const known = this.byEnv.get(name);
    if (known !== undefined) return known;
    const tally = emptyTally();
    this.byEnv.set(name, tally);
    return tally;
  }
}

/** Who answered a step: the backend of each call; without calls, the user. undefined for numbers: what is served. */
function backendsOf(info: unknown): readonly string[] | undefined {
  const { predictions } = info as Partial<ToolsStepInfo>;
  if (predictions === undefined) return undefined;
  return predictions.length === 0 ? ['user'] : predictions.map(({ backend }) => backend);
}

function countStep(tally: Tally, backends: readonly string[]): void {
  tally.steps++;
  for (const backend of backends) tally.answered[backend] = (tally.answered[backend] ?? 0) + 1;
}

function countFailure(tally: Tally, code: string): void {
  tally.failures++;
  tally.lastFailure = code;
}

function emptyTally(): Tally {
  return { steps: 0, episodes: 0, failures: 0, answered: {} };
}
