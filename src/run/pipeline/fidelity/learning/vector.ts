// What dreamt rows are worth to the scenario's learner (SAC): trained off-line on real rows, on dreamt ones and on mixtures,
// with as many rows and updates each, and judged in the real environment.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeEnvironment, type VectorEnvironment } from '../../../../env/index.js';
import {
  type Instrument,
  type LearningSource,
  learningInstrument,
  type Ratio,
  unlearnable,
  type VectorTruth,
} from '../../../../fidelity/index.js';
import { allocateBatch, sliceBatch, type TransitionBatch } from '../../../../replay/index.js';
import { evaluatePolicy, makeSac, type Sac } from '../../../../rl/index.js';
import { Rng } from '../../../../rng.js';
import type { VectorWorldModel } from '../../../../worldmodel/index.js';
import type { ScenarioConfig } from '../../../scenario-schema.js';
import type { FidelitySetup } from '../setup.js';
import { dreamtRows, mixedRows } from './rows.js';

/** Gradient steps per call: short enough to be stopped, long enough to hide the call. */
const UPDATES_PER_CALL = 50;

/**
 * Without a model that can be put into recorded states, or with actions that SAC cannot learn, nothing is measured and the
 * section says so. The model is not closed.
 */
export function vectorLearningInstrument(
  setup: FidelitySetup,
  truth: Pick<VectorTruth, 'rows' | 'episodes' | 'actionSpace'>,
  model: VectorWorldModel | undefined,
): Instrument {
  if (model === undefined) return unlearnable('One can only live in this model from its own reset on.');
  if (truth.actionSpace.type !== 'box') {
    return unlearnable(
      'The learner of this measure is soft actor-critic, whose actions are real numbers; here they are choices.',
    );
  }
  const source = new OfflineLearners(setup, truth, model);
  const { rows, length } = source;
  const { updates, episodes } = setup.scenario.config.fidelity.learning;
  const note = `Soft actor-critic, ${updates} updates off-line on ${rows} rows, each judged by ${episodes} real episodes. A dreamt row repeats the action of a real one, in branches of ${length} steps from real states; learners that choose their own actions in the dream may meet worse.`;
  return learningInstrument(source, { seed: setup.seed, notes: [note] });
}

/** What branches of the scenario grow to. */
function branchLength({ rollout }: ScenarioConfig): number {
  const { horizon } = rollout;
  if (horizon === 'auto') return 1;
  return typeof horizon === 'number' ? horizon : horizon[3];
}

class OfflineLearners implements LearningSource {
  readonly ratios: readonly number[];
  readonly seeds: number;
  readonly length: number;
  private readonly real: TransitionBatch;
  private readonly root: Rng;
  private dreamt: Promise<TransitionBatch> | undefined;

  constructor(
    private readonly setup: FidelitySetup,
    private readonly truth: Pick<VectorTruth, 'rows' | 'episodes'>,
    private readonly model: VectorWorldModel,
  ) {
    const { config } = setup.scenario;
    const { ratios, seeds, rows } = config.fidelity.learning;
    this.ratios = [...new Set([0, ...ratios])];
    this.seeds = seeds;
    this.length = branchLength(config);
    this.real = sliceBatch(truth.rows, 0, Math.min(rows, truth.rows.rows));
    this.root = Rng.fromSeed(setup.seed).split('learning');
  }

  get rows(): number {
    return this.real.rows;
  }

  async learn(ratio: Ratio, seed: number, signal?: AbortSignal): Promise<readonly number[]> {
    const rng = this.root.split('learner', seed);
    const { config, folder } = this.setup.scenario;
    const env = await makeEnvironment(config.env, { folder });
    const sac = await makeSac(settingsOf(config), env, rng.split('weights'));
    try {
      if (ratio !== null) await this.train(sac, await this.rowsOf(ratio, rng, signal), rng, signal);
      return await this.judge(env, sac, signal);
    } finally {
      await sac.close();
      await env.close();
    }
  }

  private async rowsOf(ratio: number, rng: Rng, signal?: AbortSignal): Promise<TransitionBatch> {
    if (ratio === 0) return this.real;
    this.dreamt ??= dreamtRows({
      model: this.model,
      propagation: this.setup.scenario.config.rollout.propagation,
      real: this.real,
      episodes: this.truth.episodes.filter(({ first }) => first < this.real.rows),
      length: this.length,
      rng: this.root.split('dream'),
      signal,
    });
    return mixedRows(this.real, await this.dreamt, ratio, rng.split('mixture'));
  }

  /** The same draws of rows and noise whatever the share: learners of a seed differ in what the rows hold alone. */
  private async train(sac: Sac, rows: TransitionBatch, rng: Rng, signal?: AbortSignal): Promise<void> {
    const { updates } = this.setup.scenario.config.fidelity.learning;
    const { batchSize } = sac.config;
    for (let done = 0; done < updates; done += UPDATES_PER_CALL) {
      const steps = Math.min(UPDATES_PER_CALL, updates - done);
      const stream = rng.split('updates', done);
      await sac.update(drawn(rows, steps * batchSize, stream.split('rows')), steps, stream.split('noise'));
      await nextTurn();
      signal?.throwIfAborted();
    }
  }

  private async judge(env: VectorEnvironment, sac: Sac, signal?: AbortSignal): Promise<readonly number[]> {
    const { episodes } = this.setup.scenario.config.fidelity.learning;
    const seed = this.root.split('judge').uint32();
    const { returns } = await evaluatePolicy(env, sac.policy(), { episodes, seed, signal });
    return Array.from(returns);
  }
}

/** Those of the scenario's learner where it is SAC. */
function settingsOf({ rl }: ScenarioConfig): Parameters<typeof makeSac>[0] {
  if (rl.algorithm !== 'sac') return {};
  const { algorithm: _, ...settings } = rl;
  return settings;
}

/** Rows drawn at random, with replacement. */
function drawn(rows: TransitionBatch, count: number, rng: Rng): TransitionBatch {
  const [obsDim, actionDim] = [rows.obs.length / rows.rows, rows.action.length / rows.rows];
  const batch = allocateBatch(count, obsDim, actionDim);
  for (let i = 0; i < count; i++) {
    const row = rng.int(rows.rows);
    batch.obs.set(rows.obs.subarray(row * obsDim, (row + 1) * obsDim), i * obsDim);
    batch.action.set(rows.action.subarray(row * actionDim, (row + 1) * actionDim), i * actionDim);
    batch.nextObs.set(rows.nextObs.subarray(row * obsDim, (row + 1) * obsDim), i * obsDim);
    batch.reward[i] = rows.reward[row];
    batch.terminated[i] = rows.terminated[row];
  }
  return batch;
}
