// A rollout job that survives being killed: each chunk is durable in a journal before anyone sees it, and a run that is
// started again goes on after the last one. However often it is killed, the bytes are those of an undisturbed run.

import { createHash } from 'node:crypto';
import { Packr } from 'msgpackr';
import type { History } from '../worldmodel/index.js';
import { type JobDescription, Journal } from './journal.js';
import { RolloutPlan } from './rollout/plan.js';
import type { RolloutPool } from './rollout/pool.js';
import type { FrozenRolloutRequest, RolloutChunk, RolloutControls, RolloutResult } from './rollout/request.js';
import { identityOf, mergeChunks } from './rollout/result.js';

export interface SynthesisRequest extends FrozenRolloutRequest {
  readonly pool: RolloutPool;
  /** Folder of the journal; one job each. */
  readonly journal: string;
}

export interface SynthesisControls extends RolloutControls {
  /** Told once, after opening the journal: what an earlier run left. */
  readonly onResume?: (found: { readonly chunks: number; readonly cutBytes: number }) => void;
}

/** Chunks that may be on their way to the disk at once: enough to share a sync. */
const UNSYNCED = 8;

const packr = new Packr({ useRecords: false, moreTypes: true });

/**
 * Lives a job, or what is left of it, and answers all of it. Throws as `RolloutPool.branchedRollouts`, and
 * JOURNAL_MISMATCH, JOURNAL_CORRUPT, STORAGE_FULL, STORAGE_FAILED; what was finished before stays in the journal.
 */
export async function synthesize(request: SynthesisRequest, controls: SynthesisControls = {}): Promise<RolloutResult> {
  const chunks: RolloutChunk[] = [];
  for await (const chunk of journalledChunks(request, controls)) chunks.push(chunk);
  return mergeChunks(chunks, request, new RolloutPlan(request), identityOf(request));
}

/** As `synthesize`, chunk by chunk in order, for jobs larger than memory. A chunk is durable when it is answered. */
export async function* synthesizedChunks(
  request: SynthesisRequest,
  controls: SynthesisControls = {},
): AsyncGenerator<RolloutResult> {
  const plan = new RolloutPlan(request);
  for await (const chunk of journalledChunks(request, controls)) {
    yield mergeChunks([chunk], request, plan, identityOf(request));
  }
}

async function* journalledChunks(request: SynthesisRequest, controls: SynthesisControls): AsyncGenerator<RolloutChunk> {
  const plan = new RolloutPlan(request);
  const journal = await Journal.open(request.journal, describe(request, plan));
  try {
    controls.onResume?.({ chunks: journal.pieces, cutBytes: journal.cutBytes });
    let rows = 0;
    let chunksDone = 0;
    for await (const chunk of oldAndNew(journal, request, controls.signal)) {
      rows += chunk.rows;
      controls.onProgress?.({ chunksDone: ++chunksDone, chunks: plan.chunks, rows });
      yield chunk;
    }
  } finally {
    await journal.close();
  }
}

async function* oldAndNew(
  journal: Journal,
  request: SynthesisRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<RolloutChunk> {
  const finished = journal.pieces;
  for (let index = 0; index < finished; index++) {
    signal?.throwIfAborted();
    yield packr.unpack(await journal.read(index));
  }
  const unsynced: { chunk: RolloutChunk; durable: Promise<void> }[] = [];
  for await (const chunk of request.pool.chunks(request, { from: finished, signal })) {
    const durable = journal.append(packr.pack(chunk));
    // Seen when its turn comes; until then a failure must not count as unhandled.
    durable.catch(() => {});
    unsynced.push({ chunk, durable });
    if (unsynced.length >= UNSYNCED) yield await oldest(unsynced);
  }
  while (unsynced.length > 0) yield await oldest(unsynced);
}

async function oldest(unsynced: { chunk: RolloutChunk; durable: Promise<void> }[]): Promise<RolloutChunk> {
  const { chunk, durable } = unsynced.shift()!;
  await durable;
  return chunk;
}

/** All that decides the bytes of a job, and nothing else: not the workers. */
function describe(request: SynthesisRequest, plan: RolloutPlan): JobDescription {
  const { settings } = plan;
  const { device } = request.pool;
  const [low, high] = request.rng.state().key;
  return {
    format: 'reverie rollouts 1',
    ...identityOf(request),
    starts: sha256(request.starts),
    ...(request.history && { history: historyHash(request.history) }),
    startIds: sha256(Float64Array.from(request.startIds)),
    branches: plan.branches,
    chunkSize: plan.chunkSize,
    firstEpisode: plan.firstEpisode,
    rng: `${high}:${low}`,
    seed: plan.seed,
    scenario: request.scenario ?? '',
    task: request.task ?? null,
    horizon: settings.horizon,
    propagation: settings.propagation ?? null,
    disagreementLimit: settings.disagreementLimit ?? null,
    onDoubt: settings.onDoubt ?? null,
    confidence: settings.confidence ?? null,
    deterministicPolicy: settings.deterministicPolicy ?? null,
    deterministicModel: settings.deterministicModel ?? null,
    // Another device rounds in another way.
    ...(device && { device: `${device.kind} ${device.precision}` }),
  };
}

function historyHash({ lengths, obs, action }: History): string {
  return [lengths, obs, action].map(sha256).join(' ');
}

function sha256(values: Float32Array | Float64Array | Uint32Array): string {
  return createHash('sha256')
    .update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    .digest('hex');
}
