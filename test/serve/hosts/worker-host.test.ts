// Environments in worker threads: the same as in this one, to the byte, whatever happens to their threads.

import { afterAll, describe, expect, it, vi } from 'vitest';
import type { Environment } from '../../../src/core/environment.js';
import { Rng } from '../../../src/core/rng.js';
import { type VectorBlueprint, maker as vectorMaker } from '../../../src/run/serve-vector.js';
import { WorkerHost, type WorkerHostOptions } from '../../../src/serve/hosts/worker-host.js';
import { cart, pendulum } from './blueprints.js';
import { lasting } from './lasting.js';

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const PERILOUS = new URL('./doubles/perilous-maker.mjs', import.meta.url).href;
const nowhere: VectorBlueprint = { kind: 'vector', env: { id: 'nowhere' } };
const perilous: VectorBlueprint = { kind: 'vector', env: { id: 'pendulum' } };

/** Of the package's own environments: `pendulum`, `cart`, and `nowhere`, which there is not. */
const host = new WorkerHost({ workers: 2 });
host.add('pendulum', pendulum);
host.add('cart', cart);
host.add('nowhere', nowhere);
const hosts = [host];
afterAll(() => Promise.all(hosts.map((one) => one.close())));

/** A host of `it`, whose actions may kill. */
function perilousHost(options: WorkerHostOptions = {}): WorkerHost {
  const made = new WorkerHost({ workers: 1, maker: PERILOUS, ...options });
  made.add('it', perilous);
  hosts.push(made);
  return made;
}

const action = (value: number) => Float32Array.of(value);

/** All that an environment answers to a play that uses everything it can do. */
async function play(env: Environment, seed: number, isDiscrete: boolean): Promise<unknown[]> {
  const rng = Rng.fromSeed(seed);
  const draw = () => action(isDiscrete ? rng.int(2) : rng.uniform());
  const seen: unknown[] = [await env.reset({ seed })];
  const step = async () => {
    const result = await env.step(draw());
    seen.push(result);
    if (result.terminated || result.truncated) seen.push(await env.reset());
  };
  for (let i = 0; i < 40; i++) await step();
  const snapshot = await env.snapshot();
  seen.push(snapshot);
  for (let i = 0; i < 5; i++) await step();
  seen.push(await env.restore(snapshot), await env.snapshot());
  for (let i = 0; i < 5; i++) await step();
  seen.push(await env.restore(snapshot, { seed: 7 }));
  for (let i = 0; i < 5; i++) await step();
  return seen;
}

describe('a host', () => {
  it.each([
    ['pendulum', pendulum, false],
    ['cart', cart, true],
  ])('gives %s as it is in this thread', async (model, blueprint, isDiscrete) => {
    const maker = await vectorMaker(blueprint);
    const [here, there] = [await maker.make(), await host.make(model)];
    expect({ ...there }).toMatchObject({ id: here.id, family: 'vector' });
    expect(there.observationSpace).toEqual(here.observationSpace);
    expect(there.actionSpace).toEqual(here.actionSpace);
    expect(there.maxEpisodeSteps).toBe(here.maxEpisodeSteps);
    expect(await play(there, 3, isDiscrete)).toEqual(await play(here, 3, isDiscrete));
    await Promise.all([there.close(), maker.close()]);
  });

  it('refuses what the environment refuses, with its error, and leaves it as it was', async () => {
    const env = await host.make('pendulum');
    await expect(env.step(action(0))).rejects.toMatchObject({ code: 'ENV_NOT_RESET', name: 'ReverieError' });
    await env.reset({ seed: 1 });
    const before = await env.snapshot();
    await expect(env.step(Float32Array.of(0, 0))).rejects.toMatchObject({ code: 'ACTION_OUT_OF_SPACE' });
    await expect(env.step([0] as never)).rejects.toMatchObject({ code: 'ACTION_OUT_OF_SPACE' });
    await expect(env.restore({ env: 'other', state: {} })).rejects.toMatchObject({ code: 'SNAPSHOT_MISMATCH' });
    expect(await env.snapshot()).toEqual(before);
    await env.close();
    await expect(env.step(action(0))).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
  });

  it('takes steps that are not waited for one after the other', async () => {
    const env = await perilousHost().make('it');
    const answers = await Promise.all([env.reset({ seed: 0 }), ...[1, 2, 3].map((value) => env.step(action(value)))]);
    expect(answers.map(({ observation }) => Array.from(observation as Float32Array))).toEqual([
      [0, 0],
      [1, 1],
      [3, 2],
      [6, 3],
    ]);
  });

  it('tells what is wrong with numbers and blueprints', async () => {
    expect(() => new WorkerHost({ workers: 0 })).toThrow(expect.objectContaining({ code: 'SETTING_INVALID' }));
    await expect(host.make('nowhere')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    expect(host.stats).toMatchObject({ environments: [0, 0], restarts: [0, 0] });
  });

  it('answers whoever waits when it is closed', async () => {
    const host = perilousHost();
    const env = await host.make('it');
    const stuck = expect(env.step(action(14))).rejects.toMatchObject({ code: 'SERVER_DRAINING' });
    await host.close();
    await stuck;
    await expect(env.reset()).rejects.toMatchObject({ code: 'SERVER_DRAINING' });
  });
});

describe('a worker that dies', () => {
  it('gives up the request that kills it again and again, and no other', async () => {
    const host = perilousHost();
    const envs = Array.from({ length: 6 }, () => lasting(host, 'it'));
    await Promise.all(envs.map((env, i) => env.reset({ seed: 100 * i })));
    for (let t = 0; t < 20; t++) await Promise.all(envs.map((env) => env.step(action(1))));
    const last = await Promise.allSettled(envs.map((env, i) => env.step(action(i === 2 ? 13 : 2))));
    expect(last[2]).toMatchObject({ status: 'rejected', reason: { code: 'ENVIRONMENT_LOST' } });
    expect((await envs[2].step(action(1))).observation).toEqual(Float32Array.of(221, 21));
    const others = [0, 1, 3, 4, 5];
    expect(others.map((i) => last[i])).toMatchObject(
      others.map((i) => ({ status: 'fulfilled', value: { observation: Float32Array.of(100 * i + 22, 21) } })),
    );
    expect(host.stats.restarts[0]).toBeGreaterThanOrEqual(2);
    await envs[2].close();
    expect((await envs[0].step(action(1))).observation).toEqual(Float32Array.of(23, 22));
  });

  it('dies of memory without taking others with it', async () => {
    const host = perilousHost({ resourceLimits: { maxOldGenerationSizeMb: 64 } });
    const [hungry, modest] = [lasting(host, 'it'), lasting(host, 'it')];
    await Promise.all([hungry.reset({ seed: 0 }), modest.reset({ seed: 5 })]);
    await expect(hungry.step(action(15))).rejects.toThrow(/memory/);
    expect((await modest.step(action(1))).observation).toEqual(Float32Array.of(6, 1));
  });

  it('is killed where it hangs when a request is called off; others are done again', async () => {
    const host = perilousHost({ hungSeconds: 0.05 });
    const [stuck, other] = [lasting(host, 'it'), lasting(host, 'it')];
    await Promise.all([stuck.reset({ seed: 0 }), other.reset({ seed: 0 })]);
    const stop = new AbortController();
    const hanging = expect(stuck.step(action(14), stop.signal)).rejects.toThrow('too late');
    const waiting = other.step(action(1));
    stop.abort(new Error('too late'));
    await hanging;
    expect((await waiting).observation).toEqual(Float32Array.of(1, 1));
    expect((await stuck.step(action(2))).observation).toEqual(Float32Array.of(2, 1));
  });

  it('is killed where it hangs though the answer to an earlier request comes meanwhile', async () => {
    const host = perilousHost({ hungSeconds: 0.05 });
    const [stuck, other] = [await host.make('it'), await host.make('it')];
    await Promise.all([stuck.reset({ seed: 0 }), other.reset({ seed: 0 })]);
    const answered = other.step(action(1));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    // Long enough for the thread to answer, and this one does not hear it yet.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    const stop = new AbortController();
    const hanging = expect(stuck.step(action(14), stop.signal)).rejects.toThrow('too late');
    stop.abort(new Error('too late'));
    await answered;
    await hanging;
  });

  it('calls off a request that waits outside of the thread at once', async () => {
    const host = perilousHost({ inFlight: 1, hungSeconds: 0.05 });
    const [first, second] = [lasting(host, 'it'), lasting(host, 'it')];
    await Promise.all([first.reset({ seed: 0 }), second.reset({ seed: 0 })]);
    const [stop, stopFirst] = [new AbortController(), new AbortController()];
    const stuck = expect(first.step(action(14), stopFirst.signal)).rejects.toThrow('enough');
    const waiting = second.step(action(1), stop.signal);
    stop.abort(new Error('never mind'));
    await expect(waiting).rejects.toThrow('never mind');
    stopFirst.abort(new Error('enough'));
    await stuck;
    expect((await second.step(action(1))).observation).toEqual(Float32Array.of(1, 1));
  });
});
