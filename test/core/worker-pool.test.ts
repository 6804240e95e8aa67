// The pool of workers: the same answers with threads and without, reports heard before the answer, deaths, stops and ends.
// Threads that are killed at any time, and errors that come across: test/synth/pool.test.ts.

import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { WorkerPool } from '../../src/core/pool.js';
import { moved, type PoolTask } from '../../src/core/pool-task.js';

const open: WorkerPool[] = [];

function poolOf(workers: number, attempts?: number): WorkerPool {
  const pool = new WorkerPool({ workers, attempts });
  open.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});

const module = pathToFileURL(`${import.meta.dirname}/tasks.mjs`).href;

/** A task of tasks.mjs, which this thread imports too. */
async function taskOf<I, O>(name: string): Promise<PoolTask<I, O>> {
  return { module, name, run: (await import(module))[name].run };
}

describe.each([0, 2])('a pool of %i threads', (workers) => {
  it('answers what the task answers, arrays whole', async () => {
    const double = await taskOf<Float32Array, Float32Array>('double');
    const input = Float32Array.of(1, 2, 3);
    const answer = await poolOf(workers).run(double, () => input);
    expect(answer).toEqual(Float32Array.of(2, 4, 6));
    expect(input).toEqual(Float32Array.of(1, 2, 3));
  });

  it('tells every report, in order, before the answer', async () => {
    const count = await taskOf<number, string>('count');
    const heard: unknown[] = [];
    expect(await poolOf(workers).run(count, () => 200, { onReport: (note) => heard.push(note) })).toBe('counted');
    expect(heard).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  it('stops a task with the reason of its signal, and goes on', async () => {
    const pool = poolOf(workers);
    const wait = await taskOf<number, string>('wait');
    const control = new AbortController();
    setTimeout(() => control.abort(new Error('enough')), 50);
    await expect(pool.run(wait, () => 60_000, { signal: control.signal })).rejects.toThrow('enough');
    expect(await pool.run(wait, () => 1)).toBe('waited');
  });

  it('refuses once it is closed, and ends what is under way', async () => {
    const pool = poolOf(workers);
    const wait = await taskOf<number, string>('wait');
    const waiting = pool.run(wait, () => 60_000);
    const ended = expect(waiting).rejects.toMatchObject({ code: 'POOL_CLOSED' });
    await pool.close();
    await ended;
    await expect(pool.run(wait, () => 1)).rejects.toMatchObject({ code: 'POOL_CLOSED' });
  });
});

describe('threads that die', () => {
  it('have their task done again', async () => {
    const die = await taskOf<Int32Array, string>('die');
    const lives = new Int32Array(new SharedArrayBuffer(4));
    lives[0] = 2;
    expect(await poolOf(1).run(die, () => lives)).toBe('survived');
  });

  it('are an error that names the task, once it was tried often enough', async () => {
    const die = await taskOf<Int32Array, string>('die');
    const lives = new Int32Array(new SharedArrayBuffer(4)).fill(1000);
    await expect(poolOf(1, 2).run(die, () => lives, { label: 'row 7' })).rejects.toMatchObject({
      code: 'WORKER_LOST',
      message: expect.stringMatching(/died 2 times on row 7: .*exited with code/),
    });
  });
});

it('an answer that was moved is the same without threads', async () => {
  const task: PoolTask<number, { rows: Float32Array }> = {
    ...{ module, name: 'none' },
    run: async (rows) => moved({ rows: new Float32Array(rows) }),
  };
  expect((await poolOf(0).run(task, () => 3)).rows.length).toBe(3);
});
