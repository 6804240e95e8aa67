// Lives one chunk of branches: policy and model step all living rows at once, rows that end are taken out (compaction),
// order kept. This is the only place that decides when a branch ends.
// Branched rollouts: Janner et al., "When to Trust Your Model" (MBPO, 1906.08253), algorithm 2.

import type { Awaitable, Policy, PolicyAction } from '../../env/index.js';
import { reverieError } from '../../errors.js';
import type { Rng } from '../../rng.js';
import type { StepOptions, VectorPrediction, VectorWorldModel } from '../../worldmodel/index.js';
import { checkActions, checkDims, checkPrediction } from './checks.js';
import type { ChunkTask } from './plan.js';
import { ChunkRecorder, VERDICT } from './recorder.js';
import type { RolloutChunk, RolloutSettings } from './request.js';

/**
 * Lives `task` and answers its rows, or undefined if `isStopped` said so between two steps.
 * Step t draws the policy's noise from `rng.split('act', t)` and the model's from `rng.split('model', t)`.
 * Throws NON_FINITE_VALUE, DISAGREEMENT_UNAVAILABLE, ROLLOUT_INVALID.
 */
export async function rolloutChunk(
  model: VectorWorldModel,
  policy: Policy,
  task: ChunkTask,
  rng: Rng,
  isStopped?: () => Awaitable<boolean>,
): Promise<RolloutChunk | undefined> {
  const { settings, obsDim } = task;
  checkDims(model, task);
  const recorder = new ChunkRecorder(task);
  const options = stepOptions(settings);
  let branch: Uint32Array = Uint32Array.from({ length: task.parent.length }, (_, row) => row);
  let obs: Float32Array = task.starts;
  for (let step = 0; step < settings.horizon && branch.length > 0; step++) {
    if (await isStopped?.()) return undefined;
    const rows = branch.length;
    const acted = await policy.act(obs, rows, rng.split('act', step), { deterministic: settings.deterministicPolicy });
    checkActions(model, acted, rows);
    const predicted = await model.step(obs, acted.action, rows, rng.split('model', step), options);
    checkPrediction(predicted, { rows, obsDim, step, episodeOf: (row) => task.firstEpisode + branch[row] });
    const verdict = judge(predicted, rows, step, settings, model.backend);
    recorder.record({ branch, obs, acted: ownAction(acted), predicted: ownPrediction(predicted), verdict });
    ({ branch, obs } = survivors(branch, predicted.nextObs, verdict, obsDim));
  }
  return recorder.finish();
}

function stepOptions(settings: RolloutSettings): StepOptions {
  return {
    propagation: settings.propagation,
    deterministic: settings.deterministicModel,
    disagreement: settings.confidence || settings.disagreementLimit !== undefined,
  };
}

// Policies and models may hand out buffers that they write again at their next call.
function ownAction({ action, logProb }: PolicyAction): PolicyAction {
  return { action: action.slice(), logProb: logProb?.slice() };
}

function ownPrediction({ nextObs, reward, terminated, disagreement }: VectorPrediction): VectorPrediction {
  return {
    nextObs: nextObs.slice(),
    reward: reward.slice(),
    terminated: terminated.slice(),
    disagreement: disagreement?.slice(),
  };
}

/** How each row ends here, if it does. Doubt goes first: where the model is not believed, neither is the end it tells. */
function judge(
  predicted: VectorPrediction,
  rows: number,
  step: number,
  settings: RolloutSettings,
  backend: string,
): Uint8Array {
  const { disagreementLimit: limit, onDoubt, horizon } = settings;
  const { disagreement, terminated } = predicted;
  if (disagreement === undefined && (limit !== undefined || settings.confidence)) {
    throw reverieError('DISAGREEMENT_UNAVAILABLE', { backend });
  }
  const doubt = onDoubt === 'truncate' ? VERDICT.doubted : VERDICT.dropped;
  const otherwise = step + 1 === horizon ? VERDICT.outOfHorizon : VERDICT.goesOn;
  const verdict = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    if (limit !== undefined && !(disagreement![row] <= limit)) verdict[row] = doubt;
    else verdict[row] = terminated[row] ? VERDICT.terminated : otherwise;
  }
  return verdict;
}

/** The rows that go on, in their old order. */
function survivors(
  branch: Uint32Array,
  nextObs: Float32Array,
  verdict: Uint8Array,
  obsDim: number,
): { branch: Uint32Array; obs: Float32Array } {
  let alive = 0;
  for (const value of verdict) if (value === VERDICT.goesOn) alive++;
  const nextBranch = new Uint32Array(alive);
  const obs = new Float32Array(alive * obsDim);
  let to = 0;
  for (let row = 0; row < verdict.length; row++) {
    if (verdict[row] !== VERDICT.goesOn) continue;
    nextBranch[to] = branch[row];
    for (let k = 0; k < obsDim; k++) obs[to * obsDim + k] = nextObs[row * obsDim + k];
    to++;
  }
  return { branch: nextBranch, obs };
}
