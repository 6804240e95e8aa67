// Episodes played for a check, and how two are compared.

import { canonicalJson } from '../../core/canonical-json.js';
import type { Json, JsonObject } from '../../core/json.js';
import { CheckFailed, type Player, type Reply, type Server } from './validate-contract.js';

/** The first reply is that of the reset. Ends where the actions or the episode do. */
export type Trajectory = readonly Reply[];

export async function play(player: Player, reset: JsonObject, actions: readonly JsonObject[]): Promise<Trajectory> {
  const first = await player.reset(reset);
  if (first.error !== undefined) throw new CheckFailed(`reset ${JSON.stringify(reset)} is refused: ${first.error}`);
  const replies = [first];
  for (const action of actions) {
    if (replies.at(-1)!.done) break;
    replies.push(await player.step(action));
  }
  return replies;
}

/** Does `work` on a connection of its own. */
export async function connected<R>(server: Server, work: (player: Player) => Promise<R>): Promise<R> {
  const player = await server.connect();
  try {
    return await work(player);
  } finally {
    await player.close();
  }
}

/** On a connection of its own. */
export function playAlone(server: Server, reset: JsonObject, actions: readonly JsonObject[]): Promise<Trajectory> {
  return connected(server, (player) => play(player, reset, actions));
}

/** Where and how two differ; undefined if they do not. */
export function difference(one: Trajectory, other: Trajectory): string | undefined {
  const at = one.findIndex((reply, i) => shown(reply) !== shown(other[i]));
  if (at >= 0)
    return `${at === 0 ? 'the first observation' : `step ${at}`} differs: ${brief(one[at])} and ${brief(other[at])}`;
  return one.length === other.length ? undefined : `${one.length - 1} steps and ${other.length - 1} steps`;
}

/** Sum of rewards; null counts as none. */
export function returnOf(replies: Trajectory): number {
  return replies.reduce((sum, { reward }) => sum + (typeof reward === 'number' ? reward : 0), 0);
}

function shown(reply: Reply | undefined): string {
  return reply === undefined ? '' : canonicalJson(reply as unknown as Json);
}

function brief(reply: Reply | undefined): string {
  const text = shown(reply);
  return text.length > 160 ? `${text.slice(0, 157)}...` : text;
}
