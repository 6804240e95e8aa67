// Where sessions are written down, so that they outlive the process.

import type { EnvSnapshot } from '../../env/index.js';
import type { Episode, Session } from './session.js';
import type { Owner, Spend, Turn } from './session-contract.js';
import type { KeptSnapshot } from './snapshot-store.js';

/** A session as it is written down after each turn. */
export interface SessionRecord {
  readonly id: string;
  readonly owner: Owner;
  /** Of the environment, and its version. */
  readonly env: string;
  readonly version: string;
  readonly parent?: string;
  readonly openedAt: number;
  /** Absent before the first reset. */
  readonly episode?: Episode;
}

/** An answer that a repeated request gets again. */
export interface AnsweredRequest {
  readonly id: string;
  readonly print: string;
  readonly turn: Turn;
}

export interface KeptTurn {
  readonly record: SessionRecord;
  /** The environment's state after the turn. */
  readonly snapshot: EnvSnapshot | undefined;
  readonly answer?: AnsweredRequest;
  /** What the owner has spent in all, if it changed. */
  readonly spend?: Spend;
}

export interface KeptSession {
  readonly record: SessionRecord;
  readonly answers: readonly AnsweredRequest[];
}

/** @param episode  the one it is in unless given */
export function recordOf(session: Session, episode: Episode | undefined = session.episode): SessionRecord {
  const { id, owner, served, openedAt, state } = session;
  return { id, owner, env: served.name, version: served.version, parent: state.parent, openedAt, episode };
}

/** Everything is durable once its promise has resolved. */
export interface SessionKeeper {
  /** Those that are there, in the order of their opening; damaged ones are left out. */
  sessions(): Iterable<KeptSession>;
  spends(): Iterable<readonly [Owner, Spend]>;
  snapshots(): Iterable<readonly [Owner, KeptSnapshot]>;
  /** State of a session's environment; undefined where it was never written, or is damaged. */
  snapshotOf(key: string): EnvSnapshot | undefined;
  keep(turn: KeptTurn): Promise<void>;
  /** Undoes the last `keep` of a session by writing what was before. */
  keepInstead(turn: Omit<KeptTurn, 'answer'>, forgotten?: AnsweredRequest): Promise<void>;
  keepSnapshot(owner: Owner, snapshot: KeptSnapshot): Promise<void>;
  forgetSnapshot(owner: Owner, id: string): void;
  /** @param key  of the session, as `sessionKey` makes it; also of `snapshotOf` */
  forget(key: string): Promise<void>;
  close(): Promise<void>;
}
