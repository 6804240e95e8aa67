// Soft actor-critics as one learner: SAC (Haarnoja et al., 1812.05905), REDQ (Chen et al. 2021, 2101.05982) and DroQ (Hiraoka et al. 2022,
// 2110.02034) and SAC with SimBa's networks (Lee et al. 2025, 2410.09754) are designs of it, under their own names and settings.

import type { z } from 'zod';
import type { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import { float32, int32 } from '../nn/graph.js';
import { InferenceSession } from '../nn/runtime.js';
import type { Trainer, TrainingDevice } from '../nn/trainer.js';
import type { TransitionBatch } from '../replay/transition.js';
import {
  type Decided,
  droqConfigSchema,
  redqConfigSchema,
  type SacConfig,
  sacConfigSchema,
  simbaConfigSchema,
} from './config.js';
import { assertBatch, configInvalid, type LearnerKind, parseConfig, type ReplayLearner } from './learner.js';
import { adamSchedule, CriticLearner, type LearnerParts, noteMoments, withMoments } from './network-learner.js';
import { actingSession, policyNet } from './policy-net.js';
import { type Design, layoutsOf, maskNames, softErrorModel, trainersOf } from './soft-actor-critic-graph.js';
import { boxActions, type Spaces } from './spaces.js';

/** Means over the steps of one update, of `alpha` the last; `entropy` in nats. What a policy did is absent where it took no step. */
type SoftMetrics = Record<'criticLoss' | 'q', number> & Partial<Record<'policyLoss' | 'alpha' | 'entropy', number>>;

/** Everything that steps of the critics are fed, stacked. */
type Columns = Readonly<Record<string, Float32Array | Int32Array | Uint8Array>>;

/** Makes fresh learners of one design; their initial weights come from `rng`. */
function maker<S extends z.ZodObject>(kind: LearnerKind, schema: S, designOf: (of: Decided<z.output<S>>) => Design) {
  const name = `${kind.toUpperCase()} learner`;
  return async (given: z.input<S>, spaces: Spaces, rng: Rng, device: TrainingDevice = 'cpu') => {
    const config = parseConfig(name, schema, given, spaces);
    return made(kind, config as unknown as { readonly batchSize: number }, designOf(config), spaces, rng, device);
  };
}

/** Throws SETTING_INVALID, SCENARIO_UNFIT unless actions are a Box with finite bounds, or DEVICE_UNAVAILABLE; as the others do. */
export const makeSac = maker('sac', sacConfigSchema, sacDesign);

/** Of the code of REDQ, DroQ and MBPO: no biases, and weights larger than those of PyTorch's layers. */
const XAVIER = { kind: 'xavier' } as const;

export const makeRedq = maker('redq', redqConfigSchema, (config) => {
  if (config.drawn > config.critics) {
    const problem = `drawn is ${config.drawn} of ${config.critics} critics; draw as many as there are at most`;
    throw configInvalid('REDQ learner', problem);
  }
  return { ...config, initial: XAVIER, dropout: 0 };
});

/** Two critics in place of many, with dropout and layer normalisation. */
export const makeDroq = maker('droq', droqConfigSchema, (config) => {
  return { ...config, initial: XAVIER, critics: 2, drawn: 2, criticLayerNorm: true };
});

/** DroQ's rhythm with residual networks, which see observations scaled to those of all rows so far. */
export const makeSimba = maker('simba', simbaConfigSchema, (config) => {
  if (config.hidden.some((width) => width !== config.hidden[0])) {
    const problem = `hidden is [${config.hidden}]; give all residual blocks the same width`;
    throw configInvalid('SIMBA learner', problem);
  }
  return { ...config, critics: 2, drawn: 2, dropout: 0, criticLayerNorm: false, isResidual: true };
});

export function sacDesign(config: SacConfig): Design {
  const initial = config.preset === 'mbpo' ? XAVIER : undefined;
  return { ...config, initial, critics: 2, drawn: 2, dropout: 0, policyEvery: 0 };
}

async function made(
  kind: LearnerKind,
  config: { readonly batchSize: number },
  design: Design,
  spaces: Spaces,
  rng: Rng,
  device: TrainingDevice,
): Promise<SoftActorCritic> {
  const actions = boxActions(spaces.actionSpace, `${kind.toUpperCase()} learner`);
  const plain = policyNet(spaces, design, actions, 'squashed');
  const net = design.isResidual ? { ...plain, standardises: true as const } : plain;
  const trainers = await trainersOf(net, design, device);
  const { all, critics: layout, actor, policySize } = layoutsOf(net, design);
  const parts = { config, spaces, net, trainer: trainers.policy, session: await actingSession(net), policySize };
  if (trainers.critics === undefined) {
    const theta = all.init(rng);
    const arrays = { ...withMoments(theta), target: theta.slice(0, layout.size) };
    return new SoftActorCritic(kind, design, { ...parts, arrays, policyStart: layout.size }, undefined);
  }
  const critics = layout.init(rng.split('critics'));
  const { m: criticM, v: criticV } = withMoments(critics);
  const arrays = { ...withMoments(actor.init(rng)), critics, criticM, criticV, target: critics.slice() };
  return new SoftActorCritic(kind, design, { ...parts, arrays, policyStart: 0 }, trainers.critics);
}

/** Use `makeSac`, `makeRedq` or `makeDroq`. */
export class SoftActorCritic extends CriticLearner<{ readonly batchSize: number }> implements ReplayLearner {
  private errorSession: Promise<InferenceSession> | undefined;

  constructor(
    readonly kind: LearnerKind,
    private readonly design: Design,
    parts: LearnerParts<{ readonly batchSize: number }>,
    private readonly criticTrainer: Trainer | undefined,
  ) {
    super(parts);
  }

  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`; with an ensemble those are of the
   * critics, and the policy takes one after each `policyEvery` of them.
   * @param batch steps * batchSize rows, actions in the environment's units
   * @param weights importance weight per row (prioritised replay); 1 if absent
   * Throws DATA_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<SoftMetrics> {
    if (this.criticTrainer === undefined) return this.jointSteps(batch, steps, rng, weights);
    const trainer = this.criticTrainer;
    return this.allOrNothing(() => this.ensembleSteps(trainer, batch, steps, rng, weights));
  }

  /**
   * |Q - y| of every row of `batch`, mean over the critics, by the weights of now: priorities for prioritised replay.
   * Noise and members come from `rng`. Throws DATA_MISMATCH or NON_FINITE_VALUE.
   */
  async tdErrors(batch: TransitionBatch, rng: Rng): Promise<Float32Array> {
    const { rows, obs, action, reward, nextObs } = batch;
    const { obsDim, actions } = this.net;
    assertBatch(batch, rows, obsDim, actions.dim);
    this.errorSession ??= InferenceSession.fromBytes(softErrorModel(this.net, this.design));
    const session = await this.errorSession;
    const vectors = this.criticTrainer === undefined ? ['theta', 'target'] : ['theta', 'critics', 'target'];
    const { tdError } = await session.run({
      ...Object.fromEntries(vectors.map((name) => [name, float32(this.current[name])])),
      obs: float32(obs, [rows, obsDim]),
      action: float32(action, [rows, actions.dim]),
      reward: float32(reward, [rows]),
      discount: float32(this.discounts(batch), [rows]),
      nextObs: float32(nextObs, [rows, obsDim]),
      nextNoise: float32(this.normal(rows, rng), [rows, actions.dim]),
      ...(this.criticTrainer && { drawn: int32(this.drawn(1, rng)) }),
    });
    return tdError.data as Float32Array;
  }

  standardise(obs: Float32Array): void {
    if (!this.net.standardises) return;
    const { actor } = layoutsOf(this.net, this.design);
    const theta = this.current.theta.slice();
    noteMoments(obs, 0, actor.view(theta, 'policy.obsMean'), actor.view(theta, 'policy.obsScale'));
    this.replace({ theta }, this.gradientSteps);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.criticTrainer?.release();
    await (await this.errorSession)?.release();
  }

  protected get replayed(): Design {
    return this.design;
  }

  private async jointSteps(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array) {
    const rows = steps * this.design.batchSize;
    const columns = this.columnsOf(batch, steps, weights);
    const perStep = { ...columns, noise: this.normal(rows, rng), nextNoise: this.normal(rows, rng) };
    const metrics = await this.train({}, perStep, steps, this.design.lr);
    const { criticLoss, policyLoss, alpha, entropy, q } = metrics;
    return {
      ...{ criticLoss: mean(criticLoss), policyLoss: mean(policyLoss), alpha: alpha[steps - 1] },
      ...{ entropy: mean(entropy), q: mean(q) },
    };
  }

  private async ensembleSteps(
    trainer: Trainer,
    batch: TransitionBatch,
    steps: number,
    rng: Rng,
    weights?: Float32Array,
  ): Promise<SoftMetrics> {
    const { batchSize: rows, policyEvery } = this.design;
    const columns: Columns = {
      ...this.columnsOf(batch, steps, weights),
      nextNoise: this.normal(steps * rows, rng),
      drawn: this.drawn(steps, rng),
      ...this.masks('own', steps, rng),
      ...this.masks('next', steps, rng),
    };
    const found: Record<string, number[]> = {};
    const note = (metrics: Readonly<Record<string, Float32Array>>) => {
      for (const [name, values] of Object.entries(metrics)) found[name] = [...(found[name] ?? []), ...values];
    };
    for (let done = 0; done < steps; ) {
      const count = Math.min(steps - done, policyEvery - (this.gradientSteps % policyEvery));
      note(await this.criticSteps(trainer, columns, done, count, steps));
      done += count;
      if (this.gradientSteps % policyEvery > 0) continue;
      const last = batch.obs.subarray((done - 1) * rows * this.net.obsDim, done * rows * this.net.obsDim);
      note(await this.policyStep(last, rng));
    }
    const { alpha, ...means } = found;
    const entries = Object.entries(means).map(([name, values]) => [name, mean(values)]);
    return { ...Object.fromEntries(entries), ...(alpha && { alpha: alpha.at(-1) }) };
  }

  private async criticSteps(trainer: Trainer, columns: Columns, from: number, count: number, of: number) {
    const { theta, critics, criticM: m, criticV: v, target } = this.current;
    const perStep = Object.entries(columns).map(([name, column]) => {
      const width = column.length / of;
      return [name, column.subarray(from * width, (from + count) * width)];
    });
    const { state, metrics } = await trainer.run({
      state: { critics, m, v, target },
      inputs: { theta },
      perStep: { ...Object.fromEntries(perStep), ...adamSchedule(this.gradientSteps, count, this.design.lr) },
      steps: count,
    });
    const next = { critics: state.critics, criticM: state.m, criticV: state.v, target: state.target };
    this.replace(next, this.gradientSteps + count);
    return metrics;
  }

  private async policyStep(obs: Float32Array, rng: Rng) {
    const { batchSize, policyEvery, lr } = this.design;
    const { theta, m, v, critics } = this.current;
    const noise = this.normal(batchSize, rng);
    const before = this.gradientSteps / policyEvery - 1;
    const perStep = { obs, noise, ...this.masks('own', 1, rng), ...adamSchedule(before, 1, lr) };
    const run = { state: { theta, m, v }, inputs: { critics }, perStep, steps: 1 };
    const { state, metrics } = await this.trainer.run(run);
    this.replace(state, this.gradientSteps);
    return metrics;
  }

  /** Members of the targets, without repetition, [steps, drawn]. */
  private drawn(steps: number, rng: Rng): Int32Array {
    const { critics, drawn } = this.design;
    const members = new Int32Array(steps * drawn);
    for (let step = 0; step < steps; step++) members.set(rng.permutation(critics).subarray(0, drawn), step * drawn);
    return members;
  }

  private masks(pass: 'own' | 'next', steps: number, rng: Rng): Record<string, Uint8Array> {
    const { batchSize, critics, drawn, dropout, hidden } = this.design;
    const members = pass === 'own' ? critics : drawn;
    const maskOf = (width: number) => dropoutMask(steps * members * batchSize * width, dropout, rng);
    return Object.fromEntries(maskNames(this.design, pass).map((name, layer) => [name, maskOf(hidden[layer])]));
  }
}

/**
 * Which units a dropout leaves out (Srivastava et al. 2014): 1 = kept, 0 = left out, each with probability `share` in (0, 1),
 * independently. Few are left out, so the gaps between them are drawn: one number for each unit that goes.
 */
function dropoutMask(units: number, share: number, rng: Rng): Uint8Array {
  const mask = new Uint8Array(units).fill(1);
  const log = Math.log1p(-share);
  const gap = () => Math.floor(Math.log1p(-rng.uniform()) / log);
  for (let at = gap(); at < units; at += 1 + gap()) mask[at] = 0;
  return mask;
}
