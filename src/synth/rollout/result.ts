// Joins the chunks of a job, in order, into one batch with its provenance.

import type { Provenance, TransitionBatch } from '../../replay/transition.js';
import type {
  FrozenRolloutRequest,
  RolloutChunk,
  RolloutCounts,
  RolloutPlan,
  RolloutRequest,
  RolloutResult,
} from './plan.js';

/** Who answered and who acted: the part of provenance that all rows of a job share. */
export interface RolloutIdentity {
  readonly backend: string;
  readonly modelVersion: string;
  readonly policyVersion: string;
}

export function identityOf({ model, policy }: Pick<FrozenRolloutRequest, 'model' | 'policy'>): RolloutIdentity {
  return { backend: model.backend, modelVersion: model.modelVersion, policyVersion: policy.version };
}

export function mergeChunks(
  chunks: readonly RolloutChunk[],
  request: Pick<RolloutRequest, 'scenario' | 'task'>,
  plan: RolloutPlan,
  identity: RolloutIdentity,
): RolloutResult {
  // A chunk without rows may not know the width of an action.
  const filled = chunks.filter((chunk) => chunk.rows > 0);
  return {
    batch: joinBatch(filled),
    provenance: { ...sharedProvenance(request, plan, identity), ...joinProvenance(filled) },
    counts: sumCounts(chunks.map((chunk) => chunk.counts)),
  };
}

export function sumCounts(counts: readonly RolloutCounts[]): RolloutCounts {
  const sum = (key: keyof RolloutCounts) => counts.reduce((total, one) => total + one[key], 0);
  return {
    episodes: sum('episodes'),
    rows: sum('rows'),
    terminated: sum('terminated'),
    outOfHorizon: sum('outOfHorizon'),
    doubted: sum('doubted'),
    dropped: sum('dropped'),
  };
}

function joinBatch(chunks: readonly RolloutChunk[]): TransitionBatch {
  return {
    rows: chunks.reduce((rows, chunk) => rows + chunk.rows, 0),
    obs: join(
      chunks.map((chunk) => chunk.obs),
      Float32Array,
    ),
    action: join(
      chunks.map((chunk) => chunk.action),
      Float32Array,
    ),
    reward: join(
      chunks.map((chunk) => chunk.reward),
      Float32Array,
    ),
    terminated: join(
      chunks.map((chunk) => chunk.terminated),
      Uint8Array,
    ),
    truncated: join(
      chunks.map((chunk) => chunk.truncated),
      Uint8Array,
    ),
    nextObs: join(
      chunks.map((chunk) => chunk.nextObs),
      Float32Array,
    ),
  };
}

type ColumnProvenance = Pick<Provenance, 'episode' | 'step' | 'group' | 'parent' | 'confidence' | 'logProb'>;

function joinProvenance(chunks: readonly RolloutChunk[]): ColumnProvenance {
  const confidence = chunks.map((chunk) => chunk.confidence);
  const logProb = chunks.map((chunk) => chunk.logProb);
  return {
    episode: join(
      chunks.map((chunk) => chunk.episode),
      Float64Array,
    ),
    step: join(
      chunks.map((chunk) => chunk.step),
      Uint32Array,
    ),
    group: join(
      chunks.map((chunk) => chunk.group),
      Float64Array,
    ),
    parent: join(
      chunks.map((chunk) => chunk.parent),
      Float64Array,
    ),
    ...(isWhole(confidence) && { confidence: join(confidence, Float32Array) }),
    ...(isWhole(logProb) && { logProb: join(logProb, Float32Array) }),
  };
}

/** The part of provenance that all rows of a job share. */
export type SharedProvenance = Pick<
  Provenance,
  'source' | 'backend' | 'modelVersion' | 'policyVersion' | 'scenario' | 'task' | 'seed'
>;

export function sharedProvenance(
  request: Pick<RolloutRequest, 'scenario' | 'task'>,
  plan: RolloutPlan,
  identity: RolloutIdentity,
): SharedProvenance {
  return {
    source: 'synthetic',
    ...identity,
    scenario: request.scenario ?? '',
    ...(request.task !== undefined && { task: request.task }),
    seed: plan.seed,
  };
}

/** Where each row of a chunk came from. */
export function provenanceOfChunk(
  { episode, step, group, parent, confidence, logProb }: RolloutChunk,
  shared: SharedProvenance,
): Provenance {
  return { ...shared, episode, step, group, parent, ...(confidence && { confidence }), ...(logProb && { logProb }) };
}

function isWhole(columns: readonly (Float32Array | undefined)[]): columns is Float32Array[] {
  return columns.length > 0 && columns.every((column) => column !== undefined);
}

interface Column extends ArrayLike<number> {
  set(values: ArrayLike<number>, offset: number): void;
}

function join<T extends Column>(parts: readonly T[], Type: new (length: number) => T): T {
  const out = new Type(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
