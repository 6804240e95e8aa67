// Sessions on disk: LMDB, each entry with a digest of itself. What is written within one turn of the event loop, whatever
// sessions it is of, goes to disk in one transaction and is synced once, and is acknowledged only then. So a process or a machine
// that stops at any moment has lost nothing that was acknowledged.

import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { LRUCache } from 'lru-cache';
import { Packr } from 'msgpackr';
import { contentHash, sha256 } from '../../core/canonical-json.js';
import type { EnvSnapshot } from '../../core/environment.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { ensureFolder, lockFolder, storageError } from '../../core/files.js';
import { closeDatabase, databaseProblem } from '../../core/lmdb-file.js';
import { type Owner, sessionKey, type Turn } from './session-contract.js';

export interface Episode {
  readonly id: string;
  readonly task: string | null;
  readonly seed: number | null;
  readonly turn: Turn;
}

/** A session's state: its environment's, and what the session counts. */
export interface KeptState {
  readonly env: string;
  readonly snapshot: EnvSnapshot;
  readonly observation: unknown;
  readonly stepCount: number;
  readonly return: number | null;
  readonly task: string | null;
  readonly seed: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

interface KeptSnapshot extends KeptState {
  /** Hash of its content: the same state has the same id. */
  readonly id: string;
}

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
interface AnsweredRequest {
  readonly id: string;
  readonly print: string;
  readonly turn: Turn;
}

/** A session after a turn. */
interface KeptTurn {
  readonly record: SessionRecord;
  /** State of its environment; undefined where it was never written, or is damaged. */
  readonly snapshot: EnvSnapshot | undefined;
  readonly answer?: AnsweredRequest;
}

/** Answers kept of each session for requests that are sent again: the latest. */
export const REMEMBERED = 16;

/** First letters of keys. */
const KIND = { session: 's', world: 'w', answer: 'a', snapshot: 'k' } as const;
const DIGEST_BYTES = 16;

/** Of what is kept in order: its place. */
interface Numbered {
  readonly number: number;
}

/** Typed arrays stay what they are; nothing that is read is ever run. */
const packer = new Packr({ moreTypes: true, useRecords: false });

/** Everything is durable once its promise has resolved. */
export class SessionStore {
  /** Of each session: how many answers were written. */
  private readonly answered = new Map<string, number>();
  private snapshotCount = 0;

  private constructor(
    private readonly path: string,
    private readonly database: RootDatabase<Buffer, string>,
    private readonly unlock: () => void,
  ) {}

  /** Opens the store of a folder, which is made if need be. @throws RUN_IN_USE, FILE_INVALID, STORAGE_FAILED, STORAGE_FULL */
  static async open(folder: string): Promise<SessionStore> {
    const path = resolve(folder);
    await ensureFolder(path);
    const unlock = lockFolder(path);
    try {
      const problem = databaseProblem(path);
      if (problem !== undefined) throw corrupt(path, problem);
      return new SessionStore(path, open<Buffer, string>({ path, encoding: 'binary', noSubdir: false }), unlock);
    } catch (error) {
      unlock();
      const failure = storageError(path, error);
      if (failure instanceof ReverieError) throw failure;
      throw corrupt(path, (error as Error).message, error);
    }
  }

  /**
   * Those that are there, in the order of their opening; of damaged ones the record alone, where that can be read.
   * @throws FILE_INVALID where not an entry but the file around it is damaged; so do the others that read
   */
  sessions() {
    const found = this.entries<SessionRecord>(KIND.session).map((record) => {
      const key = sessionKey(record.owner, record.id);
      return { record, snapshot: this.read<EnvSnapshot>(keyOf(KIND.world, key)), answers: this.answersOf(key) };
    });
    return found.sort((a, b) => a.record.openedAt - b.record.openedAt);
  }

  /** In the order of their making. */
  snapshots(): (readonly [Owner, KeptSnapshot])[] {
    const kept = this.entries<{ owner: Owner; snapshot: KeptSnapshot } & Numbered>(KIND.snapshot);
    const found = kept.sort((a, b) => a.number - b.number);
    this.snapshotCount = (found.at(-1)?.number ?? -1) + 1;
    return found.map(({ owner, snapshot }) => [owner, snapshot]);
  }

  keep({ record, snapshot, answer }: KeptTurn): Promise<void> {
    const id = sessionKey(record.owner, record.id);
    return this.write((put) => {
      put(keyOf(KIND.session, id), record);
      if (snapshot !== undefined) put(keyOf(KIND.world, id), snapshot);
      if (answer === undefined) return;
      const number = this.answered.get(id) ?? 0;
      this.answered.set(id, number + 1);
      put(answerKey(id, number), { ...answer, number });
    });
  }

  keepSnapshot(owner: Owner, snapshot: KeptSnapshot): Promise<void> {
    const number = this.snapshotCount++;
    return this.write((put) => put(snapshotKey(owner, snapshot.id), { owner, snapshot, number }));
  }

  forgetSnapshot(owner: Owner, id: string): void {
    void this.write((_, remove) => remove(snapshotKey(owner, id))).catch((error) => process.emitWarning(error));
  }

  async forget(id: string): Promise<void> {
    this.answered.delete(id);
    await this.write((_, remove) => {
      remove(keyOf(KIND.session, id));
      remove(keyOf(KIND.world, id));
      for (let number = 0; number < REMEMBERED; number++) remove(answerKey(id, number));
    });
  }

  async close(): Promise<void> {
    await closeDatabase(this.database);
    this.unlock();
  }

  private answersOf(id: string): AnsweredRequest[] {
    const places = Array.from({ length: REMEMBERED }, (_, number) => answerKey(id, number));
    const found = places.flatMap((key) => this.read<AnsweredRequest & Numbered>(key) ?? []);
    found.sort((a, b) => a.number - b.number);
    this.answered.set(id, (found.at(-1)?.number ?? -1) + 1);
    return found;
  }

  /** All of `work` in one transaction; durable once this has resolved. @throws STORAGE_FULL, STORAGE_FAILED */
  private async write(
    work: (put: (key: string, value: unknown) => void, remove: (key: string) => void) => void,
  ): Promise<void> {
    const { database } = this;
    try {
      await database.batch(() => {
        work(
          (key, value) => void database.put(key, seal(key, value)),
          (key) => void database.remove(key),
        );
      });
      await database.flushed;
    } catch (error) {
      const failure = storageError(this.path, error);
      if (failure instanceof ReverieError) throw failure;
      throw reverieError('STORAGE_FAILED', { path: this.path, problem: (error as Error).message }, error);
    }
  }

  private entries<R>(kind: string): R[] {
    return this.guarded(() => {
      const range = this.database.getRange({ start: kind, end: `${kind}\uffff` });
      return [...range].flatMap(({ key, value }) => openSeal<R>(key, value) ?? []);
    });
  }

  private read<R>(key: string): R | undefined {
    return this.guarded(() => {
      const sealed = this.database.get(key);
      return sealed === undefined ? undefined : openSeal<R>(key, sealed);
    });
  }

  private guarded<R>(work: () => R): R {
    try {
      return work();
    } catch (error) {
      throw corrupt(this.path, (error as Error).message, error);
    }
  }
}

function corrupt(path: string, problem: string, cause?: unknown) {
  const hint = 'Bring the folder back from a copy, or move it away: then the server starts with no sessions.';
  return reverieError(
    'FILE_INVALID',
    { problem: `The sessions kept in "${path}" cannot be read: ${problem}.`, hint },
    cause,
  );
}

/** Names come from clients and may be long: keys of LMDB may not. */
function keyOf(kind: string, name: string): string {
  return kind + sha256(name).slice(0, 40);
}

function answerKey(id: string, number: number): string {
  return `${keyOf(KIND.answer, id)}${number % REMEMBERED}`;
}

function snapshotKey(owner: Owner, id: string): string {
  return `${keyOf(KIND.snapshot, owner)}${id}`;
}

/** A value with a digest of it and its key before it: an entry under a wrong key is damage too. */
function seal(key: string, value: unknown): Buffer {
  const packed = packer.pack(value);
  return Buffer.concat([digestOf(key, packed), packed]);
}

/** undefined where it is damaged. */
function openSeal<R>(key: string, sealed: Buffer): R | undefined {
  const packed = sealed.subarray(DIGEST_BYTES);
  if (!digestOf(key, packed).equals(sealed.subarray(0, DIGEST_BYTES))) return undefined;
  return packer.unpack(packed) as R;
}

function digestOf(key: string, packed: Buffer): Buffer {
  return createHash('sha256').update(key).update(packed).digest().subarray(0, DIGEST_BYTES);
}

/** States that clients come back to, in memory: by the hash of what they are, the latest of each owner. */
export class SnapshotStore {
  private readonly byOwner = new Map<Owner, LRUCache<string, KeptSnapshot>>();

  constructor(
    /** Snapshots kept of each owner; the least recently used make way. */
    private readonly max: number,
    /** Called with those that made way. */
    private readonly onForgotten: (owner: Owner, id: string) => void,
  ) {}

  put(owner: Owner, state: KeptState): KeptSnapshot {
    const content = { env: state.env, state: state.snapshot.state, stepCount: state.stepCount, return: state.return };
    const kept = { ...state, id: contentHash(content).slice(0, 32) };
    this.recall(owner, kept);
    return kept;
  }

  /** One that has its id already. */
  recall(owner: Owner, kept: KeptSnapshot): void {
    const dispose = (_: KeptSnapshot, id: string, reason: string) => {
      if (reason === 'evict') this.onForgotten(owner, id);
    };
    const known = this.byOwner.get(owner) ?? new LRUCache<string, KeptSnapshot>({ max: this.max, dispose });
    this.byOwner.set(owner, known.set(kept.id, kept));
  }

  /** @throws SNAPSHOT_UNKNOWN */
  get(owner: Owner, id: string): KeptSnapshot {
    const found = this.byOwner.get(owner)?.get(id);
    if (found === undefined) throw reverieError('SNAPSHOT_UNKNOWN', { id, kept: this.max });
    return found;
  }
}
