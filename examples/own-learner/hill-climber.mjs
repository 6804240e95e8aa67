// A learner from outside: a linear policy that is moved at random, and moved back where its next rollout earned less. It learns
// from rollouts of its own, as PPO does.

import { createHash } from 'node:crypto';
import { definePlugin, rowSize, z } from 'reverie/extend';

/** Acts with `weights` [actionDim, obsDim + 1], squashed into the bounds of the action space. */
function linearPolicy(weights, obsDim, { low, high }) {
  const dim = low.length;
  const act = (obs, rows) => {
    const action = new Float32Array(rows * dim);
    for (let at = 0; at < action.length; at++) {
      const [r, a] = [Math.floor(at / dim), at % dim];
      let sum = weights[a * (obsDim + 1) + obsDim];
      for (let k = 0; k < obsDim; k++) sum += weights[a * (obsDim + 1) + k] * obs[r * obsDim + k];
      action[at] = low[a] + ((Math.tanh(sum) + 1) / 2) * (high[a] - low[a]);
    }
    return { action, mean: action, raw: action, logProb: new Float32Array(rows) };
  };
  return { version: createHash('sha256').update(Buffer.from(weights.buffer)).digest('hex').slice(0, 16), act };
}

/** Other threads revive a frozen policy by this export of the module that its snapshot names. */
export const loadPolicy = async ({ weights, obsDim, space }) => linearPolicy(weights, obsDim, space);

class HillClimber {
  kind = 'hill-climber';
  learnsFrom = 'rollouts';
  gradientSteps = 0;
  best = new Float32Array([Number.NEGATIVE_INFINITY]);

  constructor(config, { observationSpace, actionSpace }) {
    Object.assign(this, { config, spaces: { observationSpace, actionSpace }, obsDim: rowSize(observationSpace) });
    this.weights = new Float32Array(rowSize(actionSpace) * (this.obsDim + 1));
    this.kept = this.weights;
  }

  policy = () => linearPolicy(this.weights, this.obsDim, this.spaces.actionSpace);
  act = async (obs, rows) => this.policy().act(obs, rows);

  policySnapshot() {
    const payload = { weights: this.weights.slice(), obsDim: this.obsDim, space: this.spaces.actionSpace };
    return { version: this.policy().version, loader: import.meta.url, payload };
  }

  async update({ batch }, rng) {
    const earned = batch.reward.reduce((sum, reward) => sum + reward, 0) / batch.rows;
    if (earned > this.best[0]) [this.best, this.kept] = [new Float32Array([earned]), this.weights];
    this.weights = this.kept.map((weight) => weight + this.config.stride * rng.normal());
    this.gradientSteps++;
    return { earned };
  }

  state() {
    const { kind, config, spaces, gradientSteps, weights, kept, best } = this;
    return { meta: { kind, config, spaces, gradientSteps }, arrays: { weights, kept, best } };
  }

  restore({ meta, arrays }) {
    Object.assign(this, arrays, { gradientSteps: meta.gradientSteps });
  }

  async close() {}
}

const schema = z.strictObject({
  stride: z.number().positive().default(0.2).describe('Standard deviation of a move.'),
  batchSize: z.int().min(1).default(32).describe('Rows that a rollout must have to be learned from.'),
});
const make = async () => async (settings, spaces) => new HillClimber(schema.parse(settings), spaces);
const summary = 'A linear policy that is moved at random, and back where that was for the worse.';

export default definePlugin({
  learners: [{ name: 'hill-climber', summary, schema, learnsFrom: 'rollouts', actions: ['box'], make }],
});
