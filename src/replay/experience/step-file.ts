// An append-only file of steps, a checksummed record for each batch: durable once acknowledged, whole or not at all.
// A record is  magic(4) | length(4) | crc32 of length and payload(4) | payload,  little-endian; its payload is a step
// after the other,  length(4) | packed step.
//
// One batch is synced before the next begins, so a crash can tear the last record alone: that is cut off. A damaged record
// with an intact one behind it had been acknowledged: that file is refused. (LMDB, which would do as a store, ends the
// process when its file is damaged.)

import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import { reverieError } from '../../core/errors.js';
import { readBytes, storageError } from '../../core/files.js';
import type { ExperienceStep } from './experience.js';

const MAGIC = Buffer.from('RVX1');
const HEAD_BYTES = 12;
/** A batch is written as records of about this size, each whole or not at all. */
const LARGEST_RECORD_BYTES = 2 ** 30;

/** Steps in order of arrival, never changed: what a store keeps them in. */
export interface StepLog {
  /** Steps written; the next number. */
  readonly size: number;
  /** Bytes of all steps, packed. */
  readonly bytes: number;
  /** Durable, all or none, once the promise resolves. */
  append(packed: readonly Uint8Array[]): Promise<void>;
  read(number: number): ExperienceStep;
  close(): Promise<void>;
}

export function packStep(step: ExperienceStep): Uint8Array {
  // A copy: the packer's own buffer is used again.
  return Uint8Array.from(pack(step));
}

/** Gone with the process. */
export class MemoryLog implements StepLog {
  bytes = 0;
  private readonly steps: Uint8Array[] = [];

  get size(): number {
    return this.steps.length;
  }

  async append(packed: readonly Uint8Array[]): Promise<void> {
    for (const step of packed) {
      this.steps.push(step);
      this.bytes += step.length;
    }
  }

  read(number: number): ExperienceStep {
    return unpack(this.steps[number]);
  }

  async close(): Promise<void> {}
}

interface Place {
  readonly at: number;
  readonly length: number;
}

export class StepFile implements StepLog {
  bytes = 0;
  private places: Place[] = [];
  private end = 0;
  private failure: unknown;

  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
  ) {}

  /** Opens or begins the file; one writer at a time. Throws FILE_INVALID, STORAGE_FAILED. */
  static async open(path: string): Promise<StepFile> {
    const file = await open(path, 'a+').catch((error) => {
      throw storageError(path, error);
    });
    try {
      const steps = new StepFile(path, file);
      const { size } = await file.stat();
      await steps.scan(size);
      if (steps.end < size) await file.truncate(steps.end);
      return steps;
    } catch (error) {
      await file.close();
      throw storageError(path, error);
    }
  }

  get size(): number {
    return this.places.length;
  }

  /** Throws STORAGE_FULL, STORAGE_FAILED; then nothing of it is there, and nothing more is taken. */
  async append(packed: readonly Uint8Array[]): Promise<void> {
    if (packed.length === 0) return;
    if (this.failure !== undefined) throw this.failure;
    const record = encode(packed);
    try {
      for (let at = 0; at < record.length; ) at += (await this.file.write(record, at)).bytesWritten;
      await this.file.datasync();
    } catch (error) {
      // For good: what a failed sync left on the device is not known.
      this.failure = storageError(this.path, error);
      await this.file.truncate(this.end).catch(() => {});
      throw this.failure;
    }
    this.accept(record, this.end);
  }

  read(number: number): ExperienceStep {
    const { at, length } = this.places[number];
    const bytes = Buffer.alloc(length);
    if (readSync(this.file.fd, bytes, 0, length, at) !== length)
      throw invalid(this.path, `step ${number} is no longer there`);
    return unpack(bytes);
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private async scan(size: number): Promise<void> {
    while (this.end < size) {
      const record = await readRecord(this.file, this.end, size);
      if (record === undefined) {
        await this.refuseDamage(size);
        return;
      }
      this.accept(record, this.end);
    }
  }

  /** Notes where the steps of a record at byte `start` lie. */
  private accept(record: Buffer, start: number): void {
    for (let at = HEAD_BYTES; at < record.length; ) {
      const length = record.readUInt32LE(at);
      this.places.push({ at: start + at + 4, length });
      this.bytes += length;
      at += 4 + length;
    }
    this.end = start + record.length;
  }

  private async refuseDamage(size: number): Promise<void> {
    const problem = `it is damaged at byte ${this.end}`;
    if (size - this.end > LARGEST_RECORD_BYTES + HEAD_BYTES) throw invalid(this.path, problem);
    const tail = await readBytes(this.file, this.end, size - this.end);
    if (this.end === 0 && !tail.subarray(0, 4).equals(MAGIC.subarray(0, tail.length)))
      throw invalid(this.path, 'it is no file of experience');
    for (let hit = tail.indexOf(MAGIC, 1); hit >= 0; hit = tail.indexOf(MAGIC, hit + 1)) {
      if (await readRecord(this.file, this.end + hit, size)) throw invalid(this.path, problem);
    }
  }
}

function encode(packed: readonly Uint8Array[]): Buffer {
  const length = packed.reduce((sum, step) => sum + 4 + step.length, 0);
  if (length > LARGEST_RECORD_BYTES)
    throw reverieError('EXPERIENCE_FULL', { bytes: length, limit: `${LARGEST_RECORD_BYTES} in one batch` });
  const record = Buffer.alloc(HEAD_BYTES + length);
  MAGIC.copy(record);
  record.writeUInt32LE(length, 4);
  let at = HEAD_BYTES;
  for (const step of packed) {
    record.writeUInt32LE(step.length, at);
    record.set(step, at + 4);
    at += 4 + step.length;
  }
  record.writeUInt32LE(checksum(record), 8);
  return record;
}

function checksum(record: Buffer): number {
  return crc32(record.subarray(HEAD_BYTES), crc32(record.subarray(4, 8)));
}

/** The whole record at byte `at`, or undefined if there is no intact one. */
async function readRecord(file: FileHandle, at: number, size: number): Promise<Buffer | undefined> {
  const head = await readBytes(file, at, Math.min(HEAD_BYTES, size - at));
  if (head.length < HEAD_BYTES || !head.subarray(0, 4).equals(MAGIC)) return undefined;
  const length = head.readUInt32LE(4);
  if (length > LARGEST_RECORD_BYTES || at + HEAD_BYTES + length > size) return undefined;
  const record = await readBytes(file, at, HEAD_BYTES + length);
  return record.length === HEAD_BYTES + length && checksum(record) === record.readUInt32LE(8) ? record : undefined;
}

function invalid(path: string, problem: string) {
  return reverieError('FILE_INVALID', {
    problem: `The experience in "${path}" cannot be used: ${problem}.`,
    hint: 'Restore the file from a copy, or name another folder and read the logs anew.',
  });
}
