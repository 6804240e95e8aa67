// What a worker does with rows: which it refuses, what it gives back, and what of it is ever written to a queue.

import { appendFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { Budget } from '../../../src/llm/budget.js';
import { taskStage } from '../../../src/run/pipeline/tools/gates.js';
import { makeParts } from '../../../src/run/pipeline/tools/rows.js';
import { makeProgress } from '../../../src/run/progress.js';
import { RowCoordinator } from '../../../src/run/queue/coordinator.js';
import { openParcel, packParcel, parseQueueUrl, RowQueue } from '../../../src/run/queue/redis-queue.js';
import { describedJob, type JobDescription } from '../../../src/run/queue/row-job.js';
import { work } from '../../../src/run/queue/worker.js';
import { loadToolsScenario, type ToolsScenario } from '../../../src/run/scenario.js';
import { planRow } from '../../../src/synth/episodes/run-episode.js';
import { type ControlledModel, startControlledModel } from '../../controlled/controlled-model.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { freePort } from '../../free-port.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';
import { type Broker, missingBroker, startBroker } from './brokers.js';

const KEY = 'sk-very-secret-5d1f';
const folder = temporaryFolder('worker-test');
let model: ControlledModel;
/** Whether the model leaves its callers waiting. */
let isSilent = false;

beforeAll(async () => {
  process.env.REVERIE_TEST_KEY = KEY;
  const server = { apiKey: KEY, before: () => isSilent };
  model = await startControlledModel({ domain: await nativeDomain('helpdesk'), seed: 1, server });
});

afterAll(async () => {
  delete process.env.REVERIE_TEST_KEY;
  await model.close();
});

const missing = missingBroker;
let broker: Broker;
let queue: RowQueue;
let url: string;
let queues = 0;
const progress = makeProgress({ stream: recordingStream(), quiet: true });

beforeAll(async () => {
  if (missing === undefined) broker = await startBroker();
});
afterAll(() => broker?.stop());

beforeEach(async (test) => {
  if (missing !== undefined) return test.skip();
  url = broker.url(`rows-${queues++}`);
  queue = await RowQueue.open(url, () => {});
});
afterEach(() => queue?.close());

const quick = ['experience.logs=[]'];

function asked(): string[] {
  const llm = ['provider=openai-compatible', `url=${model.url}`, 'model=m', 'apiKeyEnv=REVERIE_TEST_KEY'];
  return [...quick, 'model.backends=[llm]', 'agent.kind=llm', 'user.kind=llm', ...llm.map((one) => `llm.${one}`)];
}

/** What a coordinator would tell of the job, and its first task. */
async function described(scenario: ToolsScenario, name: string) {
  const out = join(folder, name);
  const { seed } = scenario.config;
  const parts = await makeParts({ scenario, out, log: () => {} });
  try {
    const context = { scenario, seed, out, inputs: {}, progress, log: () => {} };
    const { domain, tasks } = await taskStage(context as never, parts);
    const { responder, user, agent } = parts;
    const versions = { domain: domain.version, responder: responder.version, user: user.version, agent: agent.version };
    const facts = { tasks: [], withheld: null, versions: { ...versions, judge: null } };
    return { description: describedJob(context, facts), task: tasks[0] };
  } finally {
    await parts.close();
  }
}

function coordinate(description: JobDescription, budget = new Budget({})): Promise<RowCoordinator> {
  return RowCoordinator.begin({ queue, description, budget, window: 0, log: () => {}, onTick: () => {} });
}

const working = (
  signal: AbortSignal,
  more: { readonly files?: string; readonly grace?: number; readonly idle?: number } = {},
) => work({ queue: url, concurrency: 2, grace: 0, ...more }, progress, signal);

/** Everything that Redis holds, unpacked. */
async function kept(): Promise<string[]> {
  const found: string[] = [];
  const text = (bytes: Buffer) => (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString();
  for (const key of await queue.redis.keys('*')) {
    const type = await queue.redis.type(key);
    if (type === 'string') found.push(text((await queue.redis.getBuffer(key))!));
    if (type !== 'hash') continue;
    const { data = '{}', ...rest } = await queue.redis.hgetall(key);
    const { payload = '' } = JSON.parse(data) as { payload?: string };
    found.push(JSON.stringify(rest), text(Buffer.from(payload, 'base64')));
  }
  return found;
}

const planned = (task: Awaited<ReturnType<typeof described>>['task'], row: number) => {
  return { plan: planRow(row, { seed: 0, groupSize: 1, branchAt: 0 }), task };
};

describe('a worker', () => {
  it('runs rows with its own key, which is never written to the queue, and ends when none come', async () => {
    const scenario = await loadToolsScenario('helpdesk', { set: asked() });
    const { description, task } = await described(scenario, 'secret');
    const coordinator = await coordinate(description);
    const stop = new AbortController();
    const ended = working(stop.signal, { idle: 1, grace: 20 });
    const rows = [0, 1, 2].map((row) => coordinator.run(planned(task, row), stop.signal));
    expect((await Promise.all(rows)).map(({ row }) => row)).toEqual([0, 1, 2]);
    const texts = await kept();
    // Description, rows, episodes, notes: all of it is there to be searched.
    expect(texts.some((text) => text.includes('REVERIE_TEST_KEY'))).toBe(true);
    expect(texts.some((text) => text.includes('"verdict"'))).toBe(true);
    expect(texts.filter((text) => text.includes(KEY))).toEqual([]);
    expect(model.server.requests.length).toBeGreaterThan(0);
    await coordinator.close();
    expect(await ended).toMatchObject({ rows: 3, failed: 0 });
  });

  const refused: readonly (readonly [string, (description: JobDescription) => JobDescription, RegExp])[] = [
    ['version of Reverie', (job) => ({ ...job, reverie: '99.0.0' }), /version of Reverie of its job is 99\.0\.0/],
    ['scenario', (job) => ({ ...job, scenario: '0'.repeat(64) }), /scenario's hash/],
  ];

  it.each(refused)('refuses rows of a job with another %s, and gives them back', async (what, change, words) => {
    const scenario = await loadToolsScenario('helpdesk', { set: quick });
    const { description, task } = await described(scenario, `other-${what}`);
    const coordinator = await coordinate(change(description));
    const stop = new AbortController();
    coordinator.run(planned(task, 0), stop.signal).catch(() => {});
    const refusal = working(stop.signal);
    await expect(refusal).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    await expect(refusal).rejects.toThrow(words);
    expect(await queue.items.getJobCounts('waiting', 'active')).toEqual({ waiting: 1, active: 0 });
    stop.abort();
    await coordinator.close();
  });

  it('runs rows of a scenario that lies elsewhere here, as long as its files are the same', async () => {
    const there = join(folder, 'there');
    const here = join(folder, 'here');
    for (const place of [there, here]) cpSync((await loadToolsScenario('helpdesk')).folder, place, { recursive: true });
    const { description, task } = await described(await loadToolsScenario(there, { set: quick }), 'elsewhere');
    rmSync(there, { recursive: true });
    const coordinator = await coordinate(description);
    const over = new AbortController();
    const stop = new AbortController();
    const ended = working(stop.signal, { files: here });
    expect((await coordinator.run(planned(task, 0), over.signal)).row).toBe(0);
    stop.abort();
    await ended;
    appendFileSync(join(here, 'policy.md'), '\nBe rude.\n');
    void coordinator.run(planned(task, 1), over.signal).catch(() => {});
    const changed = working(new AbortController().signal, { files: here });
    await expect(changed).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    over.abort(new Error('over'));
    await coordinator.close();
  });

  it('says what a row cost, though other jobs came before the row was kept', async () => {
    const { description, task } = await described(await loadToolsScenario('helpdesk', { set: asked() }), 'costly');
    const [stop, over, budget] = [new AbortController(), new AbortController(), new Budget({})];
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isHeld = false;
    const { put } = RowQueue.prototype;
    vi.spyOn(RowQueue.prototype, 'put').mockImplementation(async function (this: RowQueue, kind, ...given) {
      if (kind === 'result' && !isHeld) {
        isHeld = true;
        await isReleased;
      }
      return put.call(this, kind, ...given);
    });
    const ended = working(stop.signal);
    const coordinators = [await coordinate(description, budget)];
    const row = coordinators[0].run(planned(task, 0), over.signal);
    await vi.waitFor(() => expect(isHeld).toBe(true), 20_000);
    // One more than a worker keeps.
    for (const run of ['1', '2', '3', '4']) {
      const other = await coordinate({ ...description, run: run.repeat(64) });
      coordinators.push(other);
      await other.run(planned(task, 0), over.signal);
    }
    release();
    await row;
    expect(budget.spent.calls).toBeGreaterThan(0);
    vi.restoreAllMocks();
    stop.abort();
    await ended;
    for (const coordinator of coordinators) await coordinator.close();
  });

  it('gives back what it cannot end in time when it is asked to stop', async () => {
    const { description, task } = await described(await loadToolsScenario('helpdesk', { set: asked() }), 'stopping');
    const coordinator = await coordinate(description);
    const [stop, over] = [new AbortController(), new AbortController()];
    for (const row of [0, 1, 2]) coordinator.run(planned(task, row), over.signal).catch(() => {});
    const before = model.server.requests.length;
    isSilent = true;
    const ended = working(stop.signal);
    while (model.server.requests.length === before) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    const { rows, givenBack, failed } = await ended;
    isSilent = false;
    expect({ rows, failed }).toEqual({ rows: 0, failed: 0 });
    expect(givenBack).toBeGreaterThan(0);
    expect(await queue.items.getJobCounts('waiting', 'active')).toEqual({ waiting: 3, active: 0 });
    over.abort(new Error('over'));
    await coordinator.close();
  });
});

describe('the URL of a queue', () => {
  it('says place and name, and takes user and password from the environment alone', () => {
    expect(parseQueueUrl('redis://box:7000/desk', {})).toMatchObject({ name: 'desk', host: 'box', port: 7000 });
    expect(parseQueueUrl('rediss://[::1]/x', {})).toMatchObject({ host: '::1', tls: true, name: 'x', port: 6379 });
    const env = { REVERIE_QUEUE_USER: 'me', REVERIE_QUEUE_PASSWORD: 'hush' };
    expect(parseQueueUrl('redis://box', env)).toMatchObject({ user: 'me', password: 'hush', name: 'reverie' });
    const refused = () => parseQueueUrl('redis://me:hush@box/x', {});
    expect(refused).toThrow(expect.objectContaining({ code: 'QUEUE_REFUSED' }));
    expect(refused).not.toThrow(/hush/);
  });

  it.each(['http://box/x', 'box:6379', 'redis://box/a/b', 'redis://box/x?db=2'])(
    'is refused where it is none: %s',
    (text) => expect(() => parseQueueUrl(text, {})).toThrow(expect.objectContaining({ code: 'QUEUE_REFUSED' })),
  );

  it('is refused where nothing answers', async () => {
    const nowhere = `redis://127.0.0.1:${await freePort()}/x`;
    await expect(RowQueue.open(nowhere, () => {})).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
  });
});

describe('a parcel', () => {
  const schema = z.object({ a: z.number(), b: z.string() });

  it('brings what was packed, keys in their order', async () => {
    const value = { z: [1, null, { y: 0.1, x: 'ü' }], b: 'text', a: 1 };
    expect(JSON.stringify(await openParcel(await packParcel(value), schema, 'it'))).toBe(JSON.stringify(value));
  });

  it.each([
    ['no JSON', gzipSync('{"a":')],
    ['not compressed', Buffer.from('{"a":1,"b":"x"}')],
    ['of another shape', gzipSync('{"a":"1","b":"x"}')],
    ['larger than anything is', gzipSync(Buffer.alloc(300 << 20, 32))],
  ])('is refused if it is %s', async (_, bytes) => {
    await expect(openParcel(bytes, schema, 'it')).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
  });
});
