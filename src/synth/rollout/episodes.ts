// Whole dreamt episodes, for datasets: long branches from states in which an episode begins.

import { reverieError } from '../../core/errors.js';
import { pickHistory } from '../../worldmodel/index.js';
import { branchedRollouts } from './branched.js';
import type { LiveRolloutRequest, RolloutControls, RolloutRequest, RolloutResult } from './request.js';

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
 * Starts are drawn from `rng.split('starts')`. Throws ROLLOUT_INVALID.
 */
export function episodeRollouts<Request extends RolloutRequest>(request: EpisodeRequest<Request>): Request {
  const { maxEpisodeSteps, episodes, ...rest } = request;
  const chosen = episodes === undefined ? {} : drawStarts(request, episodes);
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

function drawStarts(request: Starts & Pick<RolloutRequest, 'rng'>, episodes: number): Starts {
  const rows = request.startIds.length;
  if (!Number.isSafeInteger(episodes) || episodes < 1 || rows === 0) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `${episodes} episodes from ${rows} start states.`,
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
