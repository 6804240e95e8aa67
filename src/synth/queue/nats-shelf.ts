// What the queue on NATS keeps: bytes under a key, written once. What no message can hold lies in numbered pieces beside
// it, under their own digest, and the message at the key, written last, says how many there are.

import { createHash } from 'node:crypto';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { reverieError } from '../../core/errors.js';
import { type NatsParts, publishedAfter } from './nats-streams.js';

const PIECES = 'Reverie-Pieces';
const DIGEST = 'Reverie-Digest';
/** Bytes of a message left to its headers and subject. */
const ROOM = 32 << 10;
const MAX_PIECES = 4096;

export interface Kept {
  readonly bytes: Uint8Array;
  readonly labels: Readonly<Record<string, string>>;
}

interface Message {
  readonly data: Uint8Array;
  readonly headers?: MsgHdrs;
}

export class NatsShelf {
  private readonly pieceBytes: number;

  constructor(private readonly parts: NatsParts) {
    this.pieceBytes = Math.max(ROOM, (parts.connection.info?.max_payload ?? 1 << 20) - ROOM);
  }

  /** False if something lies at the key already. */
  async put(key: string, { bytes, labels }: Kept): Promise<boolean> {
    const { js } = this.parts;
    const told = headers();
    for (const [name, value] of Object.entries(labels)) told.set(name, encodeURIComponent(value));
    if (bytes.length <= this.pieceBytes) {
      return publishedAfter(js, this.head(key), 0, { bytes, headers: told });
    }
    const digest = createHash('sha256').update(bytes).digest('hex');
    const count = Math.ceil(bytes.length / this.pieceBytes);
    for (let i = 0; i < count; i++) {
      await js.publish(this.piece(key, digest, i), bytes.subarray(i * this.pieceBytes, (i + 1) * this.pieceBytes));
    }
    told.set(PIECES, String(count));
    told.set(DIGEST, digest);
    return publishedAfter(js, this.head(key), 0, { bytes: new Uint8Array(), headers: told });
  }

  /** @throws QUEUE_MESSAGE_INVALID if its pieces are not whole */
  async get(key: string): Promise<Kept | undefined> {
    const { jsm, subjects } = this.parts;
    const message = await jsm.streams.getMessage(subjects.kept, { last_by_subj: this.head(key) });
    return message === null ? undefined : this.read(key, { data: message.data, headers: message.header });
  }

  /** What a message at `key` says. @throws QUEUE_MESSAGE_INVALID */
  async read(key: string, { data, headers: told }: Message): Promise<Kept> {
    const names = [...(told?.keys() ?? [])].filter((name) => name.startsWith('Label-'));
    const labels = Object.fromEntries(names.map((name) => [name, decodeURIComponent(told!.get(name))]));
    const count = Number(told?.get(PIECES) || 0);
    return { labels, bytes: count === 0 ? data : await this.assembled(key, count, told!.get(DIGEST)) };
  }

  private async assembled(key: string, count: number, digest: string): Promise<Uint8Array> {
    const { jsm, subjects } = this.parts;
    const invalid = (problem: string) => reverieError('QUEUE_MESSAGE_INVALID', { what: key, problem });
    if (!Number.isInteger(count) || count > MAX_PIECES || !/^[0-9a-f]{64}$/.test(digest)) {
      throw invalid('it does not say where it lies');
    }
    const pieces: Uint8Array[] = [];
    for (let i = 0; i < count; i++) {
      const message = await jsm.streams.getMessage(subjects.kept, { last_by_subj: this.piece(key, digest, i) });
      if (message === null) throw invalid(`piece ${i} of ${count} is missing`);
      pieces.push(message.data);
    }
    const bytes = Buffer.concat(pieces);
    if (createHash('sha256').update(bytes).digest('hex') !== digest) throw invalid('it does not match its digest');
    return bytes;
  }

  /** Lets go of what lies at the key and at keys below it. */
  async drop(key: string): Promise<void> {
    const { jsm, subjects } = this.parts;
    await jsm.streams.purge(subjects.kept, { filter: subjects.keep(`${key}.>`) });
  }

  private head(key: string): string {
    return this.parts.subjects.keep(`${key}.head`);
  }

  private piece(key: string, digest: string, i: number): string {
    return this.parts.subjects.keep(`${key}.piece.${digest}.${i}`);
  }
}
