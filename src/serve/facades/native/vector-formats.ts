// Batches of rows between memory and the wire, in three forms that say the same: JSON to look at, MessagePack, and one flat
// frame (rows-frame.ts).

import { Packr, Unpackr } from 'msgpackr';
import { reverieError } from '../../../core/errors.js';
import type { Info } from '../../../env/index.js';
import { encodeInfo } from '../../core/values.js';
import { checkedBody } from '../../http/request-check.js';
import type { Rows, VectorSession } from '../../vector/vector-session.js';
import { bytesOf, encodeRows, floatsOf, ROWS_TYPE } from './rows-frame.js';
import { packedStep, stepVectorBody } from './vector-schemas.js';

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
