// What a worker does with rows: which it refuses, what it gives back, and what of it is ever written to a queue.

import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Budget } from '../../../src/llm/budget.js';
import { makeParts } from '../../../src/run/pipeline/tools/parts.js';
import { taskStage } from '../../../src/run/pipeline/tools/task-stage.js';
import { makeProgress } from '../../../src/run/progress.js';
import { RowCoordinator } from '../../../src/run/queue/coordinator.js';
import { describedJob, type JobDescription } from '../../../src/run/queue/messages.js';
import { RowWorker, WorkerJobs } from '../../../src/run/queue/worker.js';
import { loadToolsScenario, type ToolsScenario } from '../../../src/run/scenario.js';
import { planRow } from '../../../src/synth/episodes/run-episode.js';
import { type ControlledModel, startControlledModel } from '../../controlled/controlled-model.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { InProcessBroker } from '../../synth/queue/in-process-queue.js';
import { recordingStream } from '../streams.js';
import { RecordingQueue } from './recording-queue.js';

const KEY = 'sk-very-secret-5d1f';
let folder: string;
let model: ControlledModel;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-worker-test-'));
  process.env.REVERIE_TEST_KEY = KEY;
  model = await startControlledModel({ domain: await nativeDomain('helpdesk'), seed: 1, server: { apiKey: KEY } });
});

afterAll(async () => {
  delete process.env.REVERIE_TEST_KEY;
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

let queue: RecordingQueue;
let broker: InProcessBroker;
beforeEach(() => {
  broker = new InProcessBroker();
  queue = new RecordingQueue(broker);
});

const quick = ['experience.logs=[]'];

function asked(): string[] {
  const llm = ['provider=openai-compatible', `url=${model.url}`, 'model=m', 'apiKeyEnv=REVERIE_TEST_KEY'];
  return [...quick, 'model.backends=[llm]', 'agent.kind=llm', 'user.kind=llm', ...llm.map((one) => `llm.${one}`)];
}

/** What a coordinator would tell of the job, and its first task. */
async function described(scenario: ToolsScenario, name: string) {
  const out = join(folder, name);
  const { seed } = scenario.config;
  const progress = makeProgress({ stream: recordingStream(), quiet: true });
  const parts = await makeParts({ scenario, out, log: () => {} });
  try {
    const context = { scenario, seed, out, inputs: {}, progress, log: () => {} };
    const { domain, tasks } = await taskStage(context as never, parts);
    const { responder, user, agent } = parts;
    const versions = { domain: domain.version, responder: responder.version, user: user.version, agent: agent.version };
    const facts = { tasks: [], withheld: undefined, versions: { ...versions, judge: null } };
    return { description: await describedJob(context, facts), task: tasks[0] };
  } finally {
    await parts.close();
  }
}

function coordinate(description: JobDescription): Promise<RowCoordinator> {
  const budget = new Budget({});
  return RowCoordinator.begin({ queue, url: '', description, budget, window: 0, log: () => {}, onTick: () => {} });
}

function makeWorker(files?: string, graceMs = 0) {
  const jobs = new WorkerJobs({ queue, folder: mkdtempSync(join(folder, 'w-')), files, log: () => {} });
  const worker = new RowWorker({
    queue,
    jobs,
    slots: 2,
    leaseMs: 60_000,
    graceMs,
    idleMs: Number.POSITIVE_INFINITY,
    onChange: () => {},
  });
  return { jobs, worker };
}

const planned = (task: Awaited<ReturnType<typeof described>>['task'], row: number) => {
  return { plan: planRow(row, { seed: 0, groupSize: 1, branchAt: 0 }), task, maxSteps: 10 };
};

describe('a worker', () => {
  it('lives rows with its own key, and nobody writes a key to the queue', async () => {
    const scenario = await loadToolsScenario('helpdesk', { set: asked() });
    const { description, task } = await described(scenario, 'secret');
    const coordinator = await coordinate(description);
    const { jobs, worker } = makeWorker();
    const stop = new AbortController();
    const working = worker.run(stop.signal);
    const rows = [0, 1, 2].map((row) => coordinator.run(planned(task, row), stop.signal));
    expect((await Promise.all(rows)).map(({ row }) => row)).toEqual([0, 1, 2]);
    await coordinator.close();
    stop.abort();
    expect(await working).toMatchObject({ done: 3, failed: 0 });
    await jobs.close();
    // Description, rows, episodes, notes: all of it is there to be searched.
    expect(queue.texts.length).toBeGreaterThan(9);
    expect(queue.texts.some((text) => text.includes('REVERIE_TEST_KEY'))).toBe(true);
    expect(queue.texts.filter((text) => text.includes(KEY))).toEqual([]);
    expect(model.server.requests.length).toBeGreaterThan(0);
  });

  const refused: readonly (readonly [string, (description: JobDescription) => JobDescription, RegExp])[] = [
    ['version of Reverie', (job) => ({ ...job, reverie: '99.0.0' }), /version of Reverie of its job is 99\.0\.0/],
    ['domain', (job) => ({ ...job, versions: { ...job.versions, domain: 'x' } }), /domain's version/],
    ['responder', (job) => ({ ...job, versions: { ...job.versions, responder: 'x' } }), /responder's version/],
    ['scenario', (job) => ({ ...job, scenario: '0'.repeat(64) }), /scenario's hash/],
  ];

  it.each(refused)('refuses rows of a job with another %s, and gives them back', async (what, change, words) => {
    const scenario = await loadToolsScenario('helpdesk', { set: quick });
    const { description, task } = await described(scenario, `other-${what}`);
    const coordinator = await coordinate(change(description));
    const { jobs, worker } = makeWorker();
    const stop = new AbortController();
    const row = coordinator.run(planned(task, 0), stop.signal);
    row.catch(() => {});
    const refusal = worker.run(stop.signal);
    await expect(refusal).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    await expect(refusal).rejects.toThrow(words);
    expect(await queue.stats()).toMatchObject({ queued: 1, running: 0 });
    stop.abort();
    await coordinator.close();
    await jobs.close();
  });

  it('lives rows of a scenario that lies elsewhere here, as long as its files are the same', async () => {
    const there = join(folder, 'there');
    const here = join(folder, 'here');
    for (const place of [there, here]) cpSync((await loadToolsScenario('helpdesk')).folder, place, { recursive: true });
    const { description, task } = await described(await loadToolsScenario(there, { set: quick }), 'elsewhere');
    rmSync(there, { recursive: true });
    const coordinator = await coordinate(description);
    const over = new AbortController();
    const stop = new AbortController();
    const { jobs, worker } = makeWorker(here);
    const working = worker.run(stop.signal);
    expect((await coordinator.run(planned(task, 0), over.signal)).row).toBe(0);
    stop.abort();
    await working;
    await jobs.close();
    appendFileSync(join(here, 'policy.md'), '\nBe rude.\n');
    const changed = makeWorker(here);
    void coordinator.run(planned(task, 1), over.signal).catch(() => {});
    await expect(changed.worker.run(new AbortController().signal)).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    await changed.jobs.close();
    over.abort(new Error('over'));
    await coordinator.close();
  });

  it('gives back what it cannot end in time when it is asked to stop', async () => {
    const { description, task } = await described(await loadToolsScenario('helpdesk', { set: asked() }), 'stopping');
    const coordinator = await coordinate(description);
    const { jobs, worker } = makeWorker();
    const stop = new AbortController();
    const over = new AbortController();
    const rows = [0, 1, 2].map((row) => coordinator.run(planned(task, row), over.signal));
    for (const row of rows) row.catch(() => {});
    const before = model.server.requests.length;
    const working = worker.run(stop.signal);
    while (model.server.requests.length === before) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    const { done, givenBack, failed } = await working;
    await jobs.close();
    expect(failed).toBe(0);
    expect(givenBack).toBeGreaterThan(0);
    expect(await queue.stats()).toMatchObject({ queued: 3 - done, running: 0 });
    over.abort(new Error('over'));
    await coordinator.close();
  });
});
