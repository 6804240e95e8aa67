// A dreamt rollout to learn from on-policy: branches from real states, all of them stepped side by side for the whole
// horizon, so that every column of it is an unbroken stretch. A branch that ends early is followed by another one.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Acting } from '../core/acting.js';
import type { Rng } from '../core/rng.js';
import { rowSize } from '../env/index.js';
import { allocateBatch, type Provenance, type ReplayBuffer, type TransitionBatch } from '../replay/index.js';
import type { Rollout, RolloutLearner } from '../rl/index.js';
import { type RolloutCounts, startAt } from '../synth/index.js';
import {
  BatchedDream,
  type BatchedStep,
  type Propagation,
  type Start,
  type VectorDynamics,
} from '../worldmodel/index.js';

export interface DreamRolloutRequest {
  readonly model: VectorDynamics;
  readonly actor: RolloutLearner;
  /** Branches start at observations of its rows, drawn at random. */
  readonly real: ReplayBuffer;
  /** Branches side by side. */
  readonly branches: number;
  readonly horizon: number;
  readonly propagation: Propagation;
  readonly disagreementLimit?: number;
  /** Episode id of the first branch. */
  readonly firstEpisode: number;
  readonly scenario: string;
  readonly seed: number;
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

export interface DreamRollout {
  /** `horizon` x `branches` rows; the last of each branch is terminated or truncated. */
  readonly rollout: Rollout;
  readonly provenance: Provenance;
  readonly counts: RolloutCounts;
}

/** Throws what model and learner throw, or the signal's reason. */
export async function dreamRollout(request: DreamRolloutRequest): Promise<DreamRollout> {
  const { model, actor, branches, horizon, propagation, disagreementLimit, rng, signal } = request;
  const record = new RolloutRecord(request);
  const dream = new BatchedDream({
    model,
    rows: branches,
    starts: (stream) => record.drawStart(stream),
    rng: rng.split('dream'),
    maxEpisodeSteps: horizon,
    disagreementLimit,
    step: { propagation },
  });
  const act = rng.split('act');
  const acting = new Acting(actor, branches);
  let obs = await dream.reset();
  for (let step = 0; step < horizon; step++) {
    // A model that never waits would keep timers and signals from running.
    await nextTurn();
    signal?.throwIfAborted();
    const acted = await acting.act(obs, act);
    const lived = await dream.step(acted.action);
    record.keep(step, obs, acted, lived);
    acting.restart(
      Uint32Array.from(lived.terminated.keys()).filter((row) => lived.terminated[row] || lived.truncated[row]),
    );
    obs = lived.obs;
  }
  return record.finish();
}

type Acted = Awaited<ReturnType<RolloutLearner['act']>>;

class RolloutRecord {
  private readonly batch: TransitionBatch;
  private readonly raw: Float32Array;
  private readonly logProb: Float32Array;
  private readonly episode: Float64Array;
  private readonly step: Uint32Array;
  private readonly parent: Float64Array;
  private confidence: Float32Array | undefined;
  private readonly counts = { terminated: 0, outOfHorizon: 0, doubted: 0 };
  private readonly obsDim: number;
  private readonly actionDim: number;
  /** Row ids of the starts, in the order in which branches begin: the n-th is that of the n-th episode. */
  private readonly startIds: number[] = [];
  /** Of the branch each column is in: its number and its next step. */
  private readonly branch: Float64Array;
  private readonly age: Uint32Array;
  private begun: number;

  constructor(private readonly request: DreamRolloutRequest) {
    const { model, branches, horizon } = request;
    const rows = branches * horizon;
    this.obsDim = rowSize(model.observationSpace);
    this.actionDim = rowSize(model.actionSpace);
    this.batch = allocateBatch(rows, this.obsDim, this.actionDim);
    this.raw = new Float32Array(rows * this.actionDim);
    this.logProb = new Float32Array(rows);
    this.episode = new Float64Array(rows);
    this.step = new Uint32Array(rows);
    this.parent = new Float64Array(rows);
    this.branch = Float64Array.from({ length: branches }, (_, column) => column);
    this.age = new Uint32Array(branches);
    this.begun = branches;
  }

  /** The dream asks for a start for each branch that begins, column by column. */
  drawStart(rng: Rng): Start {
    const { real, model } = this.request;
    const index = rng.int(real.size);
    this.startIds.push(real.rowId(index));
    return startAt(real, index, model.context);
  }

  /** One step of all branches. */
  keep(step: number, obs: Float32Array, acted: Acted, lived: BatchedStep): void {
    const { batch, request, obsDim, actionDim } = this;
    const from = step * request.branches;
    batch.obs.set(obs, from * obsDim);
    batch.action.set(acted.action, from * actionDim);
    batch.reward.set(lived.reward, from);
    batch.nextObs.set(lived.nextObs, from * obsDim);
    this.raw.set(acted.raw, from * actionDim);
    this.logProb.set(acted.logProb, from);
    if (lived.disagreement) {
      this.confidence ??= new Float32Array(batch.rows);
      this.confidence.set(
        lived.disagreement.map((doubt) => 1 / (1 + doubt)),
        from,
      );
    }
    for (let column = 0; column < request.branches; column++) this.place(from + column, column, step, lived);
  }

  finish(): DreamRollout {
    const { request, batch, raw, logProb, episode, step, parent, confidence } = this;
    const { model, actor, scenario, seed, horizon, branches } = request;
    const { terminated, outOfHorizon, doubted } = this.counts;
    return {
      rollout: { steps: horizon, envs: branches, batch, raw, logProb },
      provenance: {
        source: 'synthetic',
        backend: model.backend,
        modelVersion: model.modelVersion,
        scenario,
        policyVersion: actor.policy().version,
        seed,
        ...{ episode, step, parent, logProb, confidence },
      },
      counts: {
        episodes: terminated + outOfHorizon + doubted,
        rows: batch.rows,
        ...{ terminated, outOfHorizon, doubted, dropped: 0 },
      },
    };
  }

  /** Where a row belongs, and whether its branch ends there. */
  private place(row: number, column: number, step: number, lived: BatchedStep): void {
    const { firstEpisode, horizon, disagreementLimit = Number.POSITIVE_INFINITY } = this.request;
    const branch = this.branch[column];
    this.episode[row] = firstEpisode + branch;
    this.step[row] = this.age[column]++;
    this.parent[row] = this.startIds[branch];
    const isLast = step + 1 === horizon;
    const terminated = lived.terminated[column] === 1;
    if (!terminated && !lived.truncated[column] && !isLast) return;
    this.batch.terminated[row] = terminated ? 1 : 0;
    this.batch.truncated[row] = terminated ? 0 : 1;
    if (terminated) this.counts.terminated++;
    else if (lived.disagreement && lived.disagreement[column] > disagreementLimit) this.counts.doubted++;
    else this.counts.outOfHorizon++;
    if (!isLast) this.branch[column] = this.begun++;
    this.age[column] = 0;
  }
}
