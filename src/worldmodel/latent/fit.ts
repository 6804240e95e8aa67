// Fits a recurrent latent model to lived episodes: cuts windows, trains the members, builds the model.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { describeSpace, type EnvSpec, type KnownFunctions } from '../../env/index.js';
import { ReplayBuffer } from '../../replay/index.js';
import type { Outcome } from '../answer.js';
import { rowShape, type Spaces } from '../model-spaces.js';
import { seenRange } from '../seen-range.js';
import { type LatentConfig, type LatentConfigInput, parseLatentConfig } from './config.js';
import { type LatentContents, type LatentFitReport, latentModels, latentShapeOf } from './contents.js';
import { type EpisodeRows, prepareWindows } from './dataset.js';
import { LatentModel } from './latent-model.js';
import { type LatentReport, trainLatent } from './training.js';

export interface LatentFitOptions {
  /** Member i trains on `rng.split('member', i)`; the hold-out is `rng.split('holdout')`. The stream itself does not advance. */
  readonly rng: Rng;
  /** Exact end, where settings do not ask to learn it. */
  readonly known?: KnownFunctions;
  /** The environment that has `known`; without it the model can neither be saved nor sent to workers. */
  readonly env?: EnvSpec;
  /** A folder for prepared rows that need not fit into memory, of a buffer on disk; removed in the end. Same bytes. */
  readonly scratch?: string;
  readonly signal?: AbortSignal;
  /** `holdoutError`: as in the report, of the member that is trained. */
  readonly onProgress?: (progress: { member: number; gradientSteps: number; holdoutError: number }) => void;
}

/**
 * Fits a latent model; the reward is always learned, as it may depend on what is hidden. Same data, settings and stream, same
 * bytes. @throws MODEL_CONFIG_INVALID, MODEL_DATA_INVALID, SPACE_UNSUPPORTED, NON_FINITE_VALUE, or the reason of `signal`
 */
export async function fitLatent(
  rows: EpisodeRows | ReplayBuffer,
  spaces: Spaces,
  settings: LatentConfigInput,
  options: LatentFitOptions,
): Promise<{ model: LatentModel; report: LatentFitReport }> {
  const config = parseLatentConfig(settings);
  const { observationSpace, actionSpace } = spaces;
  requireBox(spaces);
  const { known = {}, env, rng, signal } = options;
  const scratch = rows instanceof ReplayBuffer && rows.isOnDisk ? options.scratch : undefined;
  const folder = scratch && join(scratch, 'latent');
  const { data, normaliser, terminates } = prepareWindows(rows, spaces, config, rng, folder);
  const outcome = outcomeOf(terminates, config, known);
  const shape = latentShapeOf(spaces, config);
  const trained: { theta: Float32Array; report: LatentReport }[] = [];
  try {
    for (let member = 0; member < config.members; member++) {
      const onEvaluation = ({ gradientSteps, holdoutMse }: LatentReport) =>
        options.onProgress?.({ member, gradientSteps, holdoutError: rootMean(holdoutMse) });
      trained.push(await trainLatent({ data, shape, config, rng: rng.split('member', member), onEvaluation, signal }));
    }
  } finally {
    data.storage.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
  const members = trained.map(({ report }) => report);
  const report: LatentFitReport = {
    rows: data.rows,
    windows: data.windows,
    holdoutWindows: data.holdout,
    gradientSteps: members.reduce((sum, { gradientSteps }) => sum + gradientSteps, 0),
    holdoutError: rootMean(members.flatMap(({ holdoutMse }) => holdoutMse)),
    members,
  };
  const models = latentModels(
    spaces,
    config,
    normaliser,
    trained.map(({ theta }) => theta),
  );
  const seen = seenRange(rows instanceof ReplayBuffer ? rows : rows.batch, rowShape(spaces).obsDim);
  const description = { observationSpace, actionSpace, config, normaliser, outcome, env, report, seen };
  const contents: LatentContents = { description, models };
  return { model: await LatentModel.open(contents, known), report };
}

function rootMean(squares: readonly number[]): number {
  return Math.sqrt(squares.reduce((sum, value) => sum + value, 0) / squares.length);
}

function requireBox({ observationSpace }: Spaces): void {
  if (observationSpace.type === 'box') return;
  const space = `observations ${describeSpace(observationSpace)}`;
  throw reverieError('SPACE_UNSUPPORTED', { learner: 'latent', space, hint: 'Encode the observations as a box.' });
}

function outcomeOf(terminates: boolean, config: LatentConfig, known: KnownFunctions): Outcome {
  if (config.learnTermination) return { reward: 'learned', terminated: 'learned' };
  if (known.terminated) return { reward: 'learned', terminated: 'known' };
  if (!terminates) return { reward: 'learned', terminated: 'never' };
  const problem = 'learnTermination is false and no known function is given, but some transitions end by the task.';
  throw reverieError('MODEL_CONFIG_INVALID', { problem });
}
