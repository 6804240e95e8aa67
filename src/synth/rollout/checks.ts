// What a rollout demands of a model's and a policy's answers: the right sizes, and nothing that is not finite.

import type { Carry, Imagined } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import { type PolicyAction, rowSize } from '../../env/index.js';
import type { VectorDynamics } from '../../worldmodel/index.js';
import type { ChunkTask } from './plan.js';
import { firstNonFinite } from './start-source.js';

/** What a world model of numbers answers. */
export type VectorImagined = Imagined<Carry, Float32Array>;

export interface PredictionPlace {
  readonly rows: number;
  readonly obsDim: number;
  readonly step: number;
  /** Episode id of a row, for the error. */
  readonly episodeOf: (row: number) => number;
}

export function checkStarts(model: VectorDynamics, { obsDim, history }: ChunkTask): void {
  const want = rowSize(model.observationSpace);
  if (obsDim !== want) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `start states have ${obsDim} values, the world model's observations ${want}.`,
      hint: 'Start from observations of the environment that the model learned.',
    });
  }
  if (model.context === 0 || history !== undefined) return;
  throw reverieError('ROLLOUT_INVALID', {
    problem: `the world model remembers, and no history of the starts is given.`,
    hint: `Give the ${model.context} real steps before each start, as far as there are so many, as \`history\`.`,
  });
}

export function checkActions(model: VectorDynamics, acted: PolicyAction, rows: number): void {
  const actionDim = rowSize(model.actionSpace);
  if (acted.action.length !== rows * actionDim) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `the policy gave ${acted.action.length} action values for ${rows} rows of ${actionDim}.`,
      hint: 'Use a policy made for the action space of this world model.',
    });
  }
  const at = firstNonFinite(acted.action);
  if (at < 0) return;
  throw reverieError('NON_FINITE_VALUE', {
    what: "The policy's action",
    value: acted.action[at],
    where: `row ${Math.floor(at / actionDim)}, element ${at % actionDim}`,
    hint: 'The policy has diverged: go back to an earlier checkpoint, or lower its learning rate.',
  });
}

export function checkPrediction(imagined: VectorImagined, place: PredictionPlace): void {
  const { rows, obsDim } = place;
  if (imagined.observation.length !== rows * obsDim || imagined.reward.length !== rows) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `the world model answered ${imagined.observation.length} observation values and ${imagined.reward.length} rewards for ${rows} rows of ${obsDim}.`,
      hint: 'A world model answers one row for each row it is given.',
    });
  }
  const obsAt = firstNonFinite(imagined.observation);
  if (obsAt >= 0) refuse('The predicted observation', imagined.observation[obsAt], Math.floor(obsAt / obsDim), place);
  const rewardAt = firstNonFinite(imagined.reward);
  if (rewardAt >= 0) refuse('The predicted reward', imagined.reward[rewardAt], rewardAt, place);
}

function refuse(what: string, value: number, row: number, place: PredictionPlace): never {
  throw reverieError('NON_FINITE_VALUE', {
    what,
    value,
    where: `episode ${place.episodeOf(row)}, step ${place.step}`,
    hint: 'Shorten the horizon, set a disagreementLimit, or fit the model on more data: it was led far from what it knows.',
  });
}
