// Offline batches: requests that the cache lacks go into JSONL files in OpenAI's form, and the files of results that a
// batch brings go into the cache. A trajectory of many turns is asked in waves, one turn of all episodes at a time.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { ReverieError, reverieError } from '../core/errors.js';
import { storageError, writeFileAtomic } from '../store/atomic-file.js';
import type { ServerConfig } from './config.js';
import { Capabilities } from './dialect.js';
import type { PreparedRequest } from './prepared-request.js';
import { openReplyStore, type ReplyStore } from './reply-store.js';
import { requestBody } from './request-body.js';

export interface BatchLine {
  /** Key of the request in the cache: 64 characters, the most that is allowed. */
  readonly id: string;
  /** The line's JSON. */
  readonly text: string;
}

/** Of a file, as OpenAI, vLLM and Together take it; one megabyte less than the smallest limit. */
const MAX_LINES = 50_000;
const MAX_BYTES = 99_000_000;

export function batchLine(id: string, prepared: PreparedRequest, config: ServerConfig): BatchLine {
  // Nobody can be asked what it accepts: `auto` is OpenAI's own, which vLLM and Together take too.
  const dialect = config.dialect === 'auto' ? 'openai' : config.dialect;
  const capabilities = new Capabilities(config.structured);
  const body = requestBody(prepared, { config: { ...config, stream: false }, dialect, capabilities });
  return { id, text: `{"custom_id":"${id}","method":"POST","url":"/v1/chat/completions","body":${body.text}}` };
}

/**
 * Writes lines, equal ones once and in order of their keys, to `path`, and where they are too many for a file to
 * `path` with `-2`, `-3` and so on before its ending. Answers the files. Throws STORAGE_FULL or STORAGE_FAILED.
 */
export async function writeBatchFiles(path: string, lines: Iterable<BatchLine>): Promise<string[]> {
  const texts = new Map([...lines].map(({ id, text }) => [id, text]));
  const files: string[] = [];
  let chunk: string[] = [];
  let bytes = 0;
  const finish = async (): Promise<void> => {
    const file = files.length === 0 ? path : path.replace(/(\.[^./\\]*)?$/, `-${files.length + 1}$1`);
    await writeFileAtomic(file, chunk.join(''));
    files.push(file);
    chunk = [];
    bytes = 0;
  };
  for (const id of [...texts.keys()].sort()) {
    const line = `${texts.get(id)}\n`;
    const size = Buffer.byteLength(line);
    if (chunk.length > 0 && (chunk.length === MAX_LINES || bytes + size > MAX_BYTES)) await finish();
    chunk.push(line);
    bytes += size;
  }
  if (chunk.length > 0) await finish();
  return files;
}

export interface BatchResults {
  /** Replies that are in the cache now. */
  readonly imported: number;
  /** Requests that the batch could not answer; they are still missing. */
  readonly failed: number;
}

/**
 * Reads a file of results into the cache of a folder; they are checked when they are first asked for. Throws
 * BATCH_RESULTS_INVALID with the number of the line that is no result, keeping those before it.
 */
export async function readBatchResults(path: string, cacheFolder: string): Promise<BatchResults> {
  const store = await openReplyStore(cacheFolder, 0);
  let imported = 0;
  let failed = 0;
  try {
    for await (const { number, line } of numberedLines(path)) {
      if (importLine(store, readResult(path, number, line))) imported++;
      else failed++;
    }
  } catch (error) {
    throw error instanceof ReverieError ? error : storageError(path, error);
  } finally {
    await store.close();
  }
  return { imported, failed };
}

interface Result {
  readonly id: string;
  readonly status: unknown;
  readonly body: unknown;
}

async function* numberedLines(path: string): AsyncIterable<{ number: number; line: string }> {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    number++;
    if (line.trim() !== '') yield { number, line };
  }
}

function readResult(path: string, line: number, text: string): Result {
  try {
    const { custom_id: id, response } = JSON.parse(text);
    if (typeof id !== 'string' || !/^[0-9a-f]{64}$/.test(id)) throw new Error('its custom_id is none of ours');
    return { id, status: response?.status_code, body: response?.body };
  } catch (error) {
    throw reverieError('BATCH_RESULTS_INVALID', { path, line, problem: (error as Error).message }, error);
  }
}

function importLine(store: ReplyStore, { id, status, body }: Result): boolean {
  // Some runners leave the status out or write 0 where all is well.
  const isWell = (status === 200 || !status) && typeof body === 'object' && body !== null && 'choices' in body;
  if (isWell) store.put(id, { kind: 'completion', body });
  return isWell;
}
