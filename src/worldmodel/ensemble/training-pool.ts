// Trains all members of an ensemble, here or in worker threads. Each depends on its own task alone, so the result is the
// same bytes for any number of workers.

import { Piscina } from 'piscina';
import { concurrently } from '../../core/concurrently.js';
import { reverieError, unpackError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { makeStopFlag, raise } from '../../core/stop-flag.js';
import { compiledUrl } from '../../core/worker-url.js';
import { localCopy } from './dataset.js';
import { type TrainedMember, trainMember } from './member-training.js';
import type { EpochMessage, TrainingReply, TrainingRequest, TrainingTask } from './training-messages.js';

/** After every epoch of every member; with several workers, members are interleaved. */
export interface FitProgress {
  readonly member: number;
  readonly members: number;
  /** Epochs this member has trained. */
  readonly epoch: number;
  /** Epochs all members together have trained. */
  readonly epochs: number;
  /** Root of the member's hold-out loss: its typical one-step error in standard deviations of what it predicts. */
  readonly holdoutError: number;
  /** Members that are done. */
  readonly finished: number;
}

export interface TrainingOptions {
  /** Worker threads; 0 trains in the calling thread. */
  readonly workers: number;
  readonly onProgress?: (progress: FitProgress) => void;
  /** Ends training at the next hundred gradient steps with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The trained members, in the order of the tasks. */
export function trainMembers(tasks: readonly TrainingTask[], options: TrainingOptions): Promise<TrainedMember[]> {
  const { workers } = options;
  if (!Number.isInteger(workers) || workers < 0) {
    throw reverieError('MODEL_CONFIG_INVALID', { problem: `workers is ${workers}; give 0 or a number of threads.` });
  }
  return workers === 0 ? trainHere(tasks, options) : trainInWorkers(tasks, options);
}

async function trainHere(
  tasks: readonly TrainingTask[],
  { onProgress, signal }: TrainingOptions,
): Promise<TrainedMember[]> {
  const trained: TrainedMember[] = [];
  let epochs = 0;
  if (tasks.length === 0) return trained;
  const data = localCopy(tasks[0].data);
  for (const { member, shape, config, rng, initial } of tasks) {
    const onEpoch = (epoch: number, holdoutLoss: number) =>
      onProgress?.({
        member,
        members: tasks.length,
        epoch,
        epochs: ++epochs,
        holdoutError: Math.sqrt(holdoutLoss),
        finished: trained.length,
      });
    trained.push(await trainMember({ data, shape, config, rng: Rng.fromState(rng), initial, onEpoch, signal }));
  }
  return trained;
}

async function trainInWorkers(tasks: readonly TrainingTask[], options: TrainingOptions): Promise<TrainedMember[]> {
  const { onProgress, signal } = options;
  const threads = Math.min(options.workers, tasks.length);
  const filename = compiledUrl(import.meta.url, './training-worker.js');
  const pool = new Piscina<TrainingRequest, TrainingReply>({ filename, minThreads: threads, maxThreads: threads });
  let [finished, epochs] = [0, 0];
  pool.on('message', ({ member, epoch, holdoutLoss }: EpochMessage) =>
    onProgress?.({
      member,
      members: tasks.length,
      epoch,
      epochs: ++epochs,
      holdoutError: Math.sqrt(holdoutLoss),
      finished,
    }),
  );
  const stop = makeStopFlag();
  const giveUp = () => raise(stop);
  signal?.addEventListener('abort', giveUp);
  try {
    signal?.throwIfAborted();
    const train = async (task: TrainingTask) => {
      const reply = await pool.run({ task, stop });
      finished++;
      if ('failed' in reply) throw unpackError(reply.failed);
      return reply.trained;
    };
    return await concurrently(tasks, threads, train, giveUp);
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
    await pool.destroy();
  }
}
