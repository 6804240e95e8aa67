// A call as a stream of server-sent events: `task_id`, then `chunk`s and an `end`, or an `error`; comments while it lasts.

import { LRUCache } from 'lru-cache';
import type { Owner } from '../../core/session-contract.js';
import { unguessable } from '../../core/session-ids.js';

/** Characters of one `data:` line; the client's limit is 64 KB, as UTF-8. */
const PIECE = 4096;
/** What Python's str.lstrip takes away and JSON does not escape by itself; in compact JSON it stands in strings alone. */
const BLANK = /[\s\x85]/;

/** @param pingSeconds  longest silence; the client gives up after 30 */
export async function* callEvents({ id, outcome }: Call, pingSeconds: number): AsyncGenerator<string> {
  yield event('task_id', id);
  for (;;) {
    const settled = await within(pingSeconds, outcome);
    if (settled === undefined) {
      yield ': ping\n\n';
      continue;
    }
    const { event: name, text } = settled;
    if (name === 'error') yield event('error', text.replace(/\s+/g, ' '));
    else {
      const all = pieces(text);
      for (const [i, piece] of all.entries()) yield event(i === all.length - 1 ? 'end' : 'chunk', piece);
    }
    return;
  }
}

export function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

/**
 * Compact JSON in pieces that mean it when joined. The client strips blanks before a piece, so one that would begin with a
 * blank has it escaped; a pair of surrogates stays together.
 */
export function pieces(json: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < json.length; ) {
    const to = endOfPiece(json, from);
    const piece = json.slice(from, to);
    found.push(BLANK.test(piece[0]) ? `\\u${hex(piece.charCodeAt(0))}${piece.slice(1)}` : piece);
    from = to;
  }
  return found;
}

function endOfPiece(text: string, from: number): number {
  const to = from + PIECE;
  const before = text.charCodeAt(to - 1);
  return before >= 0xd800 && before <= 0xdbff ? to - 1 : to;
}

function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}

/** undefined where it has not settled by then. */
async function within<R>(seconds: number, promise: Promise<R>): Promise<R | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), seconds * 1000);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

// Calls by their task id, so that a client whose stream broke gets the answer of the call it made, not a second step.

/** How a call ended; `text` is what the stream's last event carries. */
export interface Outcome {
  readonly event: 'end' | 'error';
  readonly text: string;
}

interface Call {
  readonly id: string;
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
}

interface Entry extends Call {
  readonly session: string;
  readonly owner: Owner;
}

/** Milliseconds that the outcome of a call is kept (ORS, call stream). */
const LINGER = 60_000;
/** Characters of all outcomes that are kept; the oldest make way. */
const KEPT = 64 << 20;

export class CallTable {
  private readonly running = new Map<string, Entry>();
  private readonly finished = new LRUCache<string, Entry>({ maxSize: KEPT, ttl: LINGER });

  start(session: string, owner: Owner, work: () => Promise<Outcome>): Call {
    const entry: Entry = { id: unguessable(), session, owner, outcome: work() };
    this.running.set(entry.id, entry);
    void entry.outcome.then(({ text }) => {
      this.running.delete(entry.id);
      this.finished.set(entry.id, entry, { size: text.length + 1 });
    });
    return entry;
  }

  /** The call of this id that was made in this session. */
  find(id: string, session: string, owner: Owner): Call | undefined {
    const entry = this.running.get(id) ?? this.finished.get(id);
    return entry?.session === session && entry.owner === owner ? entry : undefined;
  }
}
