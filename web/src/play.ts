// Sessions that are played by hand: what is asked of the native API, and the branches of an episode.

import { ask } from './api.js';

/** One line of play: a session, and where in it one can go back to. */
export interface Branch {
  readonly id: string;
  readonly env: string;
  readonly name: string;
  /** Snapshots, the latest last: of the start and after each act. */
  readonly trail: readonly string[];
}

export interface Start {
  readonly env: string;
  readonly task?: string;
  readonly seed?: number;
}

interface Turn {
  readonly terminated: boolean;
  readonly truncated: boolean;
}

const at = (id: string, verb = '') => `/v1/sessions/${encodeURIComponent(id)}${verb}`;

async function snapshotOf(id: string): Promise<string> {
  return (await ask<{ id: string }>(at(id, '/snapshot'), {})).id;
}

/** Opens a session and begins an episode. */
export async function begin({ env, task, seed }: Start, name: string): Promise<Branch> {
  const { id } = await ask<{ id: string }>('/v1/sessions', { env });
  await ask(at(id, '/reset'), { ...(task === undefined ? {} : { task }), ...(seed === undefined ? {} : { seed }) });
  return { id, env, name, trail: [await snapshotOf(id)] };
}

/** Acts as often as asked, or until the episode ends. */
export async function act(branch: Branch, action: unknown, times = 1): Promise<Branch> {
  for (let i = 0; i < times; i++) {
    const { terminated, truncated } = await ask<Turn>(at(branch.id, '/step'), { action });
    if (terminated || truncated) break;
  }
  return { ...branch, trail: [...branch.trail, await snapshotOf(branch.id)] };
}

/** Back to before the last act. */
export async function undo(branch: Branch): Promise<Branch> {
  const trail = branch.trail.slice(0, -1);
  await ask(at(branch.id, '/restore'), { snapshot: trail[trail.length - 1] });
  return { ...branch, trail };
}

/** A branch that goes on from here on its own. */
export async function fork(branch: Branch, name: string): Promise<Branch> {
  const { sessions } = await ask<{ sessions: { id: string }[] }>(at(branch.id, '/fork'), { count: 1 });
  return { ...branch, id: sessions[0].id, name };
}

export async function end({ id }: Branch): Promise<void> {
  await ask(at(id), undefined, 'DELETE');
}
