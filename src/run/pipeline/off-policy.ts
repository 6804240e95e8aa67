// Learning from the replay buffers (SAC): gradient steps on batches drawn from all that was lived and dreamt so far.

import type { Collected } from '../../algorithms/index.js';
import type { Rng } from '../../core/rng.js';
import type { Policy } from '../../env/index.js';
import {
  allocateBatch,
  MixtureSampler,
  PrioritizedSelector,
  RecencySelector,
  type ReplayBuffer,
  type Selector,
  type TransitionBatch,
  UniformSelector,
} from '../../replay/index.js';
import type { Sac } from '../../rl/index.js';
import type { ScenarioConfig } from '../scenario-schema.js';
import type { Dreamer } from './dreamer.js';
import { type Learning, type RunView, share } from './learning.js';

/** Gradient steps per ONNX Runtime call: short enough for the progress bar and Ctrl-C, long enough to hide the call. */
const UPDATES_PER_CALL = 50;

export class OffPolicy implements Learning {
  readonly startsAtRandom = true;
  readonly selectors: { readonly real: Selector; readonly synthetic: Selector };
  private readonly config: ScenarioConfig;
  private readonly sampler: MixtureSampler;
  private stacked: TransitionBatch | undefined;

  constructor(
    private readonly run: RunView,
    private readonly sac: Sac,
  ) {
    this.config = run.context.scenario.config;
    const { real, synthetic } = run.buffers;
    const { selector, realRatio } = this.config.replay;
    this.selectors = { real: makeSelector(selector, real), synthetic: makeSelector(selector, synthetic) };
    this.sampler = new MixtureSampler({
      real: { buffer: real, selector: this.selectors.real },
      synthetic: { buffer: synthetic, selector: this.selectors.synthetic },
      realRatio: this.config.train.mode === 'dream' ? settledRatio(realRatio) : 1,
    });
  }

  actor(): Policy {
    return this.sac.policy();
  }

  learnFromReal({ batch }: Collected, rng: Rng): Promise<void> {
    return this.learn(Math.round(batch.rows * this.config.train.updatesPerStep), rng);
  }

  async learnInDream(dreamer: Dreamer, rng: Rng): Promise<void> {
    const { train, rollout } = this.config;
    const phase = this.run.context.progress.phase('dream and learn', train.updatesPerRound, 'updates');
    for (let cycle = 0; cycle < train.cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle);
      await this.dream(dreamer, share(rollout.startsPerRound, cycle, train.cyclesPerRound), stream);
      const updates = share(train.updatesPerRound, cycle, train.cyclesPerRound);
      await this.learn(updates, stream.split('learn'), (done) => phase.advance(done));
    }
    phase.end();
  }

  private async dream(dreamer: Dreamer, starts: number, rng: Rng): Promise<void> {
    if (starts === 0) return;
    const { buffers, counters } = this.run;
    const { counts, horizon, seconds } = await dreamer.dream(this.sac.policySnapshot(), buffers, starts, rng);
    counters.syntheticSteps += counts.rows;
    this.run.tell('dream', { ...counts, horizon, seconds });
  }

  private async learn(updates: number, rng: Rng, onDone: (updates: number) => void = () => {}): Promise<void> {
    const { sac, sampler } = this;
    const { batchSize } = sac.config;
    for (let done = 0, call = 0; done < updates; call++) {
      const steps = Math.min(UPDATES_PER_CALL, updates - done);
      const stream = rng.split('call', call);
      const batch = sampler.sampleSteps(steps, batchSize, stream.split('rows'), this.stackedBatch(steps * batchSize));
      const metrics = await sac.update(batch, steps, stream.split('noise'), sampler.lastDraw().weights);
      if (this.isPrioritized) sampler.updatePriorities(await sac.tdErrors(batch, stream.split('td')));
      done += steps;
      this.run.counters.updates += steps;
      onDone(steps);
      if (done === updates) this.run.tell('update', { ...metrics });
      // The update blocks the event loop: let the bar move and Ctrl-C in.
      await new Promise((resolve) => setImmediate(resolve));
      this.run.context.signal.throwIfAborted();
    }
  }

  private get isPrioritized(): boolean {
    return this.config.replay.selector.kind === 'prioritized';
  }

  /** A batch of exactly `rows` rows, kept between calls of the same size. */
  private stackedBatch(rows: number): TransitionBatch {
    if (this.stacked?.rows !== rows) {
      const { obsDim, actionDim } = this.run.buffers.real;
      this.stacked = allocateBatch(rows, obsDim, actionDim);
    }
    return this.stacked;
  }
}

function settledRatio(realRatio: ScenarioConfig['replay']['realRatio']): number {
  if (realRatio === 'auto') throw new Error('A share of real rows that nobody settled: a defect of the job.');
  return realRatio;
}

// The selector a scenario names, over a buffer.

function makeSelector(config: ScenarioConfig['replay']['selector'], buffer: ReplayBuffer): Selector {
  switch (config.kind) {
    case 'uniform':
      return new UniformSelector(buffer);
    case 'prioritized':
      return new PrioritizedSelector(buffer, { alpha: config.alpha, beta: config.beta });
    case 'recency':
      return new RecencySelector(buffer, { halfLife: config.halfLife });
  }
}
