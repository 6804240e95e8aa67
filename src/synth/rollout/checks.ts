// What a rollout demands of a model's and a policy's answers: the right sizes, and nothing that is not finite.

import { reverieError } from '../../core/errors.js';
import { type PolicyAction, rowSize } from '../../env/index.js';
import type { VectorPrediction, VectorWorldModel } from '../../worldmodel/index.js';
import { firstNonFinite } from './finite.js';
import type { ChunkTask } from './plan.js';

export interface PredictionPlace {
  readonly rows: number;
  readonly obsDim: number;
  readonly step: number;
  /** Episode id of a row, for the error. */
  readonly episodeOf: (row: number) => number;
}

export function checkDims(model: VectorWorldModel, task: ChunkTask): void {
  const want = rowSize(model.observationSpace);
  if (task.obsDim === want) return;
  throw reverieError('ROLLOUT_INVALID', {
    problem: `start states have ${task.obsDim} values, the world model's observations ${want}.`,
    hint: 'Start from observations of the environment that the model learned.',
  });
}

export function checkActions(model: VectorWorldModel, acted: PolicyAction, rows: number): void {
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

export function checkPrediction(predicted: VectorPrediction, place: PredictionPlace): void {
  const { rows, obsDim } = place;
  if (predicted.nextObs.length !== rows * obsDim || predicted.reward.length !== rows) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `the world model answered ${predicted.nextObs.length} observation values and ${predicted.reward.length} rewards for ${rows} rows of ${obsDim}.`,
      hint: 'A world model answers one row for each row it is given.',
    });
  }
  const obsAt = firstNonFinite(predicted.nextObs);
  if (obsAt >= 0) refuse('The predicted observation', predicted.nextObs[obsAt], Math.floor(obsAt / obsDim), place);
  const rewardAt = firstNonFinite(predicted.reward);
  if (rewardAt >= 0) refuse('The predicted reward', predicted.reward[rewardAt], rewardAt, place);
}

function refuse(what: string, value: number, row: number, place: PredictionPlace): never {
  throw reverieError('NON_FINITE_VALUE', {
    what,
    value,
    where: `episode ${place.episodeOf(row)}, step ${place.step}`,
    hint: 'Shorten the horizon, set a disagreementLimit, or fit the model on more data: it was led far from what it knows.',
  });
}
