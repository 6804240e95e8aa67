// The worker's side of the pool: one chunk per message. A failure is an answer; only the death of the thread is a rejection.
// Between messages the thread sleeps in Atomics.wait (piscina's `atomics: 'sync'`), its event loop with it: whatever a
// chunk starts has to be awaited before the chunk is answered.

import { move, transferableSymbol, valueSymbol } from 'piscina';
import { packError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { rolloutChunk } from './chunk.js';
import type { ChunkMessage, WorkerMessage, WorkerReply } from './messages.js';
import type { RolloutChunk } from './request.js';
import { Revival } from './revival.js';

const revival = new Revival();

export default async function answer(message: WorkerMessage): Promise<unknown> {
  if (message.kind === 'wake') return { kind: 'stopped' } satisfies WorkerReply;
  try {
    const chunk = await live(message);
    return chunk === undefined ? ({ kind: 'stopped' } satisfies WorkerReply) : transferred(chunk);
  } catch (error) {
    return { kind: 'failed', error: packError(error) } satisfies WorkerReply;
  }
}

async function live(message: ChunkMessage): Promise<RolloutChunk | undefined> {
  const model = await revival.model(message.model, message.modelLoader);
  const policy = await revival.policy(message.policy);
  const isStopped = () => Atomics.load(message.stop, 0) !== 0;
  return rolloutChunk(model, policy, message.task, Rng.fromState(message.rng), isStopped);
}

function transferred(chunk: RolloutChunk): unknown {
  const reply: WorkerReply = { kind: 'done', chunk };
  const buffers = Object.values(chunk).flatMap((column) => (ArrayBuffer.isView(column) ? [column.buffer] : []));
  return move({ [transferableSymbol]: buffers, [valueSymbol]: reply } as never);
}
