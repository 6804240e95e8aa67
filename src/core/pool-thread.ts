// The thread's side of the pool: one task a message. A failure is an answer; only the death of the thread is a rejection.
// Between messages the thread sleeps in Atomics.wait (piscina's `atomics: 'sync'`), its event loop with it: whatever a task
// starts has to be awaited before the task answers.

import { parentPort } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { packError } from './errors.js';
import { type PoolMessage, type PoolReply, type PoolReport, type PoolTask, unwrapped } from './pool-task.js';

export default async function answer(message: PoolMessage): Promise<unknown> {
  if (message.kind === 'wake') return { kind: 'done', value: undefined, reports: 0 } satisfies PoolReply;
  const { id, module, name, input, stop } = message;
  let reports = 0;
  const report = (note: unknown) => {
    reports++;
    parentPort?.postMessage({ id, note } satisfies PoolReport);
  };
  try {
    const task: PoolTask<unknown, unknown> = (await import(module))[name];
    const { value, buffers } = unwrapped(await task.run(input, { stop, report }));
    const reply: PoolReply = { kind: 'done', value, reports };
    return buffers.length === 0 ? reply : move({ [transferableSymbol]: buffers, [valueSymbol]: reply } as never);
  } catch (error) {
    return { kind: 'failed', error: packError(error), reports } satisfies PoolReply;
  }
}
