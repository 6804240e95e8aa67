// What the live page shows: counts, environments, and the sessions used last.

import { LRUCache } from 'lru-cache';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import { type SessionEvent, type SessionState, sessionKey } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import type { LiveView, SessionRow } from './wire.js';

/** Sessions listed at once. */
const LISTED = 100;
/** Seconds that are kept. */
const ACTIVITY_SECONDS = 300;
const REMEMBERED_SESSIONS = 10_000;
const REMEMBERED_CLOSED = 50;

interface LiveFilter {
  readonly env?: string;
  readonly status?: string;
}

interface Tally {
  steps: number;
  episodes: number;
  failures: number;
  lastFailure?: string;
  readonly answered: Record<string, number>;
}

interface Second {
  at: number;
  steps: number;
  failures: number;
  waiting: number;
}

/** Counts what happens in sessions as it happens: second by second for the chart, by session and environment for tables. */
export class LiveLog {
  /** Changes with every event. */
  revision = 0;
  private readonly totals = emptyTally();
  private readonly seconds: Second[] = [];
  private readonly bySession = new LRUCache<string, Tally>({ max: REMEMBERED_SESSIONS });
  private readonly byEnv = new Map<string, Tally>();
  private readonly gone = new LRUCache<string, SessionState>({ max: REMEMBERED_CLOSED });
  private readonly listener = (event: SessionEvent) => this.count(event);

  constructor(
    private readonly sessions: Sessions,
    private readonly version: string,
  ) {
    sessions.events.on('event', this.listener);
  }

  close(): void {
    this.sessions.events.off('event', this.listener);
  }

  view({ env, status }: LiveFilter = {}): LiveView {
    const { sessions } = this;
    const open = sessions.list();
    const rows = [...open.map((one) => this.row(one, one.status)), ...this.closed()]
      .filter((row) => (env ?? row.env) === row.env && (status ?? row.status) === row.status)
      .sort((a, b) => b.lastUsedAt - a.lastUsedAt);
    const { steps, episodes, failures } = this.totals;
    return {
      version: this.version,
      at: Date.now(),
      counts: sessions.counts,
      totals: { steps, episodes, failures },
      activity: this.recent(),
      environments: [...sessions.environments.values()].map(({ name, family, source, description, version, tasks }) => {
        const tally = this.byEnv.get(name) ?? emptyTally();
        const count = open.filter((one) => one.env === name).length;
        const about = { name, family, source, description, version, tasks: tasks.length, sessions: count };
        return { ...about, steps: tally.steps, failures: tally.failures, answered: tally.answered };
      }),
      sessions: rows.slice(0, LISTED),
      sessionsInAll: rows.length,
    };
  }

  /** Sessions closed last, the latest first. */
  private closed(): SessionRow[] {
    return [...this.gone.values()].map((one) => this.row(one, 'closed'));
  }

  private row(state: SessionState, status: SessionRow['status']): SessionRow {
    const { id, env, owner, task, seed, stepCount, return: sum, parent, lastUsedAt } = state;
    const served = this.sessions.environments.get(env);
    const key = sessionKey(owner, id);
    const { answered, failures, lastFailure } = this.bySession.peek(key) ?? emptyTally();
    const { family = 'vector', source = 'real' } = served ?? {};
    const about = { key, id, env, owner, family, source, status, task, seed, stepCount, return: sum, parent };
    return { ...about, answered, failures, lastFailure, lastUsedAt };
  }

  /** The last seconds; the one under way is left out. */
  private recent(): LiveView['activity'] {
    const now = this.second().at;
    const known = new Map(this.seconds.map((one) => [one.at, one]));
    const seconds = Array.from({ length: ACTIVITY_SECONDS }, (_, i) => known.get(now - ACTIVITY_SECONDS + i));
    const of = (name: 'steps' | 'failures' | 'waiting') => seconds.map((one) => one?.[name] ?? 0);
    return { steps: of('steps'), failures: of('failures'), waiting: of('waiting') };
  }

  private count(event: SessionEvent): void {
    this.revision++;
    const { session, kind } = event;
    const second = this.second();
    const key = sessionKey(session.owner, session.id);
    for (const tally of [this.totals, this.ofSession(key), this.ofEnvironment(session.env)]) {
      if (kind === 'reset') tally.episodes++;
      else if (kind === 'failed') {
        tally.failures++;
        tally.lastFailure = event.code;
      } else if (kind === 'step') {
        tally.steps++;
        const backends = backendsOf(event.turn.info) ?? [
          this.sessions.environments.get(session.env)?.source ?? 'unknown',
        ];
        for (const backend of backends) tally.answered[backend] = (tally.answered[backend] ?? 0) + 1;
      }
    }
    if (kind === 'step') second.steps++;
    else if (kind === 'failed') second.failures++;
    else if (kind === 'closed') this.gone.set(key, session);
  }

  private second(): Second {
    const at = Math.floor(Date.now() / 1000);
    const { waiting } = this.sessions.counts;
    const last = this.seconds.at(-1);
    if (last?.at === at) {
      last.waiting = Math.max(last.waiting, waiting);
      return last;
    }
    const next = { at, steps: 0, failures: 0, waiting };
    this.seconds.push(next);
    while (this.seconds.length > ACTIVITY_SECONDS + 1) this.seconds.shift();
    return next;
  }

  private ofSession(key: string): Tally {
    const tally = this.bySession.get(key) ?? emptyTally();
    this.bySession.set(key, tally);
    return tally;
  }

  private ofEnvironment(name: string): Tally {
    const tally = this.byEnv.get(name) ?? emptyTally();
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

function emptyTally(): Tally {
  return { steps: 0, episodes: 0, failures: 0, answered: {} };
}
