// What dreamt rows are worth to the scenario's learner (SAC): trained off-line on real rows, on dreamt ones and on mixtures,
// with as many rows and updates each, and judged in the real environment.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Carry } from '../../core/dynamics.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import type { Scenario, ScenarioConfig } from '../../kinds/vector.js';
import { allocateBatch, sliceBatch } from '../../replay/batch.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { evaluatePolicy } from '../../rl/evaluate.js';
import { makeSac, type SoftActorCritic } from '../../rl/soft-actor-critic.js';
import type { Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import { batchOfStarts, beginFrom, type Start } from '../../worldmodel/starts.js';
import type { Instrument } from '../instrument.js';
import { type LearningSource, learningInstrument, type Ratio, unlearnable } from '../learning/learning.js';
import type { FidelitySetup } from '../setup.js';
import type { TruthEpisode, VectorTruth } from './truth.js';

/** Gradient steps per call: short enough to be stopped, long enough to hide the call. */
const UPDATES_PER_CALL = 50;

/**
 * Without a model that can be put into recorded states, or with actions that SAC cannot learn, nothing is measured and the
 * section says so. The model is not closed.
 */
export function vectorLearningInstrument(
  setup: FidelitySetup<Scenario>,
  truth: Pick<VectorTruth, 'rows' | 'episodes' | 'actionSpace'>,
  model: VectorDynamics | undefined,
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
    private readonly setup: FidelitySetup<Scenario>,
    private readonly truth: Pick<VectorTruth, 'rows' | 'episodes'>,
    private readonly model: VectorDynamics,
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
  private async train(sac: SoftActorCritic, rows: TransitionBatch, rng: Rng, signal?: AbortSignal): Promise<void> {
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

  private async judge(env: VectorEnvironment, sac: SoftActorCritic, signal?: AbortSignal): Promise<readonly number[]> {
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

// Dreamt rows that differ from real ones in nothing but who says what follows: each real row is dreamt again, under the same
// action, in short branches that begin at real states.

interface DreamtRowsRequest {
  readonly model: VectorDynamics;
  readonly propagation: Propagation;
  /** Real rows, as unbroken episodes. */
  readonly real: TransitionBatch;
  readonly episodes: readonly TruthEpisode[];
  /** Steps of a branch at most. */
  readonly length: number;
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

/** A branch that is being dreamt: the real row whose action comes next, and rows left; its episode's first row. */
interface Branch {
  readonly first: number;
  row: number;
  left: number;
  obs: Float32Array;
}

/**
 * As many rows as there are real ones; row i has the action of real row i. A branch goes on from its own dreamt states; where
 * the dream ends an episode, the next row begins at the real state again.
 */
export async function dreamtRows(request: DreamtRowsRequest): Promise<TransitionBatch> {
  const { model, propagation, real, length, rng, signal } = request;
  const [obsDim, actionDim] = [real.obs.length / real.rows, real.action.length / real.rows];
  const rows = allocateBatch(real.rows, obsDim, actionDim);
  const observed = (row: number) => real.obs.slice(row * obsDim, (row + 1) * obsDim);
  let branches = branchStarts(request).map((one): Branch => ({ ...one, obs: observed(one.row) }));
  let carry = await begun(request, branches, rng.split('begin'));
  for (let step = 0; step < length && branches.length > 0; step++) {
    await nextTurn();
    signal?.throwIfAborted();
    const action = actionsOf(real, branches);
    const said = await model.imagine(carry, action, rng.split('step', step), { propagation });
    const again: Branch[] = [];
    const order = Uint32Array.from(branches.keys());
    branches.forEach((branch, i) => {
      const next = said.observation.slice(i * obsDim, (i + 1) * obsDim);
      rows.obs.set(branch.obs, branch.row * obsDim);
      rows.action.set(action.subarray(i * actionDim, (i + 1) * actionDim), branch.row * actionDim);
      rows.reward[branch.row] = said.reward[i];
      rows.nextObs.set(next, branch.row * obsDim);
      rows.terminated[branch.row] = said.terminated[i];
      branch.row++;
      branch.left--;
      if (branch.left === 0) return;
      branch.obs = said.terminated[i] === 1 ? observed(branch.row) : next;
      if (said.terminated[i] === 1) order[i] = branches.length + again.push(branch) - 1;
    });
    const living = order.filter((_, i) => branches[i].left > 0);
    const fresh = again.length === 0 ? [] : [await begun(request, again, rng.split('begin', step))];
    carry = model.pick(model.join([said.carry, ...fresh]), living);
    branches = branches.filter(({ left }) => left > 0);
  }
  return rows;
}

/** What the model remembers of branches at the real rows they stand at. */
function begun({ model, real }: DreamtRowsRequest, branches: readonly Branch[], rng: Rng): Promise<Carry> {
  const [obsDim, actionDim] = [real.obs.length / real.rows, real.action.length / real.rows];
  const led = branches.map(({ first, row, obs }): Start => {
    const from = Math.max(first, row - model.context);
    const history = {
      obs: real.obs.subarray(from * obsDim, row * obsDim),
      action: real.action.subarray(from * actionDim, row * actionDim),
    };
    return { observation: obs, history };
  });
  const { starts, history } = batchOfStarts(led, { obsDim, actionDim });
  return beginFrom(model, starts, history, rng);
}

function actionsOf(real: TransitionBatch, branches: readonly Branch[]): Float32Array {
  const actionDim = real.action.length / real.rows;
  const action = new Float32Array(branches.length * actionDim);
  branches.forEach(({ row }, i) => {
    action.set(real.action.subarray(row * actionDim, (row + 1) * actionDim), i * actionDim);
  });
  return action;
}

function branchStarts({ real, episodes, length }: DreamtRowsRequest): { first: number; row: number; left: number }[] {
  return episodes.flatMap(({ first, rows }) => {
    const end = Math.min(first + rows, real.rows);
    const count = Math.max(0, Math.ceil((end - first) / length));
    return Array.from({ length: count }, (_, i) => {
      const row = first + i * length;
      return { first, row, left: Math.min(length, end - row) };
    });
  });
}

/** Real rows of which a share is replaced by their dreamt counterparts, drawn at random: as many rows as before. */
export function mixedRows(real: TransitionBatch, dreamt: TransitionBatch, ratio: number, rng: Rng): TransitionBatch {
  const { rows } = real;
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  for (let i = rows - 1; i > 0; i--) {
    const j = rng.int(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  const mixed = copyOf(real);
  const [obsDim, actionDim] = [real.obs.length / rows, real.action.length / rows];
  for (const row of order.subarray(0, Math.round(ratio * rows))) {
    copyRow(dreamt, mixed, row, obsDim, actionDim);
  }
  return mixed;
}

function copyOf({ rows, obs, action, reward, nextObs, terminated, truncated }: TransitionBatch): TransitionBatch {
  return {
    rows,
    ...{ obs: obs.slice(), action: action.slice(), reward: reward.slice(), nextObs: nextObs.slice() },
    ...{ terminated: terminated.slice(), truncated: truncated.slice() },
  };
}

function copyRow(from: TransitionBatch, to: TransitionBatch, row: number, obsDim: number, actionDim: number): void {
  to.obs.set(from.obs.subarray(row * obsDim, (row + 1) * obsDim), row * obsDim);
  to.action.set(from.action.subarray(row * actionDim, (row + 1) * actionDim), row * actionDim);
  to.nextObs.set(from.nextObs.subarray(row * obsDim, (row + 1) * obsDim), row * obsDim);
  to.reward[row] = from.reward[row];
  to.terminated[row] = from.terminated[row];
}
