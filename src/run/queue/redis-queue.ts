// The queue on Redis, by BullMQ: items, locks, their renewal, the return of what a lost worker held, and what became of each are its
// business. Descriptions of jobs and results lie beside them as keys, compressed as they come, so that a result is written once and for
// all before its item counts as done. See docs/distributed.md.

import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { describeIssues, ERROR_CATALOGUE, type ErrorCode, reverieError } from '../../core/errors.js';

/** Locks of one item that may be lost before it counts as failed. */
export const MAX_LOST = 3;

const PREFIX = 'reverie';
const CONNECT_MS = 10_000;
/** Seconds for which Redis keeps what was not collected. */
const KEPT_SECONDS = 7 * 24 * 3600;
export const KEPT = { removeOnComplete: { age: KEPT_SECONDS }, removeOnFail: { age: KEPT_SECONDS } };

/** Times that an item is tried whose failure is unexpected, each time perhaps by another worker. */
export const TRIES = 3;

/** Of every item: it stays known until it is forgotten. */
export const ITEM_OPTIONS = { attempts: TRIES, stackTraceLimit: 0, ...KEPT } as const;

/**
 * User and password come from REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD, as command lines are recorded with runs.
 * @throws QUEUE_REFUSED
 */
export function parseQueueUrl(text: string, env: Readonly<Record<string, string | undefined>> = process.env) {
  const refuse = (problem: string) =>
    reverieError('QUEUE_REFUSED', {
      problem: `"${text.replace(/\/\/[^@/]*@/, '//***@')}" names no queue: ${problem}.`,
      hint: 'Give redis://host:port/name (rediss:// with TLS), the name of letters, digits, dashes and underscores.',
    });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.username !== '' || url.password !== ''))
    throw refuse('it holds a user or password, which belong into REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD');
  const name = url?.pathname.slice(1) || 'reverie';
  const isNamed = /^[A-Za-z0-9_-]{1,64}$/.test(name);
  const isBare = url !== undefined && url.hostname !== '' && url.search === '' && url.hash === '';
  if (!isNamed || !isBare || !['redis:', 'rediss:'].includes(url.protocol)) throw refuse('it is of no known form');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? 6379 : Number(url.port);
  const { REVERIE_QUEUE_USER: user, REVERIE_QUEUE_PASSWORD: password } = env;
  return { tls: url.protocol === 'rediss:', host, port, name, user, password };
}

/** One process's end of a queue. */
export class RowQueue {
  private isDown = false;
  private isClosing = false;

  private constructor(
    readonly name: string,
    /** `redis://host:port/name` */
    readonly url: string,
    readonly redis: Redis,
    readonly items: Queue,
    /** What BullMQ's other ends of this queue are made with. */
    readonly options: { readonly connection: object; readonly prefix: string },
    private readonly log: (line: string) => void,
  ) {
    redis.on('error', (error: Error) => {
      if (!this.isDown && !this.isClosing)
        log(`The queue at ${url} does not answer (${reasonOf(error)}); waiting for it.`);
      this.isDown = true;
    });
    redis.on('ready', () => {
      if (this.isDown && !this.isClosing) this.log(`The queue at ${url} answers again.`);
      this.isDown = false;
    });
    // Said once, by the connection above.
    items.on('error', () => {});
  }

  /** @param log  for people: when the queue stops or starts answering. @throws QUEUE_REFUSED where it does not answer at first */
  static async open(text: string, log: (line: string) => void): Promise<RowQueue> {
    const { host, port, user: username, password, tls, name } = parseQueueUrl(text);
    const [{ Queue }, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')]);
    const address = { host, port, username, password, ...(tls ? { tls: {} } : {}) };
    const url = `redis${tls ? 's' : ''}://${host}:${port}/${name}`;
    const probe = new Redis({ ...address, lazyConnect: true, connectTimeout: CONNECT_MS, retryStrategy: () => null });
    let problem: Error | undefined;
    probe.on('error', (error: Error) => {
      problem ??= error;
    });
    try {
      await probe.connect();
      await probe.ping();
    } catch (error) {
      const values = {
        problem: `The queue at ${url} cannot be used: ${reasonOf(problem ?? (error as Error))}.`,
        hint: 'See that Redis runs there and lets this machine in; docs/distributed.md says how.',
      };
      throw reverieError('QUEUE_REFUSED', values, problem ?? error);
    } finally {
      probe.disconnect();
    }
    const patient = { maxRetriesPerRequest: null, retryStrategy: (times: number) => Math.min(200 * times, 2000) };
    const options = { connection: { ...address, ...patient }, prefix: PREFIX };
    return new RowQueue(name, url, new Redis(options.connection), new Queue(name, options), options, log);
  }

  /** Keeps `bytes` unless something is kept there; answers whether it did. */
  async put(kind: 'job' | 'result', id: string, bytes: Uint8Array): Promise<boolean> {
    const key = this.keyOf(kind, id);
    const isFirst = (await this.redis.set(key, Buffer.from(bytes), 'EX', KEPT_SECONDS, 'NX')) === 'OK';
    if (!isFirst) await this.redis.expire(key, KEPT_SECONDS);
    return isFirst;
  }

  async get(kind: 'job' | 'result', id: string): Promise<Uint8Array | undefined> {
    return (await this.redis.getBuffer(this.keyOf(kind, id))) ?? undefined;
  }

  /** Lets go of an item that ended, and of its result. */
  async forget(id: string): Promise<void> {
    const item = await this.items.getJob(id);
    if (item !== undefined && !['completed', 'failed'].includes(await item.getState())) return;
    await item?.remove();
    await this.redis.del(this.keyOf('result', id));
  }

  async close(): Promise<void> {
    this.isClosing = true;
    this.redis.disconnect();
    await this.items.close();
  }

  private keyOf(kind: string, id: string): string {
    return [`${PREFIX}-kept`, this.name, kind, id].join(':');
  }
}

function reasonOf({ message, name }: Error): string {
  return message || name;
}

// What coordinator and workers send each other, as schemas: nothing that does not fit is believed.

export const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const amount = z.number().min(0);

/** An item of the queue: the job that it is of, and its row, a parcel. */
export const itemSchema = z.object({ job: hex64, payload: z.base64() });

/** A row, with all that rows before it decide. */
export const rowSchema = z.strictObject({ row: z.int().min(0), task: z.string() });
export type RowMessage = z.output<typeof rowSchema>;

export const costSchema = z.strictObject({
  ...{ calls: amount, promptTokens: amount, cachedTokens: amount, completionTokens: amount, money: amount },
});

/** What a worker adds to a result: what it spent since it last said so. */
export const noteSchema = z.strictObject({ spent: costSchema });

/** Why a row failed, as the worker threw it. */
export const failureSchema = z.strictObject({
  error: z.strictObject({
    ...{ name: z.string(), message: z.string(), stack: z.string().optional() },
    code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(ERROR_CATALOGUE, code)).optional(),
    values: z.record(z.string(), z.string()).optional(),
  }),
  note: noteSchema,
});

/** Nothing that is larger than this when it is unpacked is read. */
const MAX_BYTES = 256 << 20;
const compress = promisify(gzip);
const decompress = promisify(gunzip);

export function packParcel(value: unknown): Promise<Uint8Array> {
  return compress(JSON.stringify(value));
}

/** The value, as it was packed: same keys, same order. `what` names it in errors. @throws QUEUE_REFUSED */
export async function openParcel<S extends z.ZodType>(
  bytes: Uint8Array,
  schema: S,
  what: string,
): Promise<z.output<S>> {
  let value: unknown;
  try {
    value = JSON.parse((await decompress(bytes, { maxOutputLength: MAX_BYTES })).toString('utf8'));
  } catch (error) {
    throw strayMessage(what, (error as Error).message, error);
  }
  checkedMessage(value, schema, what);
  // What the schema makes of it would have its keys in the schema's order.
  return value as z.output<S>;
}

/** @throws QUEUE_REFUSED */
export function checkedMessage<S extends z.ZodType>(value: unknown, schema: S, what: string): z.output<S> {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  throw strayMessage(what, describeIssues(checked.error));
}

export function strayMessage(what: string, problem: string, cause?: unknown): Error {
  const values = {
    problem: `The queue holds something else where ${what} should be: ${problem}.`,
    hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
  };
  return reverieError('QUEUE_REFUSED', values, cause);
}

/** Resolves when `work` is over, however it ended, or after `ms`. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(timer);
}

/** What is said of a setting that stands against a queue. */
export function queueUnsuited(setting: string, problem: string): Error {
  return reverieError('QUEUE_REFUSED', {
    problem: `${setting} cannot be used with --queue: ${problem}.`,
    hint: 'Set it otherwise, or leave --queue out: one process can do it.',
  });
}
