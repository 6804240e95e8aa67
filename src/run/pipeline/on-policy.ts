// Learning from what the policy of the moment has just lived (PPO): each rollout, real or dreamt, is one update's.

import type { Collected } from '../../algorithms/index.js';
import type { Rng } from '../../core/rng.js';
import type { Policy, PolicyAction } from '../../env/index.js';
import type { Ppo, Rollout } from '../../rl/index.js';
import type { ScenarioConfig } from '../scenario-schema.js';
import type { Dreamer } from './dreamer.js';
import { type Learning, type RunView, share } from './learning.js';

export class OnPolicy implements Learning {
  readonly selectors = {};
  private readonly config: ScenarioConfig;
  private recorder: RawRecorder;

  constructor(
    private readonly run: RunView,
    private readonly ppo: Ppo,
  ) {
    this.config = run.context.scenario.config;
    this.recorder = new RawRecorder(ppo);
  }

  /** Random steps teach an on-policy learner nothing; a world model they do. */
  get startsAtRandom(): boolean {
    return this.config.train.mode === 'dream';
  }

  actor(): Policy {
    this.recorder = new RawRecorder(this.ppo);
    return this.recorder;
  }

  async learnFromReal({ batch, provenance }: Collected, rng: Rng): Promise<void> {
    // The budget may leave the last round too few steps to fill a batch.
    if (batch.rows < Math.min(this.config.train.stepsPerRound, this.ppo.config.batchSize)) return;
    const logProb = provenance.logProb ?? new Float32Array(0);
    await this.learn({ steps: batch.rows, envs: 1, batch, raw: this.recorder.raw(), logProb }, rng);
  }

  async learnInDream(dreamer: Dreamer, rng: Rng): Promise<void> {
    const { cyclesPerRound } = this.config.train;
    const phase = this.run.context.progress.phase('dream and learn', cyclesPerRound, 'rollouts');
    for (let cycle = 0; cycle < cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle);
      const rollout = await this.dream(dreamer, cycle, stream);
      await this.learn(rollout, stream.split('learn'));
      phase.advance(1);
    }
    phase.end();
  }

  private async dream(dreamer: Dreamer, cycle: number, rng: Rng): Promise<Rollout> {
    const { train, rollout } = this.config;
    const branches = share(rollout.startsPerRound, cycle, train.cyclesPerRound);
    const dreamt = await dreamer.dreamOnPolicy(this.ppo, this.run.buffers, branches, rng);
    const { counts, horizon, seconds } = dreamt;
    this.run.counters.syntheticSteps += counts.rows;
    this.run.tell('dream', { ...counts, horizon, seconds });
    return dreamt.rollout;
  }

  private async learn(rollout: Rollout, rng: Rng): Promise<void> {
    const before = this.ppo.gradientSteps;
    const metrics = await this.ppo.update(rollout, rng);
    this.run.counters.updates += this.ppo.gradientSteps - before;
    this.run.tell('update', { ...metrics });
    // The update blocks the event loop: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
    this.run.context.signal.throwIfAborted();
  }
}

/** Acts as the learner does and keeps what it learns from: its actions before clipping, one row a call. */
class RawRecorder implements Policy {
  private readonly kept: Float32Array[] = [];

  constructor(private readonly ppo: Ppo) {}

  get version(): string {
    return this.ppo.policy().version;
  }

  async act(obs: Float32Array, rows: number, rng: Rng): Promise<PolicyAction> {
    const { action, logProb, raw } = await this.ppo.act(obs, rows, rng);
    this.kept.push(raw);
    return { action, logProb };
  }

  /** [rows, actionDim], in the order lived. */
  raw(): Float32Array {
    const width = this.kept[0]?.length ?? 0;
    const raw = new Float32Array(this.kept.length * width);
    for (const [row, values] of this.kept.entries()) raw.set(values, row * width);
    return raw;
  }
}
