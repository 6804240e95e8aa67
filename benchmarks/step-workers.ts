// The engine's step on several threads, as its rollout pool uses them: each worker has its own sessions and its own share of
// the rows, and no operator is split. Shares are sent once, as in a rollout; every round's answers come back to the caller.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Rng } from '../src/core/rng.js';
import type { TransitionBatch } from '../src/replay/transition.js';
import type { EnsembleModel } from '../src/worldmodel/ensemble/ensemble-model.js';
import type { StepShare } from './step-worker.js';

export class StepWorkers {
  private constructor(private readonly workers: readonly Worker[]) {}

  static async start(model: EnsembleModel, { obs, action, rows }: TransitionBatch, count: number) {
    const [obsDim, actionDim] = [obs.length / rows, action.length / rows];
    const workers = Array.from({ length: count }, (_, i) => {
      const [first, end] = [Math.floor((i * rows) / count), Math.floor(((i + 1) * rows) / count)];
      const share: StepShare = {
        model: model.snapshot(),
        obs: obs.slice(first * obsDim, end * obsDim),
        action: action.slice(first * actionDim, end * actionDim),
        rows: end - first,
        rng: Rng.fromSeed(2).split('worker', i).state(),
      };
      return new Worker(new URL('./step-worker.js', import.meta.url), { workerData: share });
    });
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    return new StepWorkers(workers);
  }

  /** Steps all rows `steps` times. */
  async step(steps: number): Promise<void> {
    const answers = this.workers.map((worker) => once(worker, 'message'));
    for (const worker of this.workers) worker.postMessage(steps);
    await Promise.all(answers);
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}
