// Branched rollouts in the calling thread, with a model and a policy that are already there (the pool gives the same bytes), and
// whole episodes as long branches.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { reverieError } from '../../core/errors.js';
import { pickHistory } from '../../worldmodel/starts.js';
import { rolloutChunk } from './chunk.js';
import {
  type LiveRolloutRequest,
  type RolloutChunk,
  type RolloutControls,
  RolloutPlan,
  type RolloutRequest,
  type RolloutResult,
} from './plan.js';
import { mergeChunks } from './result.js';

/**
 * Short imagined runs from given states (MBPO, 1906.08253): each start lives up to `horizon` steps of `policy` inside `model`.
 * Rows come branch after branch in the order of starts. Throws SETTING_INVALID, NON_FINITE_VALUE, SETTING_INVALID,
 * or the signal's reason.
 */
export async function branchedRollouts(
  request: LiveRolloutRequest,
  { signal, onProgress }: RolloutControls = {},
): Promise<RolloutResult> {
  const plan = new RolloutPlan(request);
  const { model, policy } = request;
  const chunks: RolloutChunk[] = [];
  // A model that never waits would keep timers, signals and progress from running.
  const isStopped = async () => {
    await nextTurn();
    return signal?.aborted ?? false;
  };
  let rows = 0;
  for (let index = 0; index < plan.chunks; index++) {
    signal?.throwIfAborted();
    const chunk = await rolloutChunk(model, policy, plan.task(index), plan.rng(index), isStopped);
    if (chunk === undefined) throw signal?.reason;
    chunks.push(chunk);
    rows += chunk.rows;
    onProgress?.({ chunksDone: index + 1, chunks: plan.chunks, rows });
  }
  const identity = { backend: model.backend, modelVersion: model.modelVersion, policyVersion: policy.version };
  return mergeChunks(chunks, request, plan, identity);
}

// Whole dreamt episodes, for datasets: long branches from states in which an episode begins.

/** Long episodes hold many rows: fewer of them make a chunk that is no larger. */
const EPISODE_CHUNK_SIZE = 64;

export interface EpisodeOptions {
  /** Steps before an episode is truncated. */
  readonly maxEpisodeSteps: number;
  /** Episodes to dream, their starts drawn from the given ones with replacement; left out: one from each start. */
  readonly episodes?: number;
}

export type EpisodeRequest<Request extends RolloutRequest> = Omit<Request, 'horizon'> & EpisodeOptions;

/**
 * The rollout request that dreams these episodes, wherever rollouts run; default chunk: 64 episodes.
 * Starts are drawn from `rng.split('starts')`. Throws SETTING_INVALID.
 */
export function episodeRollouts<Request extends RolloutRequest>(request: EpisodeRequest<Request>): Request {
  const { maxEpisodeSteps, episodes, ...rest } = request;
  const chosen = episodes === undefined ? {} : drawnStarts(request, episodes);
  const rollouts: Omit<RolloutRequest, 'rng'> = {
    ...rest,
    ...chosen,
    chunkSize: request.chunkSize ?? EPISODE_CHUNK_SIZE,
    horizon: maxEpisodeSteps,
  };
  return rollouts as Request;
}

/** Dreams whole episodes in this thread; rows, order and errors as `branchedRollouts`. */
export function dreamEpisodes(
  request: EpisodeRequest<LiveRolloutRequest>,
  controls: RolloutControls = {},
): Promise<RolloutResult> {
  return branchedRollouts(episodeRollouts<LiveRolloutRequest>(request), controls);
}

type Starts = Pick<RolloutRequest, 'starts' | 'startIds' | 'history'>;

function drawnStarts(request: Starts & Pick<RolloutRequest, 'rng'>, episodes: number): Starts {
  const rows = request.startIds.length;
  if (!Number.isSafeInteger(episodes) || episodes < 1 || rows === 0) {
    throw reverieError('SETTING_INVALID', {
      problem: `Rollout request: ${`${episodes} episodes from ${rows} start states.`}`,
      hint: 'Give at least one start state and a whole number of episodes >= 1.',
    });
  }
  const rng = request.rng.split('starts');
  const obsDim = request.starts.length / rows;
  const starts = new Float32Array(episodes * obsDim);
  const startIds = new Float64Array(episodes);
  const drawn = new Uint32Array(episodes);
  for (let episode = 0; episode < episodes; episode++) {
    const start = rng.int(rows);
    drawn[episode] = start;
    starts.set(request.starts.subarray(start * obsDim, (start + 1) * obsDim), episode * obsDim);
    startIds[episode] = request.startIds[start];
  }
  return { starts, startIds, ...(request.history && { history: pickHistory(request.history, drawn) }) };
}
