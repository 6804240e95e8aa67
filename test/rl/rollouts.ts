// On-policy experience: fixed-length stretches of several environments side by side, as PPO learns from.

import type { VectorEnvironment } from '../../src/core/environment.js';
import type { Rng } from '../../src/core/rng.js';
import { allocateBatch } from '../../src/replay/columns.js';
import type { TransitionBatch } from '../../src/replay/transition.js';
import type { Rollout, RolloutLearner } from '../../src/rl/learner.js';
import { spaceDim } from '../../src/rl/spaces.js';

/** Steps environments in lockstep and goes on, between calls, where it was. */
export class RolloutCollector {
  private readonly envs: readonly VectorEnvironment[];
  private readonly obsDim: number;
  private readonly actionDim: number;
  private obs: Float32Array | undefined;
  private readonly seed: number;
  private readonly returnSoFar: Float64Array;
  /** Returns of the episodes that ended since the collector was made. */
  readonly returns: number[] = [];

  /** @param seed environment e is seeded with seed + e once; later episodes go on from its own stream */
  constructor(envs: readonly VectorEnvironment[], seed: number) {
    this.envs = envs;
    this.seed = seed;
    this.obsDim = spaceDim(envs[0].observationSpace);
    this.actionDim = spaceDim(envs[0].actionSpace);
    this.returnSoFar = new Float64Array(envs.length);
  }

  async collect(actor: Pick<RolloutLearner, 'act'>, steps: number, rng: Rng): Promise<Rollout> {
    const { envs, obsDim, actionDim } = this;
    const rows = steps * envs.length;
    const batch = allocateBatch(rows, obsDim, actionDim);
    const raw = new Float32Array(rows * actionDim);
    const logProb = new Float32Array(rows);
    const obs = this.obs ?? (await this.firstObs());
    this.obs = obs;
    for (let t = 0; t < steps; t++) {
      const acted = await actor.act(obs, envs.length, rng);
      raw.set(acted.raw, t * envs.length * actionDim);
      logProb.set(acted.logProb, t * envs.length);
      const row = (e: number) => t * envs.length + e;
      for (let e = 0; e < envs.length; e++) await this.stepOne(e, acted.action, obs, batch, row(e));
    }
    return { steps, envs: envs.length, batch, raw, logProb };
  }

  private async stepOne(
    e: number,
    actions: Float32Array,
    obs: Float32Array,
    batch: TransitionBatch,
    row: number,
  ): Promise<void> {
    const { obsDim, actionDim } = this;
    const env = this.envs[e];
    const action = actions.slice(e * actionDim, (e + 1) * actionDim);
    const result = await env.step(action);
    batch.obs.set(obs.subarray(e * obsDim, (e + 1) * obsDim), row * obsDim);
    batch.action.set(action, row * actionDim);
    batch.reward[row] = result.reward;
    batch.terminated[row] = result.terminated ? 1 : 0;
    batch.truncated[row] = result.truncated ? 1 : 0;
    batch.nextObs.set(result.observation, row * obsDim);
    this.returnSoFar[e] += result.reward;
    const ended = result.terminated || result.truncated;
    obs.set(ended ? await this.nextEpisode(e) : result.observation, e * obsDim);
  }

  private async nextEpisode(e: number): Promise<Float32Array> {
    this.returns.push(this.returnSoFar[e]);
    this.returnSoFar[e] = 0;
    return (await this.envs[e].reset()).observation;
  }

  private async firstObs(): Promise<Float32Array> {
    const obs = new Float32Array(this.envs.length * this.obsDim);
    for (const [e, env] of this.envs.entries()) {
      obs.set((await env.reset({ seed: this.seed + e })).observation, e * this.obsDim);
    }
    return obs;
  }
}
