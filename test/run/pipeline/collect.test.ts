// A recording that was stopped, broken off or killed anywhere goes on to the same bytes.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ClockedEnvironment } from '../../../src/env/clocked-environment.js';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import type { JobContext } from '../../../src/run/job.js';
import { type LaunchOptions, launch } from '../../../src/run/launch.js';
import { readMetrics } from '../../../src/run/metrics.js';
import { type CollectResult, collectJob } from '../../../src/run/pipeline/collect.js';
import { fileHashes } from '../../e2e/reverie.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

type Options = Omit<LaunchOptions<CollectResult>, 'stream' | 'command'>;

const folder = temporaryFolder('collect');
const at = (...names: string[]) => join(folder, ...names);
const RECORD = { scenario: 'pendulum', seed: 5, set: ['collect.steps=1100'] };

beforeAll(async () => {
  await collect({ ...RECORD, out: at('whole') });
});
afterEach(() => void vi.restoreAllMocks());

function collect(options: Options, job = collectJob): Promise<CollectResult> {
  const launched = { jobs: { vector: async () => job }, stream: recordingStream(), command: 'reverie collect' };
  return launch('collect', { ...launched, ...options, quiet: true });
}

/** A clock on which ten seconds pass between any two looks at it, so that a checkpoint is always due. */
function hurry(): void {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
}

/** The job, broken off as it tells its n-th episode: within a stretch, as a kill would. */
const brokenOffAt = (n: number) => (context: JobContext) => {
  const write = context.metrics.write.bind(context.metrics);
  let told = 0;
  context.metrics.write = (event) => {
    if (++told === n) throw new Error('broken off');
    write(event);
  };
  return collectJob(context);
};

const timeless = (run: string) => readMetrics(at(run, 'metrics.jsonl')).map(({ wallSeconds: _, ...event }) => event);

function expectSame(run: string): void {
  expect(fileHashes(at(run, 'data'))).toEqual(fileHashes(at('whole', 'data')));
  expect(timeless(run)).toEqual(timeless('whole'));
  expect(existsSync(at(run, 'checkpoint'))).toBe(false);
  const result = (of: string) => {
    const { wallSeconds: _, data: __, report: ___, ...rest } = JSON.parse(readFileSync(at(of, 'result.json'), 'utf8'));
    return rest;
  };
  expect(result(run)).toEqual(result('whole'));
}

describe('a recording', () => {
  it('keeps its rows where a step fails, and goes on with the next episode', async () => {
    const own = ClockedEnvironment.prototype.step;
    let taken = 0;
    vi.spyOn(ClockedEnvironment.prototype, 'step').mockImplementation(function (this: ClockedEnvironment, action) {
      if (++taken === 251 + 120) throw new Error('cable out');
      return own.call(this, action);
    });
    await expect(collect({ ...RECORD, out: at('failed') })).rejects.toThrow('cable out');
    const kept = await ReplayBuffer.load(at('failed', 'checkpoint', 'real'));
    expect([kept.size, kept.columns().truncated.at(-1)]).toEqual([370, 1]);
    expect(await collect({ resume: at('failed') })).toMatchObject({ transitions: 1100 });
    const { episode, step: steps } = (await ReplayBuffer.load(at('failed', 'data'))).columns();
    expect([episode[369], episode[370], steps[370]]).toEqual([1, 2, 0]);
  });

  it('keeps its rows where an episode cannot begin, and goes on with the next one', async () => {
    const own = ClockedEnvironment.prototype.reset;
    let begun = 0;
    vi.spyOn(ClockedEnvironment.prototype, 'reset').mockImplementation(function (this: ClockedEnvironment, options) {
      if (++begun === 3) throw new Error('no start today');
      return own.call(this, options);
    });
    await expect(collect({ ...RECORD, out: at('startless') })).rejects.toThrow('no start today');
    const kept = await ReplayBuffer.load(at('startless', 'checkpoint', 'real'));
    expect([kept.size, kept.columns().truncated.at(-1)]).toEqual([400, 1]);
    expect(await collect({ resume: at('startless') })).toMatchObject({ transitions: 1100 });
    const { episode } = (await ReplayBuffer.load(at('startless', 'data'))).columns();
    expect([episode[399], episode[400]]).toEqual([1, 3]);
  });

  it.each([1, 4])('that broke off at episode %i goes on from what was put away', async (n) => {
    hurry();
    const out = `broken-${n}`;
    await expect(collect({ ...RECORD, out: at(out) }, brokenOffAt(n))).rejects.toThrow('broken off');
    const kept = at(out, 'checkpoint', 'real', 'transitions.bin');
    expect(existsSync(kept)).toBe(n > 1);
    await collect({ resume: at(out) });
    expectSame(out);
  });

  it('that could not be reported goes on from what was put away', async () => {
    const unshown = (context: JobContext) => {
      const show = () => {
        throw new Error('no room for a page');
      };
      return collectJob({ ...context, show });
    };
    hurry();
    await expect(collect({ ...RECORD, out: at('unshown') }, unshown)).rejects.toThrow('no room for a page');
    const step = vi.spyOn(ClockedEnvironment.prototype, 'step');
    await collect({ resume: at('unshown') });
    expect(step.mock.calls.length).toBeLessThan(1100);
    expectSame('unshown');
  });

  it('of negative zeros goes on with them', async () => {
    const { step } = ClockedEnvironment.prototype;
    const negated = () =>
      vi.spyOn(ClockedEnvironment.prototype, 'step').mockImplementation(function (this: ClockedEnvironment, action) {
        const stepped = step.call(this, action);
        stepped.observation[0] = -0;
        return stepped;
      });
    const negative = { ...RECORD, set: ['collect.steps=600'] };
    negated();
    await collect({ ...negative, out: at('negative') });
    hurry();
    await expect(collect({ ...negative, out: at('negative-broken') }, brokenOffAt(2))).rejects.toThrow('broken off');
    await collect({ resume: at('negative-broken') });
    expect(fileHashes(at('negative-broken', 'data'))).toEqual(fileHashes(at('negative', 'data')));
  });

  it('whose checkpoint was changed is refused', async () => {
    hurry();
    await expect(collect({ ...RECORD, out: at('damaged') }, brokenOffAt(4))).rejects.toThrow('broken off');
    rmSync(at('damaged', 'checkpoint', 'recording.json'));
    await expect(collect({ resume: at('damaged') })).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
  });
});
