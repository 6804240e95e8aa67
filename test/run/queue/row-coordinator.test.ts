// What a coordinator makes of what workers answer; the workers are played by the tests.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Cost, NO_COST } from '../../../src/core/cost.js';
import { packError, reverieError } from '../../../src/core/errors.js';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { Budget, type BudgetLimits } from '../../../src/llm/budget.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { RowCoordinator } from '../../../src/run/queue/coordinator.js';
import type { JobDescription } from '../../../src/run/queue/messages.js';
import { episodeId, planRow } from '../../../src/synth/episodes/run-episode.js';
import { type Lease, MAX_LOST_LEASES, packParcel } from '../../../src/synth/queue/rollout-queue.js';
import { InProcessBroker, InProcessQueue } from '../../synth/queue/in-process-queue.js';

const SCENARIO = 'a'.repeat(64);
const description: JobDescription = {
  format: 'reverie rollouts 1',
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

let broker: InProcessBroker;
let worker: InProcessQueue;
let coordinator: RowCoordinator;
let stop: AbortController;
let lines: string[];

async function begin(limits: BudgetLimits = {}, leaseMs = 60_000): Promise<void> {
  const queue = new InProcessQueue(broker, { leaseMs });
  worker = new InProcessQueue(broker, { leaseMs });
  const budget = new Budget(limits);
  const log = (line: string) => lines.push(line);
  const options = { queue, url: 'in-process:', description, budget, window: 0, log, onTick: () => {} };
  coordinator = await RowCoordinator.begin(options);
}

beforeEach(() => {
  broker = new InProcessBroker();
  stop = new AbortController();
  lines = [];
});

afterEach(() => coordinator.close());

const live = (row: number) => {
  const plan = planRow(row, { seed: description.seed, groupSize: 1, branchAt: 0 });
  const made = coordinator.run({ plan, task, maxSteps: 5 }, stop.signal);
  made.catch(() => {});
  return made;
};

async function leased(): Promise<Lease> {
  const [lease] = await worker.lease(1, { waitMs: 5000 });
  return lease;
}

function record(row: number, more: object = {}): EpisodeRecord {
  return {
    id: episodeId(SCENARIO, description.seed, row),
    row,
    source: 'synthetic',
    scenario: 'helpdesk',
    scenarioHash: SCENARIO,
    task: task.id,
    family: task.family,
    split: 'train',
    seed: 1,
    group: -1,
    policyVersion: 'p',
    userVersion: 'u',
    responderVersion: 'r',
    messages: [{ role: 'user', content: 'hello' }],
    steps: [],
    verdict: { reward: 1, checks: [] },
    return: 1,
    terminated: true,
    truncated: false,
    weight: 1,
    cost: NO_COST,
    ...more,
  };
}

const note = (spent: Partial<Cost> = {}) => JSON.stringify({ worker: 'w', spent: { ...NO_COST, ...spent } });
const done = async (lease: Lease, value: object, spent?: Partial<Cost>) =>
  worker.ack(lease, { bytes: await packParcel(value), note: note(spent) });
const failed = (lease: Lease, error: unknown) =>
  worker.nack(lease, { kind: 'failed', error: packError(error), note: note() });

describe('a coordinator', () => {
  it('answers with the record, key by key as it was', async () => {
    await begin();
    const made = live(2);
    await done(await leased(), record(2));
    expect(JSON.stringify(await made)).toBe(JSON.stringify(record(2)));
  });

  it.each([
    ['of another row', record(3)],
    ['of another task', record(2, { task: 'other' })],
    ['of another run', record(2, { id: '0'.repeat(16) })],
    ['no episode', { hello: 'world' }],
    ['of nobody', record(2, { messages: [{ role: 'root', content: 'x' }] })],
  ])('refuses a record that is %s', async (_, value) => {
    await begin();
    const made = live(2);
    await done(await leased(), value);
    await expect(made).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
  });

  it('throws what the worker threw, and knows who was at fault', async () => {
    await begin();
    const made = live(0);
    const thrown = reverieError('USER_TURN_INVALID', { problem: 'no words', ofModel: true, retryable: false });
    await failed(await leased(), thrown);
    await expect(made).rejects.toMatchObject({ code: thrown.code, message: thrown.message });
    await expect(made).rejects.toMatchObject({ values: { ofModel: true, retryable: false } });
  });

  it('tries what nobody expected again, then gives the row up', async () => {
    await begin();
    const made = live(0);
    const ids: string[] = [];
    for (let time = 0; time < 3; time++) {
      const lease = await leased();
      ids.push(lease.item.id);
      await failed(lease, new TypeError('x is undefined'));
    }
    await expect(made).rejects.toMatchObject({ code: 'ROLLOUT_GIVEN_UP' });
    await expect(made).rejects.toThrow(/x is undefined/);
    expect(new Set(ids).size).toBe(3);
  });

  it('gives up a row that no worker survives', async () => {
    await begin({}, 30);
    const made = live(0);
    for (let time = 0; time < MAX_LOST_LEASES; time++) await leased();
    await worker.lease(1, { waitMs: 200 });
    await expect(made).rejects.toMatchObject({ code: 'ROLLOUT_GIVEN_UP' });
  });

  it('stops cleanly when what workers spent reaches the budget: rows under way are kept, the others not begun', async () => {
    await begin({ calls: 10 });
    const rows = [0, 1, 2, 3].map(live);
    const [first, second] = [await leased(), await leased()];
    await done(first, record(0), { calls: 12 });
    await expect(rows[2]).rejects.toMatchObject({ code: 'BUDGET_SPENT', values: { limit: 'calls', spent: 12 } });
    await expect(rows[3]).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
    await done(second, record(1), { calls: 3 });
    expect((await rows[1]).row).toBe(1);
    await expect(live(4)).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
    expect(await worker.lease(1)).toEqual([]);
  });

  it('calls off what is queued when it is stopped; a later one finds what was lived meanwhile', async () => {
    await begin();
    const rows = [0, 1].map(live);
    const lease = await leased();
    stop.abort(new Error('enough'));
    await expect(rows[0]).rejects.toThrow('enough');
    await expect(rows[1]).rejects.toThrow('enough');
    await coordinator.close();
    expect(await worker.stats()).toMatchObject({ queued: 0, running: 1 });
    await done(lease, record(0));
    stop = new AbortController();
    await begin();
    expect((await live(0)).row).toBe(0);
    void live(1);
    await done(await leased(), record(1));
  });

  it('lets the queue forget what is kept', async () => {
    await begin();
    const made = live(0);
    await done(await leased(), record(0));
    await made;
    expect(await worker.stats()).toMatchObject({ succeeded: 1 });
    coordinator.known(0);
    await coordinator.close();
    expect(await worker.stats()).toMatchObject({ succeeded: 0 });
  });
});
