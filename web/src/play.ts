// Sessions that are played by hand: what is asked of the native API, and the branches of an episode.

import { ask } from './api.js';

/** One line of play: a session, and where in it one can go back to. */
export interface Branch {
  readonly id: string;
  readonly env: string;
  readonly name: string;
  /** Snapshots, the latest last: of the start and after each act. */
  readonly trail: readonly string[];
  /** Length of the trail with which the episode ended; absent while it runs. */
  readonly ended?: number;
  /** The same task in another environment, where the same is done. */
  readonly beside?: Branch;
}

export interface Start {
  readonly env: string;
  readonly task?: string;
  readonly seed?: number;
  /** Another environment in which the same is done. */
  readonly beside?: string;
}

interface Turn {
  readonly terminated: boolean;
  readonly truncated: boolean;
}

const at = (id: string, verb = '') => `/v1/sessions/${encodeURIComponent(id)}${verb}`;

async function snapshotOf(id: string): Promise<string> {
  return (await ask<{ id: string }>(at(id, '/snapshot'), {})).id;
}

/** Opens a session, and one beside it where that is asked for, and begins an episode. */
export async function begin({ beside, ...start }: Start, name: string): Promise<Branch> {
  const branch = await begun(start, name);
  return beside === undefined ? branch : { ...branch, beside: await begun({ ...start, env: beside }, name) };
}

async function begun({ env, task, seed }: Start, name: string): Promise<Branch> {
  const { id } = await ask<{ id: string }>('/v1/sessions', { env });
  await ask(at(id, '/reset'), { ...(task === undefined ? {} : { task }), ...(seed === undefined ? {} : { seed }) });
  return { id, env, name, trail: [await snapshotOf(id)] };
}

/** What is done to a branch and to the one beside it, at once. */
async function both(branch: Branch, work: (one: Branch) => Promise<Branch>): Promise<Branch> {
  const { beside, ...alone } = branch;
  const [own, other] = await Promise.all([work(alone), beside && work(beside)]);
  return { ...own, ...(other && { beside: other }) };
}

/** Acts as often as asked, or until the episode ends. What has ended waits for what is beside it. */
export function act(branch: Branch, action: unknown, times = 1): Promise<Branch> {
  return both(branch, async (one) => {
    if (isOver(one)) return { ...one, trail: [...one.trail, one.trail[one.trail.length - 1]] };
    let isEnd = false;
    for (let i = 0; i < times && !isEnd; i++) {
      const { terminated, truncated } = await ask<Turn>(at(one.id, '/step'), { action });
      isEnd = terminated || truncated;
    }
    const trail = [...one.trail, await snapshotOf(one.id)];
    return { ...one, trail, ...(isEnd && { ended: trail.length }) };
  });
}

function isOver({ ended }: Branch): boolean {
  return ended !== undefined;
}

/** Back to before the last act. */
export function undo(branch: Branch): Promise<Branch> {
  return both(branch, async ({ ended, ...one }) => {
    const trail = one.trail.slice(0, -1);
    await ask(at(one.id, '/restore'), { snapshot: trail[trail.length - 1] });
    return { ...one, trail, ...(ended !== undefined && trail.length >= ended && { ended }) };
  });
}

/** A branch that goes on from here on its own. */
export function fork(branch: Branch, name: string): Promise<Branch> {
  return both(branch, async (one) => {
    const { sessions } = await ask<{ sessions: { id: string }[] }>(at(one.id, '/fork'), { count: 1 });
    return { ...one, id: sessions[0].id, name };
  });
}

export async function end({ id, beside }: Branch): Promise<void> {
  await Promise.all([id, ...(beside ? [beside.id] : [])].map((one) => ask(at(one), undefined, 'DELETE')));
}
