// A chunk as the bytes that a journal keeps of it, checksum included: made in the thread that lived it, so that the thread
// which writes has nothing to do but write.

import { Packr } from 'msgpackr';
import { encodeRecord, payloadOf } from '../journal.js';
import type { RolloutChunk, RolloutCounts } from './request.js';

export interface ChunkRecord {
  readonly index: number;
  readonly counts: RolloutCounts;
  /** The journal's record, of piece `index`. */
  readonly record: Uint8Array;
}

const packr = new Packr({ useRecords: false, moreTypes: true });

export function packChunk(chunk: RolloutChunk): ChunkRecord {
  return { index: chunk.index, counts: chunk.counts, record: encodeRecord(chunk.index, packr.pack(chunk)) };
}

/** The chunk of a journal's record. */
export function unpackRecord(record: Uint8Array): RolloutChunk {
  return packr.unpack(payloadOf(record));
}
