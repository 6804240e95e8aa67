// Batches of rows between memory and the wire, in three forms that say the same: JSON to look at, MessagePack, and one flat
// frame (rows-frame.ts).

import { Packr, Unpackr } from 'msgpackr';
import { reverieError } from '../../../core/errors.js';
import type { Info } from '../../../env/index.js';
import { encodeInfo } from '../../core/values.js';
import { checkedBody } from '../../http/request-guards.js';
import type { Rows, VectorSession } from '../../vector/vector-table.js';
import { packedStep, stepVectorBody } from './vector-wire.js';

// Rows as one flat frame, to be read without a parser: a header of five words, then arrays, then JSON where there is any.
// All little-endian:
//
//   0   'RVR1'
//   4   uint32 n, rows
//   8   uint32 d, elements of an observation
//   12  uint32 k, rows that ended and began anew (same_step)
//   16  uint32 j, bytes of JSON at the end
//   20  float32 obs [n, d], float32 reward [n], float32 final_obs [k, d],
//       uint8 terminated [n], uint8 truncated [n], uint8 final_mask [n], JSON {"infos"?, "final_info"?} [j]

export const ROWS_TYPE = 'application/vnd.reverie.rows';

const HEADER = 20;

/** @param json  what has no place in an array; undefined: nothing */
function encodeRows({ obs, reward, finalObs, terminated, truncated, finalMask }: Rows, json?: unknown): Buffer {
  const text = json === undefined ? '' : JSON.stringify(json);
  const rows = reward.length;
  const tail = Buffer.from(text);
  const floats = [obs, reward, finalObs];
  const flags = [terminated, truncated, finalMask];
  const length = HEADER + 4 * floats.reduce((sum, array) => sum + array.length, 0) + 3 * rows + tail.length;
  const frame = Buffer.allocUnsafe(length);
  frame.write('RVR1', 'latin1');
  const d = obs.length / rows;
  for (const [i, word] of [rows, d, finalObs.length / d, tail.length].entries()) frame.writeUInt32LE(word, 4 + 4 * i);
  let at = HEADER;
  for (const part of [...floats, ...flags, tail]) {
    const bytes = bytesOf(part);
    frame.set(bytes, at);
    at += bytes.length;
  }
  return frame;
}

/** The same memory as bytes; ours are little-endian, as every machine Node.js runs on by default. */
function bytesOf(array: Float32Array | Uint8Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Float32 rows that came as bytes; undefined unless there are `length` of them. */
function floatsOf(bytes: Uint8Array, length: number): Float32Array | undefined {
  if (bytes.byteLength !== 4 * length) return undefined;
  // A view needs its offset to be a multiple of four, which that of a network buffer need not be.
  if (bytes.byteOffset % 4 === 0) return new Float32Array(bytes.buffer, bytes.byteOffset, length);
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

export const JSON_TYPE = 'application/json';
export const MESSAGE_TYPE = 'application/msgpack';
export const BINARY_TYPES = [MESSAGE_TYPE, ROWS_TYPE] as const;

export type RowsFormat = typeof JSON_TYPE | (typeof BINARY_TYPES)[number];

// Plain MessagePack both ways: none of the library's extensions, which could make other things than data.
const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });

export interface StepMessage {
  readonly action: Float32Array;
  readonly requestId?: string;
}

/** @throws REQUEST_INVALID */
export function unpacked(bytes: Uint8Array): unknown {
  try {
    return unpackr.unpack(bytes);
  } catch (cause) {
    throw reverieError('REQUEST_INVALID', { problem: 'the body is no MessagePack' }, cause);
  }
}

export function packed(value: unknown): Buffer {
  return packr.pack(value);
}

/** A step's actions, as JSON has them. @throws REQUEST_INVALID */
export function stepOfJson(body: unknown, { batch }: VectorSession): StepMessage {
  const { action, request_id: requestId } = checkedBody(stepVectorBody, body);
  const isNested = Array.isArray(action[0]);
  const given = isNested ? (action as number[][]) : [];
  if (isNested && (given.length !== batch.rows || given.some((row) => row.length !== batch.actionDim))) {
    throw sizeWrong(batch, `${given.length} rows of ${given[0].length}`);
  }
  const flat = action.flat() as number[];
  if (flat.length !== batch.rows * batch.actionDim) throw sizeWrong(batch, `${flat.length} numbers`);
  return { action: Float32Array.from(flat), requestId };
}

/** As a decoded MessagePack message has them: float32 bytes. @throws REQUEST_INVALID */
export function stepOfMessage(body: unknown, session: VectorSession): StepMessage {
  const { action, request_id: requestId } = checkedBody(packedStep, body);
  return { action: stepOfBytes(action, session), requestId };
}

/** As nothing but the float32 bytes [rows, actionDim]. @throws REQUEST_INVALID */
export function stepOfBytes(bytes: Uint8Array, { batch }: VectorSession): Float32Array {
  const action = floatsOf(bytes, batch.rows * batch.actionDim);
  if (action === undefined) throw sizeWrong(batch, `${bytes.byteLength} bytes`);
  return action;
}

export function encodedRows(rows: Rows, format: RowsFormat, session: VectorSession): Buffer | object {
  const infos = session.infos ? { infos: rows.infos.map((info) => encodeInfo(info)) } : {};
  if (format === JSON_TYPE) return { ...jsonRows(rows), ...infos };
  const isPlain = !session.infos && rows.finalInfo.length === 0;
  const told = isPlain ? undefined : { ...infos, final_info: rows.finalInfo.map((info) => encodeInfo(info)) };
  return format === ROWS_TYPE ? encodeRows(rows, told) : packed(messageOf(rows, told));
}

function messageOf({ obs, reward, terminated, truncated, finalMask, finalObs }: Rows, told: object = {}) {
  return {
    obs: bytesOf(obs),
    reward: bytesOf(reward),
    terminated,
    truncated,
    final_mask: finalMask,
    final_obs: bytesOf(finalObs),
    ...told,
  };
}

function jsonRows({ obs, reward, terminated, truncated, finalMask, finalObs, finalInfo }: Rows) {
  const flags = (values: Uint8Array) => Array.from(values, Boolean);
  const ended = rowsOf(finalObs, finalInfo.length);
  // The place of a row among those that ended.
  const places = finalMask.map((_, row) => finalMask.subarray(0, row).reduce((sum, one) => sum + one, 0));
  const ofEnded = <T>(values: readonly T[]) =>
    Array.from(finalMask, (isFinal, row) => (isFinal === 1 ? values[places[row]] : null));
  return {
    obs: rowsOf(obs, reward.length),
    reward: Array.from(reward),
    terminated: flags(terminated),
    truncated: flags(truncated),
    final_obs: ofEnded(ended),
    final_info: ofEnded(finalInfo.map((info: Info) => encodeInfo(info))),
  };
}

function rowsOf(values: Float32Array, rows: number): number[][] {
  const size = values.length / rows;
  return Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * size, (row + 1) * size)));
}

function sizeWrong({ rows, actionDim }: VectorSession['batch'], given: string) {
  const wanted = `${rows} rows of ${actionDim} (float32, row after row: ${4 * rows * actionDim} bytes)`;
  return reverieError('REQUEST_INVALID', { problem: `action: ${given} where ${wanted} are needed` });
}
