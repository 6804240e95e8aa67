// Recording by an explorer: it lives where its model is unsure, and a recording that was stopped goes on to the same bytes.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import type { JobContext } from '../../../src/run/job.js';
import { type LaunchOptions, launch } from '../../../src/run/launch.js';
import { readMetrics } from '../../../src/run/metrics.js';
import type { CollectResult } from '../../../src/run/pipeline/collect.js';
import { collectJob } from '../../../src/run/pipeline/collect.js';
import { fileHashes } from '../../e2e/reverie.js';
import { recordingStream } from '../streams.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-explore-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function collect(options: Omit<LaunchOptions<CollectResult>, 'stream' | 'command'>, job = collectJob) {
  return launch<CollectResult>('collect', {
    jobs: { vector: async () => job },
    ...options,
    stream: recordingStream(),
    command: 'reverie collect',
    quiet: true,
  });
}

const SET = [
  ...['collect.policy=explore', 'collect.steps=400', 'collect.explore.initialRandomSteps=100'],
  ...['collect.explore.refitEvery=100', 'collect.explore.horizon=4', 'collect.explore.candidates=16'],
  ...['model.members=3', 'model.elites=2', 'model.hidden=[16]', 'model.maxEpochs=3'],
];
const explore = (out: string) => ({ scenario: 'pendulum', seed: 2, set: SET, out: join(folder, out) });

/** The job, asked to stop as it tells of its n-th fit. */
function stoppedAt(n: number): typeof collectJob {
  return (context: JobContext) => {
    const { metrics } = context;
    const write = metrics.write.bind(metrics);
    let fits = 0;
    metrics.write = (event) => {
      write(event);
      if (event.kind === 'fit' && ++fits === n) process.emit('SIGINT');
    };
    return collectJob(context);
  };
}

describe('an explorer', () => {
  it('lives at random, then by plans in models of its own, fitted as rows come in', async () => {
    const result = await collect(explore('whole'));
    expect(result.transitions).toBe(400);
    const buffer = await ReplayBuffer.load(result.data);
    const names = buffer.originList().map(({ policyVersion }) => policyVersion.split('-')[0]);
    expect(names).toEqual(['random', 'planned', 'planned', 'planned']);
    const fits = readMetrics(join(folder, 'whole', 'metrics.jsonl')).filter(({ kind }) => kind === 'fit');
    expect(fits.map((fit) => fit['rows'])).toEqual([100, 200, 300]);
  });

  it('goes on with its model to the same bytes', async () => {
    await expect(collect(explore('stopped'), stoppedAt(2))).rejects.toMatchObject({ name: 'RunInterrupted' });
    expect(existsSync(join(folder, 'stopped', 'checkpoint', 'model'))).toBe(true);
    await collect({ resume: join(folder, 'stopped') });
    expect(fileHashes(join(folder, 'stopped', 'data'))).toEqual(fileHashes(join(folder, 'whole', 'data')));
  });

  it('needs a model that learns', async () => {
    const brought = {
      ...explore('brought'),
      scenario: 'scenarios/bring-your-own-onnx/scenario.yaml',
      set: SET.slice(0, 1),
    };
    await expect(collect(brought)).rejects.toMatchObject({ code: 'SCENARIO_INVALID' });
  });
});
