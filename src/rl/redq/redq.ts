// REDQ (randomised ensembled double Q-learning; Chen et al. 2021, 2101.05982) as a learner, and what DroQ shares with it: many
// steps of an ensemble of critics, each towards the least value of a few drawn ones, for one step of the policy.

import type { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { int32 } from '../../nn/graph.js';
import { buildTrainer, type Trainer, type TrainingDevice } from '../../nn/trainer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { redqConfigSchema } from '../config.js';
import { CriticLearner } from '../critic-learner.js';
import type { LearnerKind, ReplayLearner } from '../learner.js';
import { parseConfig } from '../learner-state.js';
import { adamSchedule, type LearnerParts, withMoments } from '../network-learner.js';
import { actingSession } from '../network-policy.js';
import { type PolicyNet, policyNet } from '../policy-net.js';
import { boxActions, type Spaces } from '../spaces.js';
import {
  criticTrainer,
  maskNames,
  nativeTrainersOf,
  policyTrainer,
  type RedqDesign,
  redqErrorModel,
  redqLayout,
} from './redq-graph.js';

/**
 * A fresh REDQ learner; its initial weights come from `rng`.
 * Throws SETTING_INVALID, SCENARIO_UNFIT unless actions are a Box with finite bounds, or DEVICE_UNAVAILABLE.
 */
export async function makeRedq(
  config: z.input<typeof redqConfigSchema>,
  spaces: Spaces,
  rng: Rng,
  device: TrainingDevice = 'cpu',
): Promise<Redq> {
  const settings = parseConfig('REDQ learner', redqConfigSchema, config);
  if (settings.drawn > settings.critics) {
    const problem = `drawn is ${settings.drawn} of ${settings.critics} critics; draw as many as there are at most`;
    throw reverieError('SETTING_INVALID', {
      problem: `Settings of the REDQ learner: ${problem}`,
      hint: 'See src/rl/config.ts for every setting, its meaning and its default.',
    });
  }
  return criticEnsemble('redq', settings, { ...settings, dropout: 0 }, spaces, rng, device);
}

/** A learner of this design under its own name and settings. */
export async function criticEnsemble<Config extends { readonly batchSize: number }>(
  kind: LearnerKind,
  config: Config,
  design: RedqDesign,
  spaces: Spaces,
  rng: Rng,
  device: TrainingDevice,
): Promise<Redq<Config>> {
  const actions = boxActions(spaces.actionSpace, `${kind.toUpperCase()} learner`);
  const net = policyNet(spaces, design, actions, 'squashed');
  const layout = redqLayout(net, design);
  const critics = layout.critics.init(rng.split('critics'));
  const { m: criticM, v: criticV } = withMoments(critics);
  const trainers = device === 'native' ? nativeTrainersOf(net, design) : await builtTrainers(net, design);
  const parts = {
    ...{ config, spaces, net },
    trainer: trainers.policy,
    session: await actingSession(net),
    arrays: { ...withMoments(layout.theta.init(rng)), critics, criticM, criticV, target: critics.slice() },
    ...{ policyStart: 0, policySize: layout.policySize },
  };
  return new Redq(kind, design, parts, trainers.critics);
}

async function builtTrainers(net: PolicyNet, design: RedqDesign): Promise<{ critics: Trainer; policy: Trainer }> {
  return {
    policy: await buildTrainer(policyTrainer(net, design)),
    critics: await buildTrainer(criticTrainer(net, design)),
  };
}

/** Means over the steps of one update, where one of the policy was among them; `alpha` is the last one's. */
export interface RedqMetrics {
  readonly criticLoss: number;
  readonly q: number;
  readonly policyLoss?: number;
  readonly alpha?: number;
  readonly entropy?: number;
}

type Columns = Record<string, Float32Array | Int32Array | Uint8Array>;

/** Use `makeRedq` or `makeDroq`. */
export class Redq<Config extends { readonly batchSize: number } = { readonly batchSize: number }>
  extends CriticLearner<Config>
  implements ReplayLearner
{
  constructor(
    readonly kind: LearnerKind,
    private readonly design: RedqDesign,
    parts: LearnerParts<Config>,
    private readonly criticTrainer: Trainer,
  ) {
    super(parts);
  }

  /** As `Sac.update`; `steps` are those of the critics, and the policy takes one after each `policyEvery` of them. */
  update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<RedqMetrics> {
    return this.allOrNothing(async () => {
      const { batchSize: rows, policyEvery } = this.design;
      const columns = this.drawnColumns(batch, steps, rng, weights);
      const found: Record<string, number[]> = {};
      const note = (metrics: Record<string, Float32Array>) => {
        for (const [name, values] of Object.entries(metrics)) found[name] = [...(found[name] ?? []), ...values];
      };
      for (let done = 0; done < steps; ) {
        const count = Math.min(steps - done, policyEvery - (this.gradientSteps % policyEvery));
        note(await this.criticSteps(columns, done, count, steps));
        done += count;
        if (this.gradientSteps % policyEvery > 0) continue;
        const last = batch.obs.subarray((done - 1) * rows * this.net.obsDim, done * rows * this.net.obsDim);
        note(await this.policyStep(last, rng));
      }
      const { alpha, ...means } = found;
      const entries = Object.entries(means).map(([name, values]) => [name, mean(values)]);
      return { ...Object.fromEntries(entries), ...(alpha && { alpha: alpha.at(-1) }) };
    });
  }

  /** As `Sac.tdErrors`, the mean over all critics. */
  tdErrors(batch: TransitionBatch, rng: Rng): Promise<Float32Array> {
    const drawn = () => ({ drawn: int32(this.drawn(1, rng)) });
    return this.errorsOf(batch, rng, ['theta', 'critics', 'target'], drawn);
  }

  protected get replayed(): RedqDesign {
    return this.design;
  }

  protected errorModel(): Uint8Array {
    return redqErrorModel(this.net, this.design);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.criticTrainer.release();
  }

  /** Everything that `steps` steps of the critics are fed, stacked. */
  private drawnColumns(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Columns {
    return {
      ...this.columnsOf(batch, steps, weights),
      nextNoise: this.normal(steps * this.design.batchSize, rng),
      drawn: this.drawn(steps, rng),
      ...this.masks('own', steps, rng),
      ...this.masks('next', steps, rng),
    };
  }

  private async criticSteps(columns: Columns, from: number, count: number, of: number) {
    const { theta, critics, criticM: m, criticV: v, target } = this.current;
    const perStep = Object.entries(columns).map(([name, column]) => {
      const width = column.length / of;
      return [name, column.subarray(from * width, (from + count) * width)];
    });
    const { state, metrics } = await this.criticTrainer.run({
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
    const { state, metrics } = await this.trainer.run({
      state: { theta, m, v },
      inputs: { critics },
      perStep,
      steps: 1,
    });
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
    const names = maskNames(this.design, pass);
    return Object.fromEntries(
      names.map((name, layer) => [name, dropoutMask(steps * members * batchSize * hidden[layer], dropout, rng)]),
    );
  }
}

// Which units a dropout leaves out (Srivastava et al. 2014), drawn outside the graph as all noise is: few are left out, so the
// gaps between them are drawn, which takes one number for each unit that goes instead of one for each that stays.

/** 1 = kept, 0 = left out, each with probability `share` in (0, 1), independently. */
export function dropoutMask(units: number, share: number, rng: Rng): Uint8Array {
  const mask = new Uint8Array(units).fill(1);
  const log = Math.log1p(-share);
  for (let at = gap(rng, log); at < units; at += 1 + gap(rng, log)) mask[at] = 0;
  return mask;
}

/** Units kept before the next one left out: geometric. */
function gap(rng: Rng, log: number): number {
  return Math.floor(Math.log1p(-rng.uniform()) / log);
}
