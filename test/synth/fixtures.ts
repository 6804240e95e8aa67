// Makers shared by the tests of this room: the doubles frozen and alive, start states, and rows as plain objects.

import { createHash } from 'node:crypto';
import type { Policy, PolicySnapshot } from '../../src/core/policy.js';
import { Rng } from '../../src/core/rng.js';
import { rolloutChunk } from '../../src/synth/rollout/chunk.js';
import {
  type FrozenRolloutRequest,
  RolloutPlan,
  type RolloutRequest,
  type RolloutResult,
} from '../../src/synth/rollout/plan.js';
import { mergeChunks } from '../../src/synth/rollout/pool.js';
import type { VectorDynamics, WorldModelSnapshot } from '../../src/worldmodel/dynamics.js';
import type { ReferenceRow } from './reference.js';

export const MODEL_LOADER = new URL('./doubles/model.mjs', import.meta.url).href;
export const POLICY_LOADER = new URL('./doubles/policy.mjs', import.meta.url).href;

export const OBS_DIM = 3;
export const ACTION_DIM = 2;

type Knobs = Record<string, unknown>;

export function frozenModel(knobs: Knobs = {}): WorldModelSnapshot {
  const payload = {
    obsDim: OBS_DIM,
    actionDim: ACTION_DIM,
    noise: 0.3,
    terminateAbove: 0.9,
    disagreementScale: 1,
    weights: Float32Array.from([0.4, -0.2, 0.1]),
    ...knobs,
  };
  return { backend: 'analytic', modelVersion: JSON.stringify(knobs), payload };
}

export function frozenPolicy(knobs: Knobs = {}): PolicySnapshot {
  const payload = { obsDim: OBS_DIM, actionDim: ACTION_DIM, ...knobs };
  return { version: `linear ${JSON.stringify(knobs)}`, loader: POLICY_LOADER, payload };
}

/** A policy that does `kind` of fault `times` times, counted over all threads. */
export function faultyPolicy(kind: string, times: number): PolicySnapshot {
  const counter = new Int32Array(new SharedArrayBuffer(4)).fill(times);
  return { ...frozenPolicy({ fault: { kind, counter } }), version: `faulty ${kind} ${times}` };
}

export function startsOf(rows: number, seed = 7): { starts: Float32Array; startIds: Float64Array } {
  const rng = Rng.fromSeed(seed).split('starts');
  const starts = rng.fillNormal(new Float32Array(rows * OBS_DIM)).map((value) => value * 0.5);
  return { starts, startIds: Float64Array.from({ length: rows }, (_, row) => 1000 + 3 * row) };
}

export function requestOf(rows: number, overrides: Partial<FrozenRolloutRequest> = {}): FrozenRolloutRequest {
  return {
    model: frozenModel(),
    policy: frozenPolicy(),
    ...startsOf(rows),
    horizon: 6,
    chunkSize: 32,
    rng: Rng.fromSeed(11),
    ...overrides,
  };
}

/** A request with the model and policy themselves. */
export interface OwnRequest extends RolloutRequest {
  readonly model: VectorDynamics;
  readonly policy: Policy;
}

/** Branched rollouts in this thread, with a model and a policy that are already there. */
export async function branchedRollouts(request: OwnRequest): Promise<RolloutResult> {
  const { model, policy } = request;
  const plan = new RolloutPlan(request);
  const chunks = [];
  for (let index = 0; index < plan.chunks; index++)
    chunks.push((await rolloutChunk(model, policy, plan.task(index), plan.rng(index)))!);
  const snapshot = { backend: model.backend, modelVersion: model.modelVersion, payload: undefined };
  const identity = { model: snapshot, policy: { version: policy.version, loader: '', payload: undefined } };
  return mergeChunks(chunks, { ...request, ...identity }, plan);
}

export async function revive(request: FrozenRolloutRequest): Promise<OwnRequest> {
  const model: VectorDynamics = await (await import(MODEL_LOADER)).loadWorldModel(request.model);
  const policy: Policy = await (await import(request.policy.loader)).loadPolicy(request.policy.payload);
  return { ...request, model, policy: { ...policy, version: request.policy.version } };
}

/** Digest of every byte of a result: columns, names and shared values. */
export function digest({ batch, provenance, counts }: RolloutResult): string {
  const hash = createHash('sha256');
  for (const [name, value] of [...Object.entries(batch), ...Object.entries(provenance), ...Object.entries(counts)]) {
    hash.update(name);
    hash.update(
      ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : String(value),
    );
  }
  return hash.digest('hex');
}

/** A result as rows of plain objects, to be compared with the reference. */
export function rowsOf({ batch, provenance }: RolloutResult): ReferenceRow[] {
  return Array.from({ length: batch.rows }, (_, row) => {
    const cut = (column: Float32Array) => {
      const dim = column.length / batch.rows;
      return [...column.slice(row * dim, (row + 1) * dim)];
    };
    return {
      obs: cut(batch.obs),
      action: cut(batch.action),
      reward: batch.reward[row],
      terminated: batch.terminated[row],
      truncated: batch.truncated[row],
      nextObs: cut(batch.nextObs),
      episode: provenance.episode[row],
      step: provenance.step[row],
      parent: provenance.parent![row],
      ...(provenance.confidence && { confidence: provenance.confidence[row] }),
      ...(provenance.logProb && { logProb: provenance.logProb[row] }),
    };
  });
}
