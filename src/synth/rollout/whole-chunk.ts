// A chunk lived as one piece of work, where model and policy can: on a device, whose memory the steps between start and end
// then never leave. Same rows, streams and ends as chunk.ts, which stays the definition.

import type { Rng } from '../../core/rng.js';
import type { Policy } from '../../env/index.js';
import type { VectorDynamics, WholeRolloutAnswer } from '../../worldmodel/index.js';
import { checkStarts } from './checks.js';
import type { ChunkTask } from './plan.js';
import type { RolloutChunk } from './request.js';

/**
 * The rows of `task`; undefined where it has to be lived step by step: because model or policy cannot do otherwise, or
 * because something was not finite, which a step then names.
 * Throws ROLLOUT_INVALID, and what the model throws.
 */
export async function wholeChunk(
  model: VectorDynamics,
  policy: Policy,
  task: ChunkTask,
  rng: Rng,
): Promise<RolloutChunk | undefined> {
  const { settings, starts, parent } = task;
  checkStarts(model, task);
  const network = policy.network?.();
  if (network === undefined) return undefined;
  const answer = await model.rollout?.({
    starts,
    branches: parent.length,
    horizon: settings.horizon,
    policy: network,
    isPolicyDeterministic: settings.deterministicPolicy === true,
    propagation: settings.propagation,
    isModelDeterministic: settings.deterministicModel === true,
    withDisagreement: settings.confidence === true,
    disagreementLimit: settings.disagreementLimit,
    dropsDoubted: settings.onDoubt !== 'truncate',
    actRng: (step) => rng.split('act', step),
    modelRng: (step) => rng.split('model', step),
  });
  return answer === undefined || answer.nonFinite > 0 ? undefined : chunkOf(answer, task);
}

function chunkOf(answer: WholeRolloutAnswer, task: ChunkTask): RolloutChunk {
  const { rows, branch, step, disagreement, ended, logProb } = answer;
  const { index, parent, group, firstEpisode, settings } = task;
  // A loop: `Float64Array.from` makes a list of numbers on the heap first, which the garbage collector then looks after.
  const ofBranch = (read: (branch: number) => number) => {
    const column = new Float64Array(rows);
    for (let row = 0; row < rows; row++) column[row] = read(branch[row]);
    return column;
  };
  return {
    ...{ index, rows, step },
    obs: answer.obs,
    action: answer.action,
    reward: answer.reward,
    terminated: answer.terminated,
    truncated: answer.truncated,
    nextObs: answer.nextObs,
    episode: ofBranch((one) => firstEpisode + one),
    group: ofBranch((one) => group[one]),
    parent: ofBranch((one) => parent[one]),
    ...(disagreement && { confidence: disagreement.map((doubt) => 1 / (1 + doubt)) }),
    ...(logProb && { logProb }),
    counts: {
      episodes: parent.length,
      rows,
      ...ended,
      dropped: settings.onDoubt === 'truncate' ? 0 : ended.doubted,
    },
  };
}
