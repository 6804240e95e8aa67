// Branched rollouts in the calling thread, with a model and a policy that are already there. The pool gives the same bytes.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { rolloutChunk } from './chunk.js';
import { RolloutPlan } from './plan.js';
import type { LiveRolloutRequest, RolloutChunk, RolloutControls, RolloutResult } from './request.js';
import { mergeChunks } from './result.js';

/**
 * Short imagined runs from given states (MBPO, 1906.08253): each start lives up to `horizon` steps of `policy` inside `model`.
 * Rows come branch after branch in the order of starts. Throws ROLLOUT_INVALID, NON_FINITE_VALUE, DISAGREEMENT_UNAVAILABLE,
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
