// Replies on disk, by the key of their request: LMDB, each entry with a digest of itself, so that damage is seen and
// never served. One store a folder and process, however many models use it.

import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { open } from 'lmdb';
import { ReverieError, reverieError } from '../core/errors.js';
import { ensureFolder, storageError } from '../core/files.js';
import { closeDatabase, databaseProblem } from '../core/lmdb-file.js';
import type { ChatReply } from './language-model.js';

/** What the cache holds for a request. */
export type Entry =
  /** `jsonIsText`: its `json` is left out, as it is the parsed text. */
  | { readonly kind: 'reply'; readonly reply: ChatReply; readonly jsonIsText: boolean }
  /** A failure of the model's own doing: the same request would meet it again. */
  | { readonly kind: 'error'; readonly code: string; readonly values: Readonly<Record<string, unknown>> };

type Lookup = Entry | 'missing' | 'corrupt';

const DIGEST_LENGTH = 32;

const stores = new Map<string, { store: Promise<ReplyStore>; users: number }>();

/** The store of a folder, which is made if need be. Throws STORAGE_FAILED, STORAGE_FULL or FILE_INVALID. */
export async function openReplyStore(folder: string): Promise<ReplyStore> {
  const path = resolve(folder);
  const shared = stores.get(path) ?? { store: openStore(path), users: 0 };
  stores.set(path, shared);
  shared.users++;
  try {
    return await shared.store;
  } catch (error) {
    stores.delete(path);
    throw error;
  }
}

async function openStore(path: string): Promise<ReplyStore> {
  await ensureFolder(path);
  const problem = databaseProblem(path);
  if (problem !== undefined) throw cacheDamaged(path, problem);
  try {
    const database = open<string, string>({ path, encoding: 'string', noSubdir: false });
    return new ReplyStore(path, database);
  } catch (error) {
    if (error instanceof ReverieError) throw error;
    const failure = storageError(path, error);
    if (failure instanceof ReverieError) throw failure;
    throw cacheDamaged(path, (error as Error).message, error);
  }
}

/** What is asked of the database. LMDB's own types do not compile in a program that checks its libraries' declarations. */
interface KeptTexts {
  readonly flushed: Promise<unknown>;
  get(key: string): string | undefined;
  put(key: string, text: string): Promise<boolean>;
  close(): Promise<void>;
}

export class ReplyStore {
  /** Written, and not yet to be read from the database; by key, for each batch that it writes at once. */
  private unwritten: { readonly texts: Map<string, string>; readonly done: Promise<boolean> }[] = [];
  private failure: unknown;

  constructor(
    private readonly path: string,
    private readonly database: KeptTexts,
  ) {}

  /** Throws FILE_INVALID where not an entry but the file around it is damaged. */
  get(key: string): Lookup {
    const unwritten = this.findUnwritten(key);
    if (unwritten !== undefined) return JSON.parse(unwritten) as Entry;
    const sealed = this.read(key);
    if (sealed === undefined) return 'missing';
    const text = openSeal(key, sealed);
    return (text === undefined ? undefined : readEntry(text)) ?? 'corrupt';
  }

  private read(key: string): string | undefined {
    try {
      return this.database.get(key);
    } catch (error) {
      throw cacheDamaged(this.path, (error as Error).message, error);
    }
  }

  /** Durable once `close` or `flush` has resolved. Throws the failure of an earlier write. */
  put(key: string, entry: Entry): void {
    if (this.failure !== undefined) throw storageError(this.path, this.failure);
    const text = JSON.stringify(entry);
    // All writes of a batch share one promise.
    const done = this.database.put(key, seal(key, text));
    const batch = this.unwritten.at(-1);
    if (batch?.done === done) batch.texts.set(key, text);
    else this.startBatch(new Map([[key, text]]), done);
  }

  private startBatch(texts: Map<string, string>, done: Promise<boolean>): void {
    const batch = { texts, done };
    this.unwritten.push(batch);
    const forget = (): void => {
      this.unwritten = this.unwritten.filter((other) => other !== batch);
    };
    done.then(forget, (error: unknown) => {
      this.failure ??= error;
      forget();
    });
  }

  private findUnwritten(key: string): string | undefined {
    for (let at = this.unwritten.length - 1; at >= 0; at--) {
      const text = this.unwritten[at].texts.get(key);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  async flush(): Promise<void> {
    await this.database.flushed;
    if (this.failure !== undefined) throw storageError(this.path, this.failure);
  }

  /** Closes it once its last user has. */
  async close(): Promise<void> {
    await this.flush();
    const shared = stores.get(this.path);
    if (shared === undefined || --shared.users > 0) return;
    stores.delete(this.path);
    await closeDatabase(this.database);
  }
}

/** Text with a digest of it and its key before it: an entry under a wrong key is damage too. */
function seal(key: string, text: string): string {
  return hash('sha256', `${key}\n${text}`, 'hex').slice(0, DIGEST_LENGTH) + text;
}

function openSeal(key: string, sealed: string): string | undefined {
  const text = sealed.slice(DIGEST_LENGTH);
  return seal(key, text) === sealed ? text : undefined;
}

function readEntry(text: string): Entry | undefined {
  const entry = JSON.parse(text) as Entry;
  return entry.kind === 'reply' || entry.kind === 'error' ? entry : undefined;
}

/** @param at the folder, or the key of an entry */
export function cacheDamaged(at: string, problem: string, cause?: unknown): Error {
  const hint = 'Restore it from a copy, or remove it and ask anew.';
  return reverieError(
    'FILE_INVALID',
    { problem: `The cache of replies is damaged at "${at}": ${problem}.`, hint },
    cause,
  );
}
