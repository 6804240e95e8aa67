// Sessions that another process left behind: they are there again, and wake at their next request.

import type { Servable } from '../../run/index.js';
import type { SessionHouse } from './session-house.js';
import type { KeptSession, SessionKeeper } from './session-keeper.js';
import type { SnapshotStore } from './snapshot-store.js';

/** Those whose environment is served no more, or in another version, are closed. */
export function recallSessions(
  keeper: SessionKeeper,
  house: SessionHouse,
  snapshots: SnapshotStore,
  environments: ReadonlyMap<string, Servable>,
): void {
  for (const [owner, spend] of keeper.spends()) house.quotas.recall(owner, spend);
  for (const [owner, snapshot] of keeper.snapshots()) snapshots.recall(owner, snapshot);
  for (const kept of keeper.sessions()) recall(kept, keeper, house, environments);
}

function recall(
  { record, answers }: KeptSession,
  keeper: SessionKeeper,
  house: SessionHouse,
  environments: ReadonlyMap<string, Servable>,
): void {
  const { id, owner, env, version, parent, openedAt, episode } = record;
  const served = environments.get(env);
  if (served?.version !== version) {
    house.registry.bury(id, owner, 'version');
    keeper.forget(id).catch((error: Error) => process.emitWarning(error));
    return;
  }
  const session = house.place({ served, id, owner, parent, openedAt });
  session.touch();
  session.commit(episode);
  for (const { id: requestId, print, turn } of answers) session.requests.remember(requestId, print, turn);
}
