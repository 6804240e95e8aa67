// Trains all members of an ensemble, one after another or side by side: on worker threads or, where vector code takes the steps, off
// this one. Each depends on its own task alone, so the result is the same bytes for any number of workers.

import { concurrently } from '../../core/concurrently.js';
import { Rng, type RngState } from '../../core/rng.js';
import { signalOf } from '../../core/stop-flag.js';
import type { TrainingDevice } from '../../nn/index.js';
import { poolTask, WorkerPool } from '../../pool/index.js';
import type { EnsembleConfig } from './config.js';
import { localCopy, type MemberData } from './dataset.js';
import type { MemberShape } from './member-network.js';
import { type TrainedMember, trainMember } from './member-training.js';

/** One member to train. `data` lies in shared memory, so sending it copies nothing. */
export interface TrainingTask {
  /** Same for all members of one fit: a thread copies the data once for it. */
  readonly fit: string;
  readonly member: number;
  readonly data: MemberData;
  readonly shape: MemberShape;
  readonly config: EnsembleConfig;
  readonly rng: RngState;
  readonly initial?: Float32Array;
  readonly device?: TrainingDevice;
}

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
  /**
   * Members trained at a time, each in a worker thread; 0 trains in the calling thread. Steps of vector code are done off the
   * calling thread anyway, so these need no worker threads.
   */
  readonly workers: number;
  readonly onProgress?: (progress: FitProgress) => void;
  /** Ends training at the next hundred gradient steps with the signal's reason. */
  readonly signal?: AbortSignal;
}

interface EpochNote {
  readonly epoch: number;
  readonly holdoutLoss: number;
}

/** The data of the fit that this thread worked for last, in its own memory. */
let local: { fit: string; data: MemberData } | undefined;

export const trainingTask = poolTask(
  import.meta.url,
  'trainingTask',
  async (task: TrainingTask, { stop, report }): Promise<TrainedMember> => {
    const { fit, shape, config, initial, device } = task;
    if (local?.fit !== fit) local = { fit, data: localCopy(task.data) };
    const onEpoch = (epoch: number, holdoutLoss: number) => report({ epoch, holdoutLoss } satisfies EpochNote);
    const { signal, done } = signalOf(stop);
    try {
      const rng = Rng.fromState(task.rng);
      return await trainMember({ data: local.data, shape, config, rng, initial, onEpoch, signal, device });
    } finally {
      done();
    }
  },
);

/** The trained members, in the order of the tasks. @throws POOL_OPTION_INVALID, and what training throws */
export async function trainMembers(
  tasks: readonly TrainingTask[],
  { workers, onProgress, signal }: TrainingOptions,
): Promise<TrainedMember[]> {
  const isOffThread = tasks.every(({ device }) => device === 'native');
  const pool = new WorkerPool({ workers: isOffThread ? 0 : Math.min(workers, tasks.length) });
  const failed = new AbortController();
  const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  let [finished, epochs] = [0, 0];
  const train = async (task: TrainingTask): Promise<TrainedMember> => {
    const onReport = (note: unknown) => {
      const { epoch, holdoutLoss } = note as EpochNote;
      const holdoutError = Math.sqrt(holdoutLoss);
      onProgress?.({ member: task.member, members: tasks.length, epoch, epochs: ++epochs, holdoutError, finished });
    };
    const label = `member ${task.member} of an ensemble`;
    const trained = await pool.run(trainingTask, () => task, { signal: either, onReport, label });
    finished++;
    return trained;
  };
  try {
    signal?.throwIfAborted();
    return await concurrently(tasks, Math.max(1, workers), train, () => failed.abort());
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    await pool.close();
    local = undefined;
  }
}
