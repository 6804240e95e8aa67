// What a fit tells a person: whether the model is any good, why not, what more records would bring, and what to do next.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/core/report.js';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import type { JobContext, JobResult } from '../../../src/run/job.js';
import { launch } from '../../../src/run/launch.js';
import { readMetrics } from '../../../src/run/metrics.js';
import { evalJob } from '../../../src/run/pipeline/collect.js';
import { type FitResult, fitJob } from '../../../src/run/pipeline/fit.js';
import { synthEpisodesJob } from '../../../src/run/pipeline/tools/episodes.js';
import { terminalText } from '../../../src/run/report.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const folder = temporaryFolder('fit');
beforeAll(async () => {
  await run('collect', ['collect.steps=600']);
});

const at = (...path: string[]) => join(folder, ...path);

/** Of the last run. */
let shown = '';
const stream = recordingStream();

function run(job: 'collect' | 'fit' | 'synth', set: readonly string[], out: string = job): Promise<JobResult> {
  const inputs = {
    ...(job !== 'collect' && { data: at('collect') }),
    ...(job === 'synth' && { model: at('good') }),
  };
  const given = { scenario: 'pendulum', seed: 1, stream, command: `reverie ${job}` };
  const onReport = (report: Report) => {
    shown = terminalText(report);
  };
  return launch<JobResult>(job, { ...given, set: [...set], inputs, out: at(out), onReport });
}

const fitted = (set: readonly string[], out: string) =>
  run('fit', ['model.members=3', 'model.elites=2', ...set], out) as Promise<FitResult>;

/** The job, broken off as it tells its n-th event. */
const brokenOffAt = (n: number, job: (context: JobContext) => Promise<JobResult>) => (context: JobContext) => {
  const write = context.metrics.write.bind(context.metrics);
  let told = 0;
  context.metrics.write = (event) => {
    if (++told >= n) throw new Error('broken off');
    write(event);
  };
  return job(context);
};

describe('a job that begins anew when it is resumed', () => {
  const given = { scenario: 'pendulum', seed: 1, stream, command: 'reverie', quiet: true };

  it.each([
    ['fit', fitJob, ['model.members=2', 'model.elites=1', 'model.hidden=[8]', 'model.maxEpochs=4']],
    ['eval', evalJob, ['eval.episodes=3']],
  ] as const)('%s tells nothing twice', async (name, job, set) => {
    if (name === 'eval') await launch('train', { ...given, profile: 'smoke', out: at('trained') });
    const inputs = name === 'fit' ? { data: at('collect') } : { checkpoint: at('trained') };
    const begin = (out: string, how: typeof job | ReturnType<typeof brokenOffAt>) =>
      launch(name, { ...given, set: [...set], inputs, out: at(out), jobs: { vector: async () => how } });
    await begin(`${name}-whole`, job);
    await expect(begin(`${name}-broken`, brokenOffAt(3, job))).rejects.toThrow('broken off');
    await launch(name, { ...given, scenario: undefined, resume: at(`${name}-broken`) });
    const [whole, resumed] = ['whole', 'broken'].map((out) =>
      readMetrics(at(`${name}-${out}`, 'metrics.jsonl')).map(({ wallSeconds: _, ...event }) => event),
    );
    expect(whole.length).toBeGreaterThan(2);
    const named = JSON.stringify(whole).replaceAll(`${name}-whole`, `${name}-broken`);
    expect(JSON.stringify(resumed)).toBe(named);
  });
});

it('a synthesis that is resumed tells each pick of a task, and what its episodes came to, once', async () => {
  const set = ['experience.logs=[]', 'synth.episodes=6', 'synth.pick=curriculum', 'tasks.curriculum.lag=2'];
  const given = { scenario: 'helpdesk', stream, command: 'reverie', quiet: true, set, out: at('picks') };
  const job = (context: JobContext) => synthEpisodesJob(context as never);
  // Broken off as the fifth row picks its task, while others are under way; and again when all of them are there.
  await expect(launch('synth', { ...given, jobs: { tools: async () => brokenOffAt(5, job) } })).rejects.toThrow();
  const again = (how: typeof job) =>
    launch('synth', { ...given, resume: at('picks'), jobs: { tools: async () => how } });
  const show = () => {
    throw new Error('broken off');
  };
  const unreported = (context: JobContext) => job({ ...context, show });
  await expect(again(unreported)).rejects.toThrow('broken off');
  await again(job);
  const events = readMetrics(at('picks', 'metrics.jsonl'));
  expect(events.map(({ kind, row }) => (kind === 'pick' ? row : kind))).toEqual([0, 1, 2, 3, 4, 5, 'live']);
});

describe('a fit', () => {
  it('says that a good model is worth dreaming in, and what to do next', async () => {
    const result = await fitted(['model.hidden=[32, 32]'], 'good');
    const verdict = result.verdict!;
    expect(verdict.isWorthDreaming).toBe(true);
    expect(verdict.next).toMatch(/^reverie synth --model .*good.* --data /);
    expect(existsSync(result.report!)).toBe(true);
    const events = readMetrics(at('good', 'metrics.jsonl'));
    expect(events.filter(({ kind }) => kind === 'epoch').length).toBeGreaterThan(3);
    expect(events.at(-1)).toMatchObject({ kind: 'fit', verdict: { isWorthDreaming: true } });
    expect(shown).toMatch(/verdict +worth dreaming in: held out, the model explains \d+/);
  });

  it('is simulated as far as its rollouts stay near the records', async () => {
    const { transitions } = (await run('synth', [
      'rollout.horizon=auto',
      'synth.starts=20',
      'synth.export=[]',
    ])) as JobResult & {
      transitions: number;
    };
    expect(transitions).toBeGreaterThan(0);
    expect(stream.text()).toMatch(/\d+ simulated steps \(.*real.*\), a limit of disagreement of /);
  });

  it('is as confident of whole episodes as its members agree', async () => {
    await run('synth', ['synth.episodes=true', 'synth.starts=2', 'synth.export=[]'], 'whole');
    const { confidence } = (await ReplayBuffer.load(at('whole', 'data'))).columns();
    expect(confidence.some((one) => one < 1)).toBe(true);
    expect(confidence.every((one) => one > 0 && one <= 1)).toBe(true);
  });

  it('says why a bad one is not, and what to do about it', async () => {
    const result = await fitted(['model.hidden=[4]', 'model.maxEpochs=1', 'model.lr=0.00001'], 'bad');
    const verdict = result.verdict!;
    expect(verdict.isWorthDreaming).toBe(false);
    expect(verdict.next).toMatch(/--set model.maxEpochs=4$/);
    expect(shown).toMatch(/verdict +not worth dreaming in: /);
  });
});
