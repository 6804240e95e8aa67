// What travels over a queue: JSON, compressed, and checked against a schema where it arrives.

import { promisify } from 'node:util';
import { gunzip, gzip, gzipSync } from 'node:zlib';
import type { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';

/** Nothing that is larger than this when it is unpacked is read. */
const MAX_BYTES = 256 << 20;
/** Characters that are packed before a thread could be asked to. */
const SMALL = 4096;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Those that are small are ready in the order in which they were packed. */
export async function packParcel(value: unknown): Promise<Uint8Array> {
  const text = JSON.stringify(value);
  return text.length < SMALL ? gzipSync(text) : compress(text);
}

/**
 * The value, as it was packed: same keys, same order. `what` names it in errors.
 * @throws QUEUE_MESSAGE_INVALID
 */
export async function openParcel<S extends z.ZodType>(
  bytes: Uint8Array,
  schema: S,
  what: string,
): Promise<z.output<S>> {
  const value = await unpacked(bytes, what);
  const checked = schema.safeParse(value);
  if (!checked.success) {
    throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: describeIssues(checked.error) });
  }
  // What the schema makes of it would have its keys in the schema's order.
  return value as z.output<S>;
}

async function unpacked(bytes: Uint8Array, what: string): Promise<unknown> {
  try {
    return JSON.parse((await decompress(bytes, { maxOutputLength: MAX_BYTES })).toString('utf8'));
  } catch (error) {
    throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: (error as Error).message }, error);
  }
}
