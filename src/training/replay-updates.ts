// Learning from replay: gradient steps on batches drawn from all that was lived and dreamt so far, with an exact share of
// real rows.

import type { Rng } from '../core/rng.js';
import { allocateBatch } from '../replay/batch.js';
import { MixtureSampler } from '../replay/mixture.js';
import type { TransitionBatch } from '../replay/transition.js';
import type { ReplayLearner } from '../rl/learner.js';
import type { Training, TrainingParts } from './training.js';

/** Gradient steps per ONNX Runtime call: short enough for the progress bar and Ctrl-C, long enough to hide the call. */
const UPDATES_PER_CALL = 50;

export class ReplayUpdates {
  private mixture:
    | { readonly of: TrainingParts; readonly realRatio: number; readonly sampler: MixtureSampler }
    | undefined;
  private stacked: TransitionBatch | undefined;

  constructor(
    private readonly training: Training,
    private readonly learner: ReplayLearner,
  ) {}

  /** `updates` gradient steps on batches with this share of real rows. @throws what the learner throws, and the reason of the run's signal */
  async learn(
    updates: number,
    realRatio: number,
    rng: Rng,
    onDone: (updates: number) => void = () => {},
  ): Promise<void> {
    const { learner, training } = this;
    const sampler = this.samplerOf(realRatio);
    const { batchSize } = learner.config;
    for (let done = 0, call = 0; done < updates; call++) {
      const steps = Math.min(UPDATES_PER_CALL, updates - done);
      const stream = rng.split('call', call);
      const batch = sampler.sampleSteps(steps, batchSize, stream.split('rows'), this.stackedBatch(steps * batchSize));
      const metrics = await learner.update(batch, steps, stream.split('noise'), sampler.lastDraw().weights);
      if (this.isPrioritized) sampler.updatePriorities(await learner.tdErrors(batch, stream.split('td')));
      done += steps;
      training.countUpdates(steps);
      onDone(steps);
      if (done === updates) training.tell('update', { ...metrics });
      // The update blocks the event loop: let the bar move and Ctrl-C in.
      await new Promise((resolve) => setImmediate(resolve));
      training.ports.signal.throwIfAborted();
    }
  }

  /** Of the buffers as they are now: that of dreamt rows is another one once old dreams have left it. */
  private samplerOf(realRatio: number): MixtureSampler {
    const { parts } = this.training;
    const { real, synthetic, selectors } = parts;
    if (this.mixture?.of !== parts || this.mixture.realRatio !== realRatio) {
      const sampler = new MixtureSampler({
        real: { buffer: real, selector: selectors.real! },
        synthetic: { buffer: synthetic, selector: selectors.synthetic! },
        realRatio,
      });
      this.mixture = { of: parts, realRatio, sampler };
    }
    return this.mixture.sampler;
  }

  /** Whether the selectors go by errors. */
  private get isPrioritized(): boolean {
    return this.training.parts.selectors.real?.update !== undefined;
  }

  /** A batch of exactly `rows` rows, kept between calls of the same size. */
  private stackedBatch(rows: number): TransitionBatch {
    if (this.stacked?.rows !== rows) {
      const { obsDim, actionDim } = this.training.parts.real;
      this.stacked = allocateBatch(rows, obsDim, actionDim);
    }
    return this.stacked;
  }
}
