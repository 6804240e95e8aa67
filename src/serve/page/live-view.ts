// What the live page shows: counts, environments, and the sessions used last.

import type { Servable } from '../../run/index.js';
import type { SessionState } from '../core/session-contract.js';
import type { SessionTable } from '../core/session-table.js';
import type { ActivityLog, Tally } from './activity.js';
import type { EnvironmentRow, LiveView, SessionRow } from './wire.js';

/** Sessions listed at once. */
const LISTED = 100;

export interface LiveSource {
  readonly sessions: SessionTable;
  readonly activity: ActivityLog;
  readonly version: string;
}

export interface LiveFilter {
  readonly env?: string;
  readonly status?: string;
}

export function liveView({ sessions, activity, version }: LiveSource, filter: LiveFilter = {}): LiveView {
  const open = sessions.list();
  const counts = new Map<string, number>();
  for (const { env } of open) counts.set(env, (counts.get(env) ?? 0) + 1);
  const rows = [...open.map((one) => [one, false] as const), ...activity.closed.map((one) => [one, true] as const)]
    .map(([state, closed]) =>
      sessionRow(state, sessions.environments.get(state.env), activity.ofSession(state.id), closed),
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
