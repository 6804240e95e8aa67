// An append-only file of checksummed records that are durable once acknowledged: what a killed job resumes from.
// Record 0 is the job's description; record i + 1 is the job's i-th piece, so a job must append in order.
//
// A record is  magic(4) | number(4) | length(4) | crc32 of number, length and payload(4) | payload,  little-endian.
// A group of at most GROUP records is written, then synced, then acknowledged; the next group begins only then. So after
// a crash at most the last GROUP records can be torn. A damaged record with an intact one GROUP or more numbers behind it
// had been acknowledged: that is not a torn tail but a damaged file, and is refused.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { reverieError } from '../core/errors.js';
import { ensureFolder, readBytes, storageError, syncPath } from '../core/files.js';

const FILE_NAME = 'rollouts.journal';
const MAGIC = Buffer.from('RVJ1');
const HEAD_BYTES = 16;
const GROUP = 8;
/** A tail longer than this is no group of records. */
const LARGEST_TAIL_BYTES = 2 ** 30;

/** What identifies a job: flat, JSON-safe. */
export type JobDescription = Readonly<Record<string, string | number | boolean | null>>;

/** Where a piece lies in its file, so that any thread may read it. */
export interface PiecePlace {
  readonly path: string;
  readonly index: number;
  readonly at: number;
  readonly bytes: number;
}

type Place = Pick<PiecePlace, 'at' | 'bytes'>;

interface Waiting {
  readonly record: (number: number) => Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Journal {
  /** Bytes of torn records that opening cut off. */
  readonly cutBytes: number;
  private readonly waiting: Waiting[] = [];
  private flushing: Promise<void> | undefined;
  private failure: unknown;

  private constructor(
    readonly path: string,
    private readonly file: FileHandle,
    private readonly places: Place[],
    size: number,
  ) {
    this.cutBytes = size - this.end;
  }

  /**
   * Opens or begins the journal of `job` in `folder` (made if missing); one writer at a time.
   * Throws STATE_MISMATCH if it is another job's, FILE_INVALID, STORAGE_FULL, STORAGE_FAILED.
   */
  static async open(folder: string, job: JobDescription): Promise<Journal> {
    await ensureFolder(folder);
    const path = join(folder, FILE_NAME);
    const file = await open(path, 'a+').catch((error) => {
      throw storageError(path, error);
    });
    try {
      const { size } = await file.stat();
      const journal = new Journal(path, file, await intactPlaces(file, size, path), size);
      if (journal.cutBytes > 0) await file.truncate(journal.end);
      if (journal.places.length > 0) await journal.checkJob(folder, job);
      else await journal.append(Buffer.from(JSON.stringify(job)));
      await syncPath(folder);
      return journal;
    } catch (error) {
      await file.close();
      throw storageError(path, error);
    }
  }

  /** Pieces of the job that are there. */
  get pieces(): number {
    return this.places.length - 1;
  }

  /** Payload of piece `index` < `pieces`. Throws FILE_INVALID. */
  async read(index: number): Promise<Uint8Array> {
    return payloadOf(await this.readRecord(index));
  }

  /** The whole record of piece `index`, as `encodeRecord` made it. Throws FILE_INVALID. */
  readRecord(index: number): Promise<Uint8Array> {
    return readPiece(this.file, this.place(index));
  }

  /** Where piece `index` < `pieces` lies. */
  place(index: number): PiecePlace {
    return { path: this.path, index, ...this.places[index + 1] };
  }

  /** Appends the next piece; durable once the promise resolves. Throws STORAGE_FULL, STORAGE_FAILED. */
  append(payload: Uint8Array): Promise<void> {
    return this.appended((number) => encode(number, payload));
  }

  /** As `append`, with what `encodeRecord` made of the piece. */
  appendRecord(record: Uint8Array): Promise<void> {
    return this.appended((number) => {
      const named = new DataView(record.buffer, record.byteOffset).getUint32(4, true);
      if (named !== number) throw new Error(`Record ${named} where ${number} is next: a defect of the job.`);
      return record;
    });
  }

  private appended(record: Waiting['record']): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ record, resolve, reject });
      this.flushing ??= this.flush();
    });
  }

  async close(): Promise<void> {
    await this.flushing;
    await this.file.close();
  }

  /** Where the intact records end. */
  private get end(): number {
    const last = this.places.at(-1);
    return last === undefined ? 0 : last.at + last.bytes;
  }

  private async flush(): Promise<void> {
    while (this.waiting.length > 0) {
      const group = this.waiting.splice(0, GROUP);
      try {
        if (this.failure === undefined) await this.write(group);
      } catch (error) {
        // For good: a piece after one that is missing would take its number. What was acknowledged stays, of the failed group nothing.
        this.failure = storageError(this.path, error);
        await this.file.truncate(this.end).catch(() => {});
      }
      for (const { resolve, reject } of group) this.failure === undefined ? resolve() : reject(this.failure);
    }
    this.flushing = undefined;
  }

  private async write(group: readonly Waiting[]): Promise<void> {
    const records = group.map(({ record }, i) => record(this.places.length + i));
    const bytes = Buffer.concat(records);
    for (let at = 0; at < bytes.length; ) at += (await this.file.write(bytes, at)).bytesWritten;
    await this.file.datasync();
    for (const record of records) this.places.push({ at: this.end, bytes: record.length });
  }

  private async checkJob(folder: string, job: JobDescription): Promise<void> {
    const was: JobDescription = JSON.parse(Buffer.from(await this.read(-1)).toString());
    const keys = [...new Set([...Object.keys(was), ...Object.keys(job)])];
    const differences = keys.filter((key) => was[key] !== job[key]);
    if (differences.length > 0)
      throw reverieError('STATE_MISMATCH', {
        problem: `The journal in "${folder}" belongs to another job: ${differences.join(', ')} differ.`,
        hint: 'Give each job a folder of its own, or delete this one to start the job anew.',
      });
  }
}

/** What a journal writes of piece `index`: for threads that leave it nothing but the writing. */
export function encodeRecord(index: number, payload: Uint8Array): Uint8Array {
  return encode(index + 1, payload);
}

/** The payload of a whole record. */
export function payloadOf(record: Uint8Array): Uint8Array {
  return record.subarray(HEAD_BYTES);
}

/** The record of a piece. Throws FILE_INVALID. */
export async function readPiece(file: FileHandle, { path, index, at, bytes }: PiecePlace): Promise<Uint8Array> {
  const record = await readRecord(file, at, at + bytes);
  if (record?.number === index + 1) return record.whole;
  throw corrupt(path, at, `record ${index + 1} does not match its checksum.`);
}

function encode(number: number, payload: Uint8Array): Buffer {
  const record = Buffer.alloc(HEAD_BYTES + payload.length);
  MAGIC.copy(record);
  record.writeUInt32LE(number, 4);
  record.writeUInt32LE(payload.length, 8);
  record.writeUInt32LE(checksum(record, payload), 12);
  record.set(payload, HEAD_BYTES);
  return record;
}

function checksum(head: Buffer, payload: Uint8Array): number {
  return crc32(payload, crc32(head.subarray(4, 12)));
}

interface JournalRecord {
  readonly number: number;
  readonly whole: Uint8Array;
}

/** The record at byte `at`, or undefined if there is no intact one before byte `end`. */
async function readRecord(file: FileHandle, at: number, end: number): Promise<JournalRecord | undefined> {
  const head = await readBytes(file, at, Math.min(HEAD_BYTES, end - at));
  if (head.length < HEAD_BYTES || !head.subarray(0, 4).equals(MAGIC)) return undefined;
  const length = head.readUInt32LE(8);
  if (at + HEAD_BYTES + length > end) return undefined;
  const whole = await readBytes(file, at, HEAD_BYTES + length);
  if (whole.length < HEAD_BYTES + length || checksum(whole, payloadOf(whole)) !== head.readUInt32LE(12))
    return undefined;
  return { number: head.readUInt32LE(4), whole };
}

/** Places of all records up to the first that is torn. Throws FILE_INVALID if that one cannot be a torn tail. */
async function intactPlaces(file: FileHandle, size: number, path: string): Promise<Place[]> {
  const places: Place[] = [];
  let at = 0;
  while (at < size) {
    const record = await readRecord(file, at, size);
    if (record?.number !== places.length) break;
    places.push({ at, bytes: record.whole.length });
    at += record.whole.length;
  }
  if (at < size) await refuseDamage(file, at, size, places.length, path);
  return places;
}

async function refuseDamage(file: FileHandle, at: number, size: number, number: number, path: string): Promise<void> {
  if (size - at > LARGEST_TAIL_BYTES) throw corrupt(path, at, `record ${number} is not intact, and much follows it.`);
  const tail = await readBytes(file, at, size - at);
  if (at === 0 && !tail.subarray(0, 4).equals(MAGIC.subarray(0, tail.length)))
    throw corrupt(path, 0, 'it is no journal.');
  for (let hit = tail.indexOf(MAGIC, 1); hit >= 0; hit = tail.indexOf(MAGIC, hit + 1)) {
    const later = await readRecord(file, at + hit, size);
    if (later === undefined || later.number < number + GROUP) continue;
    throw corrupt(path, at, `record ${number} is not intact, but record ${later.number} after it is.`);
  }
}

export function corrupt(path: string, offset: number, problem: string) {
  return reverieError('FILE_INVALID', {
    problem: `The journal "${path}" is damaged at byte ${offset}: ${problem}`,
    hint: 'Its finished chunks before that byte are intact; restore the file from a copy, or delete it to dream the job anew.',
  });
}
