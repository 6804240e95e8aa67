// `reverie synth --queue` with two `reverie worker` processes, one of them killed while it lives rows: the same bytes as
// from one process, over Redis. Everybody is a language model behind a real server.

import type { ChildProcess } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { type ControlledModel, startControlledModel } from '../controlled/controlled-model.js';
import { nativeDomain } from '../controlled/native-domain.js';
import { type Broker, missingBroker, startBroker } from '../run/queue/brokers.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fileHashes, halfWritten, type Outcome, reverie, set, startReverie } from './reverie.js';

const EPISODES = 8;
const WORKERS = 2;
/** Many processes start at once; on a machine that does other things too, each takes its time. */
const PATIENCE_MS = 180_000;

const folder = temporaryFolder('queue');
let model: ControlledModel;
let expected: Record<string, string>;
const at = (...path: string[]) => join(folder, ...path);

beforeAll(async () => {
  const domain = await nativeDomain('helpdesk');
  model = await startControlledModel({ domain, seed: 3, transitionError: 0.1, agentError: 0.1, slowMs: 15 });
  const whole = await reverie([...run(), '--out', 'one', '--workers', '16'], folder);
  expect(whole).toMatchObject({ code: 0, stderr: '' });
  expected = made('one');
}, PATIENCE_MS);

afterAll(() => model.close());

/** Models for world, agent and user; tasks are drawn by a curriculum, so that rows depend on earlier ones. */
function run(): string[] {
  const settings = [
    'llm.provider=openai-compatible',
    `llm.url=${model.url}`,
    'llm.model=controlled',
    'model.backends=[llm]',
    'experience.logs=[]',
    'agent.kind=llm',
    'user.kind=llm',
    'reward.mustFail.enabled=false',
    'synth.pick=curriculum',
    'tasks.curriculum.lag=6',
    `synth.episodes=${EPISODES}`,
    'synth.export=[openai, parquet]',
  ];
  return ['synth', 'helpdesk', ...set(...settings), '--quiet'];
}

/** What a run made for its user. */
function made(name: string): Record<string, string> {
  return { ...fileHashes(at(name, 'data')), ...fileHashes(at(name, 'datasets')) };
}

interface WorkerProcess {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
}

function startWorkers(url: string): WorkerProcess[] {
  const args = ['worker', '--queue', url, '--concurrency', '2', '--lease', '4', '--quiet', '--json'];
  return Array.from({ length: WORKERS }, () => startReverie(args, folder));
}

/** Resolves once the run has kept so many bytes of rows, or has ended. */
async function grown(name: string, bytes: number, ended: Promise<unknown>): Promise<void> {
  const journal = at(name, 'journal', 'rollouts.journal');
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver && (existsSync(journal) ? statSync(journal).size : 0) < bytes) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function stopped(workers: readonly WorkerProcess[]): Promise<Record<string, number>[]> {
  for (const { child } of workers) child.kill('SIGTERM');
  const outcomes = await Promise.all(workers.map(({ outcome }) => outcome));
  expect(outcomes.map(({ code, stderr }) => `${code}${stderr}`)).toEqual(outcomes.map(() => '0'));
  return outcomes.map(({ stdout }) => JSON.parse(stdout));
}

describe('rows made by workers over Redis', () => {
  const missing = missingBroker;
  let broker: Broker | undefined;
  let workers: WorkerProcess[] = [];

  beforeAll(async () => {
    if (missing !== undefined) return;
    broker = await startBroker();
    workers = startWorkers(broker.url('rows'));
  });

  afterAll(async () => {
    for (const { child } of workers) child.kill('SIGKILL');
    await broker?.stop();
  });

  const reason = missing === undefined ? '' : ` (${missing})`;

  it.skipIf(missing !== undefined)(
    `make the same bytes, one worker killed${reason}`,
    async () => {
      const rng = Rng.fromSeed(7).split('redis');
      const { outcome } = startReverie([...run(), '--out', 'redis', '--queue', broker!.url('rows')], folder);
      await grown('redis', 6_000 + rng.int(16_000), outcome);
      const [victim] = workers.splice(rng.int(WORKERS), 1);
      victim.child.kill('SIGKILL');
      expect((await victim.outcome).signal).toBe('SIGKILL');
      expect(await outcome).toMatchObject({ code: 0, stderr: '' });
      expect(made('redis')).toEqual(expected);
      expect(halfWritten(at('redis'))).toEqual([]);
    },
    PATIENCE_MS,
  );

  it.skipIf(missing !== undefined)(`are ended or given back when workers are asked to stop${reason}`, async () => {
    const told = await stopped(workers);
    expect(told).toHaveLength(WORKERS - 1);
    expect(told.map(({ failed }) => failed)).toEqual([0]);
    expect(told.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(0);
  });
});
