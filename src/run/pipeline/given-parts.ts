// What a job is given to work with, checked against the environment it is for: records and learners the user named, and the
// environment itself in a form that can be made anywhere.

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { Policy } from '../../core/policy.js';
import type { EnvSpec } from '../../env/env-spec.js';
import { describeSpace, rowSize } from '../../env/space-values.js';
import type { TrainingDevice } from '../../nn/trainer.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { type LoadedLearner, loadLearner } from '../../rl/checkpoint.js';
import type { Learner, PlanningLearner } from '../../rl/learner.js';
import { loadWorldModel } from '../../worldmodel/kinds.js';
import type { Scenario } from '../scenario.js';

/**
 * The buffer in `folder`, as `ReplayBuffer.load` makes it. Throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if its rows are not such as
 * `env` gives.
 */
export async function recordsOf(
  env: VectorEnvironment,
  folder: string,
  options: { readonly capacity?: number } = {},
): Promise<ReplayBuffer> {
  const buffer = await ReplayBuffer.load(folder, options);
  const [theirs, ours] = [
    [buffer.obsDim, buffer.actionDim],
    [rowSize(env.observationSpace), rowSize(env.actionSpace)],
  ].map(([obsDim, actionDim]) => `${obsDim} observation and ${actionDim} action numbers`);
  if (theirs === ours) return buffer;
  throw reverieError('INPUT_UNFIT', { path: folder, input: 'data', env: env.id, what: 'row', theirs, ours });
}

/** The learner in `folder`. Throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if it learned to act in other spaces than `env`'s. */
export async function learnerFor(
  env: VectorEnvironment,
  folder: string,
  device?: TrainingDevice,
): Promise<LoadedLearner> {
  const { learner, manifest } = await loadLearner(folder, device);
  try {
    for (const space of ['observationSpace', 'actionSpace'] as const) {
      const theirs = describeSpace(manifest.spaces[space] as VectorEnvironment[typeof space]);
      const ours = describeSpace(env[space]);
      if (theirs === ours) continue;
      const what = space === 'actionSpace' ? 'action space' : 'observation space';
      throw reverieError('INPUT_UNFIT', { path: folder, input: 'checkpoint', env: env.id, what, theirs, ours });
    }
    return { learner, manifest };
  } catch (error) {
    await learner.close();
    throw error;
  }
}

/** Who acts by a checkpoint; `close` closes the world model that it may plan in, and nothing else. */
export interface Agent {
  readonly policy: Policy;
  close(): Promise<void>;
}

/** What a checkpoint's learner acts by: its planner where it has one, else its policy. */
export async function agentOf(learner: Learner, folder: string): Promise<Agent> {
  return (await plannerOf(learner, folder)) ?? { policy: learner.policy(), close: async () => {} };
}

/** Of a learner that plans, and whose run's world model lies beside it; else undefined. @throws MODEL_FILE_INVALID */
export async function plannerOf(learner: Learner, folder: string): Promise<Agent | undefined> {
  const model = [join(folder, 'model'), join(dirname(resolve(folder)), 'model')].find((path) => existsSync(path));
  if (!isPlanning(learner) || model === undefined) return undefined;
  const world = await loadWorldModel(model);
  return { policy: learner.planner(world), close: () => world.close() };
}

function isPlanning(learner: Learner): learner is PlanningLearner {
  return (learner as Partial<PlanningLearner>).learnsFrom === 'model';
}

/** The scenario's environment with a model file by its whole path. */
export function resolvedSpec({ config, folder }: Scenario): EnvSpec {
  const { mjcf } = config.env;
  return mjcf === undefined ? config.env : { ...config.env, mjcf: resolve(folder, mjcf) };
}
