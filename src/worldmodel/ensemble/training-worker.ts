// The worker's side of ensemble training: one member a task.

import { parentPort } from 'node:worker_threads';
import { packError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { signalOf } from '../../core/stop-flag.js';
import { localCopy, type MemberData } from './dataset.js';
import { trainMember } from './member-training.js';
import type { EpochMessage, TrainingReply, TrainingRequest } from './training-messages.js';

let local: { fit: string; data: MemberData } | undefined;

/** Trains the task's member; failures come back as values, whole with their code. */
export default async function train({ task, stop }: TrainingRequest): Promise<TrainingReply> {
  const { fit, member, shape, config, initial } = task;
  if (local?.fit !== fit) local = { fit, data: localCopy(task.data) };
  const onEpoch = (epoch: number, holdoutLoss: number) => {
    parentPort?.postMessage({ fit, member, epoch, holdoutLoss } satisfies EpochMessage);
  };
  const { signal, done } = signalOf(stop);
  try {
    const rng = Rng.fromState(task.rng);
    return { trained: await trainMember({ data: local.data, shape, config, rng, initial, onEpoch, signal }) };
  } catch (error) {
    return { failed: packError(error) };
  } finally {
    done();
  }
}
