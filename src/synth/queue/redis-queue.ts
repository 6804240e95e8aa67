// The queue on Redis: BullMQ keeps items, leases and what became of them; descriptions and results lie beside them as
// plain keys, compressed as they come, so that a result is written once and for all before its item counts as done.

import { type Job, Queue, QueueEvents, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode, type PackedError, packError, reverieError } from '../../core/errors.js';
import {
  checkedMessage,
  DEFAULT_LEASE_MS,
  KEPT_SECONDS,
  type Lease,
  type LeaseOptions,
  MAX_LOST_LEASES,
  type Outcome,
  PRESENCE_MS,
  type QueueAddress,
  type QueueOptions,
  type QueueStats,
  type Refusal,
  type RolloutItem,
  type RolloutQueue,
  type RolloutResultBytes,
  type WorkerPresence,
} from './rollout-queue.js';

const PREFIX = 'reverie';
const JOB_NAME = 'rollout';
/** Longest block on an empty queue, seconds: so soon a wait that is called off ends. */
const BLOCK_SECONDS = 1;
const MIN_CHECK_MS = 500;
const CONNECT_MS = 10_000;
/** Longest text of an error that is passed on. */
const MAX_TEXT = 4000;

const kept = { age: KEPT_SECONDS };
const dataSchema = z.object({ job: z.string().regex(/^[0-9a-f]{64}$/), payload: z.base64() });

/** `error` null: its leases ran out. */
const failureSchema = z.strictObject({
  error: z
    .strictObject({
      name: z.string(),
      message: z.string(),
      stack: z.string().optional(),
      code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(ERROR_CATALOGUE, code)).optional(),
      values: z.record(z.string(), z.string()).optional(),
    })
    .nullable(),
  note: z.string(),
});

/** @throws QUEUE_REFUSED */
export async function openRedisQueue(address: QueueAddress, options: QueueOptions): Promise<RolloutQueue> {
  const { host, port, user: username, password, tls } = address;
  const connection = { host, port, username, password, ...(tls ? { tls: {} } : {}) };
  await requireAnswer(connection, addressText(address));
  return new RedisQueue(address, options, {
    ...connection,
    maxRetriesPerRequest: null,
    retryStrategy: (times: number) => Math.min(200 * times, 2000),
  });
}

function addressText({ host, port, name, tls }: QueueAddress): string {
  return `redis${tls ? 's' : ''}://${host}:${port}/${name}`;
}

async function requireAnswer(connection: object, address: string): Promise<void> {
  const probe = new Redis({ ...connection, lazyConnect: true, connectTimeout: CONNECT_MS, retryStrategy: () => null });
  let problem: Error | undefined;
  probe.on('error', (error: Error) => {
    problem ??= error;
  });
  try {
    await probe.connect();
    await probe.ping();
  } catch (error) {
    const cause = problem ?? (error as Error);
    const values = {
      problem: `The queue at ${address} cannot be used: ${cause.message || cause.name}.`,
      hint: 'See that Redis runs there and lets this machine in; docs/distributed.md says how.',
    };
    throw reverieError('QUEUE_REFUSED', values, cause);
  } finally {
    probe.disconnect();
  }
}

class RedisQueue implements RolloutQueue {
  private readonly redis: Redis;
  private readonly queue: Queue;
  private readonly enqueued = new Set<string>();
  private readonly jobs = new Map<string, Job>();
  private events: Promise<QueueEvents> | undefined;
  private worker: Worker | undefined;
  private leases = 0;
  private listener: (outcome: Outcome) => void = () => {};
  private isDown = false;
  private isClosing = false;

  constructor(
    private readonly address: QueueAddress,
    private readonly options: QueueOptions,
    private readonly connection: object,
  ) {
    this.redis = new Redis(connection);
    this.queue = new Queue(address.name, { connection, prefix: PREFIX });
    this.redis.on('ready', () => {
      if (this.isDown && !this.isClosing) options.onTrouble?.(`The queue at ${addressText(address)} answers again.`);
      this.isDown = false;
    });
    this.reportErrors(this.redis);
    this.reportErrors(this.queue);
  }

  async describe(job: string, description: Uint8Array): Promise<void> {
    const key = this.key('job', job);
    await this.redis.set(key, Buffer.from(description), 'EX', KEPT_SECONDS, 'NX');
    await this.redis.expire(key, KEPT_SECONDS);
  }

  async description(job: string): Promise<Uint8Array | undefined> {
    return (await this.redis.getBuffer(this.key('job', job))) ?? undefined;
  }

  async enqueue(batch: readonly RolloutItem[]): Promise<void> {
    this.events ??= this.listen();
    await this.events;
    await Promise.all(batch.map((item) => this.enqueueOne(item)));
  }

  private async enqueueOne({ id, job, payload }: RolloutItem): Promise<void> {
    this.enqueued.add(id);
    const known: Job | undefined = await this.queue.getJob(id);
    const state = await known?.getState();
    if (state === 'completed' && (await this.succeeded(id, String(known!.returnvalue)))) return;
    if (known !== undefined && state !== 'completed' && state !== 'failed') return;
    await known?.remove();
    const data = { job, payload: Buffer.from(payload).toString('base64') };
    const opts = { jobId: id, attempts: 1, stackTraceLimit: 0, removeOnComplete: kept, removeOnFail: kept };
    await this.queue.add(JOB_NAME, data, opts);
  }

  async cancel(ids: readonly string[]): Promise<readonly string[]> {
    const cancelled = await Promise.all(ids.map((id) => this.cancelOne(id)));
    return ids.filter((_, i) => cancelled[i]);
  }

  private async cancelOne(id: string): Promise<boolean> {
    const job: Job | undefined = await this.queue.getJob(id);
    if (job === undefined || (await job.getState()) !== 'waiting') return false;
    // A failure: somebody took it just now.
    return job.remove().then(
      () => true,
      () => false,
    );
  }

  onOutcome(listener: (outcome: Outcome) => void): void {
    this.listener = listener;
  }

  async forget(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.forgetOne(id)));
  }

  private async forgetOne(id: string): Promise<void> {
    this.enqueued.delete(id);
    const job: Job | undefined = await this.queue.getJob(id);
    if (job !== undefined && !['completed', 'failed'].includes(await job.getState())) return;
    await job?.remove();
    await this.redis.del(this.key('result', id));
  }

  async lease(n: number, { waitMs = 0, signal }: LeaseOptions = {}): Promise<readonly Lease[]> {
    const worker = this.leasing();
    const until = Date.now() + waitMs;
    const leases: Lease[] = [];
    while (leases.length < n && !signal?.aborted) {
      const block = leases.length === 0 && Date.now() < until;
      const token = `${worker.id}-${this.leases++}`;
      const job: Job | undefined = await worker.getNextJob(token, { block });
      if (job !== undefined) leases.push(...(await this.leased(job, token)));
      else if (!block || worker.closing) break;
    }
    return leases;
  }

  /** Nothing if the item has been lost too often, or is no item. */
  private async leased(job: Job, token: string): Promise<Lease[]> {
    if (job.deferredFailure !== undefined) {
      await moveToFailed(job, token, null, '');
      return [];
    }
    try {
      const data = checkedMessage(job.data, dataSchema, `rollout ${job.id}`);
      this.jobs.set(token, job);
      return [{ token, item: { id: job.id!, job: data.job, payload: Buffer.from(data.payload, 'base64') } }];
    } catch (error) {
      await moveToFailed(job, token, packError(error as Error), '');
      return [];
    }
  }

  async heartbeat(leases: readonly Lease[]): Promise<readonly Lease[]> {
    if (leases.length === 0) return [];
    const ids = leases.map(({ item }) => item.id);
    const tokens = leases.map(({ token }) => token);
    const lost = new Set(await this.leasing().extendJobLocks(ids, tokens, this.leaseMs));
    return leases.filter(({ item }) => lost.has(item.id));
  }

  async ack(lease: Lease, { bytes, note }: RolloutResultBytes): Promise<boolean> {
    const { id } = lease.item;
    const key = this.key('result', id);
    const isFirst = (await this.redis.set(key, Buffer.from(bytes), 'EX', KEPT_SECONDS, 'NX')) === 'OK';
    try {
      await this.settled(lease)?.moveToCompleted(note, lease.token, false);
    } catch {
      // The lease was lost. The result stands for the next worker that runs it, unless none will.
      if ((await this.queue.getJob(id)) !== undefined) return isFirst;
      if (isFirst) await this.redis.del(key);
      return false;
    }
    return isFirst;
  }

  async nack(lease: Lease, refusal: Refusal): Promise<void> {
    const job = this.settled(lease);
    if (job === undefined) return;
    try {
      if (refusal.kind === 'given-back') await job.moveToWait(lease.token);
      else await moveToFailed(job, lease.token, refusal.error, refusal.note);
    } catch {
      // The lease was lost: the item is another's business.
    }
  }

  async announce({ id }: WorkerPresence): Promise<void> {
    const key = this.key('workers');
    await this.redis.zadd(key, await this.now(), id);
    await this.redis.zremrangebyscore(key, '-inf', (await this.now()) - PRESENCE_MS);
  }

  async stats(): Promise<QueueStats> {
    const { waiting, active, completed, failed } = await this.queue.getJobCounts(
      ...(['waiting', 'active', 'completed', 'failed'] as const),
    );
    const workers = await this.redis.zcount(this.key('workers'), (await this.now()) - PRESENCE_MS, '+inf');
    return { queued: waiting, running: active, succeeded: completed, failed, workers };
  }

  async close(): Promise<void> {
    this.isClosing = true;
    this.redis.disconnect();
    const events = await this.events?.catch(() => undefined);
    await Promise.all([this.worker?.close(true), events?.close(), this.queue.close()]);
  }

  private get leaseMs(): number {
    return this.options.leaseMs ?? DEFAULT_LEASE_MS;
  }

  /** The end of the queue that takes items; also moves back those whose leases ran out. */
  private leasing(): Worker {
    if (this.worker !== undefined) return this.worker;
    const { leaseMs } = this;
    this.worker = new Worker(this.address.name, null, {
      connection: this.connection,
      prefix: PREFIX,
      autorun: false,
      lockDuration: leaseMs,
      stalledInterval: Math.max(MIN_CHECK_MS, leaseMs / 2),
      maxStalledCount: MAX_LOST_LEASES - 1,
      drainDelay: BLOCK_SECONDS,
      removeOnComplete: kept,
      removeOnFail: kept,
    });
    this.reportErrors(this.worker);
    void this.worker.startStalledCheckTimer();
    return this.worker;
  }

  /** Events from now on: outcomes of items enqueued from now on are among them. */
  private async listen(): Promise<QueueEvents> {
    const [last] = await this.redis.xrevrange(this.queue.toKey('events'), '+', '-', 'COUNT', 1);
    const lastEventId = last?.[0] ?? '0-0';
    const events = new QueueEvents(this.address.name, { connection: this.connection, prefix: PREFIX, lastEventId });
    this.reportErrors(events);
    events.on('completed', ({ jobId, returnvalue }) => {
      this.succeeded(jobId, String(returnvalue)).catch((error) => this.down(error));
    });
    events.on('failed', ({ jobId, failedReason }) => {
      if (!this.enqueued.has(jobId)) return;
      try {
        this.listener(failureOf(jobId, failedReason));
      } catch (error) {
        this.down(error);
      }
    });
    return events;
  }

  /** False if its result is gone. */
  private async succeeded(id: string, note: string): Promise<boolean> {
    if (!this.enqueued.has(id)) return true;
    const bytes = await this.redis.getBuffer(this.key('result', id));
    if (bytes !== null) this.listener({ id, state: 'succeeded', result: { bytes, note } });
    return bytes !== null;
  }

  private settled({ token }: Lease): Job | undefined {
    const job = this.jobs.get(token);
    this.jobs.delete(token);
    return job;
  }

  private key(...parts: readonly string[]): string {
    return [`${PREFIX}-kept`, this.address.name, ...parts].join(':');
  }

  /** Milliseconds by the server's clock, which all share. */
  private async now(): Promise<number> {
    const [seconds, microseconds] = await this.redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  private reportErrors(source: { on(event: 'error', listener: (error: Error) => void): unknown }): void {
    source.on('error', (error) => this.down(error));
  }

  private down(problem: unknown): void {
    if (this.isDown || this.isClosing) return;
    this.isDown = true;
    const reason = problem instanceof Error ? problem.message || problem.name : String(problem);
    this.options.onTrouble?.(`The queue at ${addressText(this.address)} does not answer (${reason}); waiting for it.`);
  }
}

async function moveToFailed(job: Job, token: string, error: PackedError | null, note: string): Promise<void> {
  const failure = new Error(JSON.stringify({ error: error && shortened(error), note }));
  failure.stack = '';
  await job.moveToFailed(failure, token, false);
}

/** @throws QUEUE_REFUSED */
export function failureOf(id: string, text: string): Extract<Outcome, { state: 'failed' }> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // What is no JSON fits no schema either.
  }
  const { error, note } = checkedMessage(value, failureSchema, `why rollout ${id} failed`);
  return { id, state: 'failed', error: (error as PackedError | null) ?? undefined, note };
}

function shortened({ name, message, stack, code, values }: PackedError): PackedError {
  const short = Object.entries(values ?? {}).map(([key, value]) => [key, value.slice(0, MAX_TEXT)]);
  return {
    name,
    message: message.slice(0, MAX_TEXT),
    ...(stack === undefined ? {} : { stack: stack.slice(0, MAX_TEXT) }),
    ...(code === undefined ? {} : { code, values: Object.fromEntries(short) }),
  };
}
