// Behaviour cloning as a learner: a policy imitates the actions in a set of transitions.

import type { z } from 'zod';
import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import { gradients } from '../nn/autodiff.js';
import type { Value } from '../nn/graph.js';
import { gather, neg, reduceMean, reduceSum, slice, square, sub } from '../nn/ops.js';
import { adamStep, gaussianLogProb, ParamLayout } from '../nn/parameters.js';
import { buildTrainer, type TrainerSpec } from '../nn/trainer.js';
import type { TransitionBatch } from '../replay/transition.js';
import { type BcConfig, bcConfigSchema } from './config.js';
import { assertFinite, assertLength, parseConfig } from './learner.js';
import { NetworkLearner, withMoments } from './network-learner.js';
import { actingSession, density, type PolicyNet, policyGaussian, policyNet, policyParams } from './policy-net.js';
import { actionsOf, type DiscreteActions, normaliseActions, type Spaces } from './spaces.js';

/** What is cloned: any TransitionBatch, or its two columns. Actions in the environment's units. */
export type Demonstrations = Pick<TransitionBatch, 'rows' | 'obs' | 'action'>;

/** Mean over the steps of one update. */
export interface BcMetrics {
  readonly loss: number;
}

/** A fresh cloning learner. Throws SETTING_INVALID or SCENARIO_UNFIT. */
export async function makeBc(config: z.input<typeof bcConfigSchema>, spaces: Spaces, rng: Rng): Promise<Bc> {
  const settings = parseConfig('cloning learner', bcConfigSchema, config, spaces);
  const net = policyNet(spaces, settings, actionsOf(spaces.actionSpace));
  const layout = bcLayout(net, settings);
  return new Bc({
    config: settings,
    spaces,
    net,
    trainer: await buildTrainer(bcTrainer(net, settings)),
    session: await actingSession(net),
    arrays: withMoments(layout.init(rng)),
    policyStart: 0,
    policySize: layout.size,
  });
}

/** Use `makeBc`. */
export class Bc extends NetworkLearner<BcConfig> {
  readonly kind = 'bc';

  /**
   * `steps` gradient steps on minibatches drawn uniformly from `data`.
   * Throws DATA_MISMATCH, NON_FINITE_VALUE or ACTION_OUT_OF_SPACE; the learner is then as before the call.
   */
  async update(data: Demonstrations, steps: number, rng: Rng): Promise<BcMetrics> {
    const rows = this.trainingRows(data);
    const indices = new Int32Array(steps * this.config.batchSize);
    for (let i = 0; i < indices.length; i++) indices[i] = rng.int(data.rows);
    const { loss } = await this.train({ rows }, { indices }, steps, this.config.lr);
    return { loss: mean(loss) };
  }

  private trainingRows(data: Demonstrations): Float32Array {
    const { obsDim, actions } = this.net;
    assertLength('obs', data.obs, data.rows * obsDim);
    assertLength('action', data.action, data.rows * actions.dim);
    assertFinite('obs', data.obs, data.rows);
    assertFinite('action', data.action, data.rows);
    const action = actions.type === 'box' ? normaliseActions(actions, data.action) : classIndices(actions, data.action);
    const width = obsDim + actions.dim;
    const rows = new Float32Array(data.rows * width);
    for (let i = 0; i < data.rows; i++) {
      rows.set(data.obs.subarray(i * obsDim, (i + 1) * obsDim), i * width);
      rows.set(action.subarray(i * actions.dim, (i + 1) * actions.dim), i * width + obsDim);
    }
    return rows;
  }
}

function classIndices(actions: DiscreteActions, action: Float32Array): Float32Array {
  const { n, start } = actions;
  return action.map((value) => {
    const index = value - start;
    if (Number.isInteger(index) && index >= 0 && index < n) return index;
    throw reverieError('ACTION_OUT_OF_SPACE', {
      action: value,
      space: `Discrete(${n}, start ${start})`,
      hint: 'Demonstrations must come from the same action space as the learner.',
    });
  });
}

// One minibatch step of behaviour cloning as a graph. theta is the policy.

function bcLayout(net: PolicyNet, config: BcConfig): ParamLayout {
  return new ParamLayout(policyParams(net, { logStd: config.initLogStd }));
}

/**
 * The trainer: state theta, m, v; input `rows` [n, obsDim + actionDim] (obs, then the action in [-1, 1] units or as a
 * class index); per step `indices` [batchSize] into it.
 */
function bcTrainer(net: PolicyNet, config: BcConfig): TrainerSpec {
  const layout = bcLayout(net, config);
  const { size } = layout;
  const width = net.obsDim + net.actions.dim;
  return {
    name: 'bc',
    state: { theta: [size], m: [size], v: [size] },
    inputs: { rows: { dtype: 'float32', shape: ['rows', width] } },
    perStep: {
      indices: { dtype: 'int32', shape: [config.batchSize] },
      adamAlpha: { dtype: 'float32', shape: [] },
      adamEpsilon: { dtype: 'float32', shape: [] },
    },
    body({ state, inputs, perStep }) {
      const rows = gather(inputs.rows, perStep.indices, 0);
      const obs = slice(rows, 1, 0, net.obsDim);
      const action = slice(rows, 1, net.obsDim, width);
      const loss = cloningLoss(net, config, layout.unpack(state.theta), obs, action);
      const [grad] = gradients(loss, [state.theta]);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics: { loss } };
    },
  };
}

function cloningLoss(
  net: PolicyNet,
  config: BcConfig,
  params: Record<string, Value>,
  obs: Value,
  action: Value,
): Value {
  if (net.actions.type === 'discrete') return neg(reduceMean(density(net, params, obs, action).logProb));
  const { mean, logStd } = policyGaussian(net, params, obs);
  if (config.loss === 'nll') return neg(reduceMean(gaussianLogProb(action, mean, logStd)));
  return reduceMean(reduceSum(square(sub(mean, action)), [1]));
}
