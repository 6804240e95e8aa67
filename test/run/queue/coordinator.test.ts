// What a coordinator makes of what workers answer, over a real Redis; the workers are played by the tests.

import { type Job, UnrecoverableError, Worker } from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Cost, NO_COST } from '../../../src/core/cost.js';
import { packError, ReverieError, reverieError } from '../../../src/core/errors.js';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { Budget, type BudgetLimits } from '../../../src/llm/budget.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { RowCoordinator } from '../../../src/run/queue/coordinator.js';
import { MAX_LOST, packParcel, RowQueue } from '../../../src/run/queue/redis-queue.js';
import type { JobDescription } from '../../../src/run/queue/row-job.js';
import { episodeId, planRow } from '../../../src/synth/episodes/run-episode.js';
import { type Broker, missingBroker, startBroker } from './brokers.js';

const SCENARIO = 'a'.repeat(64);
const description: JobDescription = {
  format: 'reverie rollouts 2',
  run: 'b'.repeat(64),
  reverie: '0',
  seed: 3,
  scenario: SCENARIO,
  folder: { base: 'package', path: 'packs/helpdesk' },
  config: { name: 'helpdesk' },
  tasks: [],
  withheld: null,
  versions: { domain: 'd', responder: 'r', user: 'u', agent: 'a', judge: null },
};
const task = { id: 'reset', family: 'reset' } as ToolsTask;

const missing = missingBroker;
let broker: Broker;
let queue: RowQueue;
let worker: Worker;
let coordinator: RowCoordinator;
let stop: AbortController;
let leases = 0;

beforeAll(async () => {
  if (missing === undefined) broker = await startBroker();
});
afterAll(() => broker?.stop());

beforeEach(async (test) => {
  if (missing !== undefined) return test.skip();
  queue = await RowQueue.open(broker.url(`rows-${leases++}`), () => {});
  stop = new AbortController();
  worker = player();
});

afterEach(async () => {
  if (missing !== undefined) return;
  await coordinator.close();
  await worker.close(true);
  await queue.close();
});

function player(lockDuration = 60_000): Worker {
  const waits = { autorun: false, drainDelay: 1, maxStalledCount: MAX_LOST - 1, stalledInterval: 100 };
  return new Worker(queue.name, null, { ...queue.options, ...waits, lockDuration });
}

async function begin(limits: BudgetLimits = {}): Promise<void> {
  const budget = new Budget(limits);
  const options = { queue, description, budget, window: 0, log: () => {}, onTick: () => {} };
  coordinator = await RowCoordinator.begin(options);
}

const run = (row: number) => {
  const plan = planRow(row, { seed: description.seed, groupSize: 1, branchAt: 0 });
  const made = coordinator.run({ plan, task }, stop.signal);
  made.catch(() => {});
  return made;
};

interface Taken {
  readonly item: Job;
  readonly token: string;
}

async function taken(): Promise<Taken> {
  const token = `player-${leases++}`;
  for (;;) {
    const item = await worker.getNextJob(token, { block: true });
    if (item !== undefined) return { item, token };
  }
}

function record(row: number, more: object = {}): EpisodeRecord {
  return {
    ...{ id: episodeId(SCENARIO, description.seed, row), row, scenarioHash: SCENARIO, task: task.id },
    ...{ messages: [{ role: 'user', content: 'hello' }], steps: [], verdict: { reward: 1, checks: [] }, return: 1 },
    outcome: { kind: 'judged', cause: null, attempt: '1' },
    ...{ truncated: false, weight: 1, cost: NO_COST, ...more },
  } as unknown as EpisodeRecord;
}

const note = (spent: Partial<Cost> = {}) => ({ spent: { ...NO_COST, ...spent } });

async function done({ item, token }: Taken, value: object, spent?: Partial<Cost>): Promise<void> {
  await queue.put('result', item.id!, await packParcel(value));
  await item.moveToCompleted(JSON.stringify(note(spent)), token, false);
}

/** As a worker fails: what is expected is not tried again. */
const failureOf = (reason: string, error: unknown) =>
  error instanceof ReverieError ? new UnrecoverableError(reason) : new Error(reason);

const failed = ({ item, token }: Taken, error: unknown) =>
  item.moveToFailed(failureOf(JSON.stringify({ error: packError(error), note: note() }), error), token, false);

const counts = () => queue.items.getJobCounts('waiting', 'active', 'completed');

describe('a coordinator', () => {
  it.each([
    ['of another row', record(3)],
    ['no episode', { hello: 'world' }],
    ['of an unknown role', record(2, { messages: [{ role: 'root', content: 'x' }] })],
  ])('refuses a record that is %s', async (_, value) => {
    await begin();
    const made = run(2);
    await done(await taken(), value);
    await expect(made).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
  });

  it('throws what the worker threw, and knows whose fault it was', async () => {
    await begin();
    const made = run(0);
    const thrown = reverieError('USER_TURN_INVALID', { problem: 'no words', ofModel: true, retryable: false });
    await failed(await taken(), thrown);
    await expect(made).rejects.toMatchObject({ code: thrown.code, message: thrown.message });
    await expect(made).rejects.toMatchObject({ values: { ofModel: true, retryable: false } });
  });

  it('tries an unexpected failure again, then gives the row up', async () => {
    await begin();
    const made = run(0);
    const ids: string[] = [];
    for (let time = 0; time < 3; time++) {
      const one = await taken();
      ids.push(one.item.id!);
      await failed(one, new TypeError('x is undefined'));
    }
    await expect(made).rejects.toMatchObject({ code: 'ROLLOUT_GIVEN_UP' });
    await expect(made).rejects.toThrow(/x is undefined/);
    expect(new Set(ids).size).toBe(1);
  });

  it('gives up a row that no worker survives', async () => {
    await worker.close(true);
    worker = player(100);
    await worker.startStalledCheckTimer();
    await begin();
    const made = run(0);
    for (let time = 0; time < MAX_LOST; time++) await taken();
    const { item, token } = await taken();
    expect(item.deferredFailure).toBeDefined();
    await item.moveToFailed(new UnrecoverableError(item.deferredFailure), token, false);
    await expect(made).rejects.toMatchObject({ code: 'ROLLOUT_GIVEN_UP' });
  });

  it('stops cleanly when what workers spent reaches the budget: rows under way are kept, the others not begun', async () => {
    await begin({ calls: 10 });
    const rows = [0, 1, 2, 3].map(run);
    const [first, second] = [await taken(), await taken()];
    const rowOf = async ({ item }: Taken) => {
      const { payload } = item.data as { payload: string };
      return JSON.parse((await import('node:zlib')).gunzipSync(Buffer.from(payload, 'base64')).toString())
        .row as number;
    };
    const [one, other] = [await rowOf(first), await rowOf(second)];
    await done(first, record(one), { calls: 12 });
    for (const row of [0, 1, 2, 3].filter((row) => row !== one && row !== other))
      await expect(rows[row]).rejects.toMatchObject({ code: 'BUDGET_SPENT', values: { limit: 'calls', spent: 12 } });
    await done(second, record(other), { calls: 3 });
    expect((await rows[other]).row).toBe(other);
    await expect(run(4)).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
    expect(await counts()).toMatchObject({ waiting: 0, active: 0 });
  });

  it('cancels what is queued when it is stopped; a later one finds what was run meanwhile', async () => {
    await begin();
    const first = run(0);
    const lease = await taken();
    const second = run(1);
    while ((await counts()).waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    await expect(second).rejects.toThrow('enough');
    await coordinator.close();
    expect(await counts()).toMatchObject({ waiting: 0, active: 1 });
    await done(lease, record(0));
    stop = new AbortController();
    await begin();
    expect((await run(0)).row).toBe(0);
    coordinator.known(0);
    while ((await counts()).completed > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('does not wait for a row that was begun just before the stop', async () => {
    await begin();
    const made = run(0);
    // Within this turn of the event loop, in which no row is packed yet.
    for (let i = 0; i < 50; i++) await Promise.resolve();
    stop.abort(new Error('enough'));
    await expect(made).rejects.toThrow('enough');
    expect(await counts()).toMatchObject({ waiting: 0, active: 0 });
  }, 10_000);

  it('requests rows again, and describes their job again, where Redis has lost everything', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      await begin();
      const made = run(0);
      while ((await counts()).waiting === 0) await new Promise((resolve) => setImmediate(resolve));
      await queue.redis.flushall();
      while ((await counts()).waiting === 0) {
        vi.advanceTimersByTime(1000);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await done(await taken(), record(0));
      expect((await made).row).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
