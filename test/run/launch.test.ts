import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/run/job.js';
import { type LaunchOptions, launch } from '../../src/run/launch.js';
import { readMetrics } from '../../src/run/metrics.js';
import { temporaryFolder } from '../temporary-folder.js';
import { recordingStream } from './streams.js';

const result = {
  job: 'eval',
  family: 'vector',
  wallSeconds: 1,
  checkpoint: 'c',
  returns: [1],
  episodes: 1,
  meanReturn: 1,
  stdReturn: 0,
  minReturn: 1,
  maxReturn: 1,
  meanLength: 1,
};
let folder: string;
let options: LaunchOptions;
const json = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));

beforeEach(() => {
  folder = join(temporaryFolder('launch'), 'run');
  options = { scenario: 'pendulum', out: folder, stream: recordingStream(), command: 'reverie eval pendulum' };
});

type Job = (context: JobContext) => Promise<typeof result>;

/** A job that lives for ten rounds unless it is stopped, and goes on where it was. */
const tenRounds: Job = async ({ out, resume, signal, metrics }: JobContext) => {
  const file = join(out, 'round');
  let round = resume ? Number(readFileSync(file, 'utf8')) : 0;
  for (; round < 10; round++) {
    if (signal.aborted) {
      writeFileSync(file, String(round));
      signal.throwIfAborted();
    }
    metrics.write({ kind: 'round', round });
    if (round === 4 && !resume) process.emit('SIGINT');
    await new Promise((resolve) => setImmediate(resolve));
  }
  return result;
};

const succeeds: Job = async () => result;
const run = (name: 'eval' | 'train', job: Job, given: LaunchOptions) =>
  launch(name, { jobs: { vector: async () => job }, ...given });

describe('launching a job', () => {
  it('keeps scenario, result and how it ended in the folder of the run', async () => {
    const seen: JobContext[] = [];
    const job: Job = async (context) => {
      seen.push(context);
      expect(json('run.json').status).toBe('running');
      return result;
    };
    expect(await run('eval', job, { ...options, seed: 5, workers: 3 })).toEqual(result);
    expect(seen[0]).toMatchObject({ seed: 5, workers: 3, out: folder, resume: false, inputs: {} });
    expect(json('run.json')).toMatchObject({
      job: 'eval',
      status: 'finished',
      seed: 5,
      command: 'reverie eval pendulum',
    });
    expect(json('scenario.json')).toEqual(JSON.parse(JSON.stringify(seen[0].scenario)));
    expect(json('result.json')).toEqual(result);
  });

  it.each(['', 'checkpoint', 'checkpoint/learner'])(
    'finds the checkpoint of a run that was killed as it replaced it: --checkpoint RUN/%s',
    async (part) => {
      const trained = temporaryFolder('killed');
      for (const name of ['checkpoint.new', 'checkpoint.old'])
        mkdirSync(join(trained, name, 'learner'), { recursive: true });
      const job: Job = async ({ inputs }) => {
        expect(existsSync(join(trained, 'checkpoint', 'learner'))).toBe(true);
        expect(inputs.checkpoint).toBe(join(trained, part));
        return result;
      };
      await run('eval', job, { ...options, inputs: { checkpoint: join(trained, part) } });
    },
  );

  it.each([
    ['fidelity', 'pendulum', ['data', 'heldOut'], /--data .*nothing beside --held-out/],
    ['synth', 'helpdesk', ['checkpoint'], /--checkpoint .*\(agent\)/],
    ['synth', 'helpdesk', ['data'], /--data .*experience\.logs/],
    ['train', 'alfworld', ['checkpoint', 'model'], /--model .*\(model\)/],
    ['fit', 'helpdesk', ['data', 'model'], /--model .*its records alone/],
  ] as const)('refuses what %s of %s would leave out of %j', async (name, scenario, given, message) => {
    const inputs = Object.fromEntries(given.map((input) => [input, temporaryFolder('input')]));
    const jobs = { vector: async () => succeeds, tools: async () => succeeds };
    const refused = launch(name, { ...options, jobs, scenario, inputs });
    await expect(refused).rejects.toMatchObject({ code: 'FLAG_INVALID', message: expect.stringMatching(message) });
    expect(existsSync(folder)).toBe(false);
  });

  it('stops at a safe point on Ctrl-C and goes on exactly there', async () => {
    // Other files' tests run in this process too, and may listen.
    const listening = process.listenerCount('SIGINT');
    await expect(run('eval', tenRounds, options)).rejects.toMatchObject({
      name: 'RunInterrupted',
      job: 'eval',
      folder,
    });
    expect(json('run.json').status).toBe('interrupted');
    expect(existsSync(join(folder, 'result.json'))).toBe(false);
    appendFileSync(join(folder, 'metrics.jsonl'), '{"torn');
    await run('eval', tenRounds, { resume: folder, stream: options.stream, command: '' });
    expect(json('run.json').status).toBe('finished');
    expect(readMetrics(join(folder, 'metrics.jsonl')).map((event) => event.round)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
    expect(process.listenerCount('SIGINT')).toBeLessThanOrEqual(listening);
  });

  it('never writes over a run, and resumes only what can go on', async () => {
    await run('eval', succeeds, options);
    await expect(run('eval', succeeds, options)).rejects.toMatchObject({
      code: 'OUTPUT_EXISTS',
    });
    const resume = { resume: folder, stream: options.stream, command: '' };
    await expect(run('eval', succeeds, resume)).rejects.toThrow(/is finished/);
    await expect(run('train', succeeds, resume)).rejects.toThrow(/a run of eval, not of train/);
    await expect(run('eval', succeeds, { ...resume, resume: tmpdir() })).rejects.toThrow(/not the folder of a run/);
  });

  it('makes way for the next where it failed and kept nothing but its metrics', async () => {
    const failing: Job = async ({ metrics }) => {
      metrics.write({ kind: 'episode', episode: 0 });
      throw new TypeError('diverged');
    };
    await expect(run('eval', failing, options)).rejects.toThrow('diverged');
    await run('eval', succeeds, options);
    expect(json('run.json').status).toBe('finished');
    expect(readMetrics(join(folder, 'metrics.jsonl'))).toEqual([]);
  });

  it('of two that begin in one folder at once, one alone does', async () => {
    const lasting: Job = () => new Promise((resolve) => setTimeout(() => resolve(result), 200));
    const begun = await Promise.allSettled([1, 2].map((seed) => run('eval', lasting, { ...options, seed })));
    expect(begun.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(json('run.json').seed).toBe(begun[0].status === 'fulfilled' ? 1 : 2);
  });

  it('uses the scenario saved with an input, with overrides laid over it', async () => {
    await run('train', succeeds, { ...options, seed: 8 });
    const next: LaunchOptions = {
      inputs: { checkpoint: folder },
      out: `${folder}-2`,
      stream: options.stream,
      command: '',
    };
    let seen: JobContext | undefined;
    const job: Job = async (context) => {
      seen = context;
      return result;
    };
    await run('eval', job, { ...next, set: ['eval.episodes=3'] });
    expect(seen?.scenario.config).toMatchObject({ name: 'pendulum', seed: 8, eval: { episodes: 3 } });
    expect(seen?.inputs).toEqual({ checkpoint: folder });
  });

  it.each(['{"name": "mine"}', 'null', '[]', '{"config": {}}'])('says that %s is no saved scenario', async (text) => {
    const [above, data] = [join(folder, '..'), join(folder, '..', 'data')];
    mkdirSync(data);
    writeFileSync(join(above, 'scenario.json'), text);
    const next = { inputs: { data }, out: folder, stream: options.stream, command: '' };
    const refused = { code: 'SCENARIO_INVALID', message: expect.stringContaining(join(above, 'scenario.json')) };
    await expect(run('train', succeeds, next)).rejects.toMatchObject(refused);
  });

  it('does not go on with a run that another is at work on', async () => {
    const resume = { resume: folder, stream: options.stream, command: '' };
    const job: Job = async () => {
      await expect(run('eval', succeeds, resume)).rejects.toMatchObject({
        code: 'RUN_IN_USE',
      });
      expect(json('run.json').status).toBe('running');
      return result;
    };
    await run('eval', job, options);
    expect(existsSync(join(folder, 'run.lock'))).toBe(false);
  });

  it('names an input that is not there', async () => {
    const missing = { ...options, inputs: { checkpoint: join(folder, 'nothing') } };
    await expect(run('eval', succeeds, missing)).rejects.toMatchObject({
      code: 'INPUT_NEEDED',
    });
    expect(existsSync(folder)).toBe(false);
  });
});
