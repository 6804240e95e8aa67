// The last part of a step, common to all kinds of dynamics: known reward and end, bounds, and the guard against NaN.

import type { KnownFunctions, VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { type EnvSpec, makeEnvironment } from '../env/environments.js';
import { clipToSpace } from '../env/space-values.js';
import { requireFinite } from '../replay/columns.js';
import { folderInvalid } from './model-folder.js';

/** Where a model gets its reward and its end by the task. */
export interface Outcome {
  readonly reward: 'learned' | 'known';
  readonly terminated: 'learned' | 'known' | 'never';
}

export function knownRewards(
  known: NonNullable<KnownFunctions['reward']>,
  obs: Float32Array,
  action: Float32Array,
  nextObs: Float32Array,
  rows: number,
): Float32Array {
  const obsDim = obs.length / rows;
  const actionDim = action.length / rows;
  const rewards = new Float32Array(rows);
  for (let r = 0; r < rows; r++) rewards[r] = known(obs, r * obsDim, action, r * actionDim, nextObs);
  return rewards;
}

export function knownEnds(
  known: NonNullable<KnownFunctions['terminated']>,
  nextObs: Float32Array,
  rows: number,
): Uint8Array {
  const obsDim = nextObs.length / rows;
  const ends = new Uint8Array(rows);
  for (let r = 0; r < rows; r++) ends[r] = known(nextObs, r * obsDim) ? 1 : 0;
  return ends;
}

/** A function that brings rows into a space, in place: within its finite bounds, to the nearest of its integers; undefined if all are in it. */
export function boundsClipper(space: VectorSpace): ((rows: Float32Array) => void) | undefined {
  // States are counted: a model answers between two of them, or beside one by rounding, and can be asked of states alone.
  if (space.type === 'discrete')
    return (rows) => rows.set(rows.map((value) => clipToSpace(space, Float32Array.of(value))[0]));
  const low = Float32Array.from(space.low, (bound) => bound ?? Number.NEGATIVE_INFINITY);
  const high = Float32Array.from(space.high, (bound) => bound ?? Number.POSITIVE_INFINITY);
  if (low.every((bound) => bound === -Infinity) && high.every((bound) => bound === Infinity)) return undefined;
  return (rows) => {
    for (let at = 0; at < rows.length; at += low.length) {
      for (let j = 0; j < low.length; j++) {
        const value = rows[at + j];
        if (value < low[j]) rows[at + j] = low[j];
        else if (value > high[j]) rows[at + j] = high[j];
      }
    }
  };
}

/** Throws NON_FINITE_VALUE naming model and row if a prediction is NaN or infinite. */
export function requireFiniteAnswer(model: string, nextObs: Float32Array, reward: Float32Array, rows: number): void {
  const where = `the prediction of world model ${model}`;
  const hint = 'The model was asked far from its data or has diverged; shorten the horizon or fit it on more data.';
  requireFinite('The value of "nextObs"', nextObs, rows, where, hint);
  requireFinite('The value of "reward"', reward, rows, where, hint);
}

// Known reward and end of a stored world model: functions cannot be stored, so the environment that has them is named.

/**
 * The functions a stored model uses, from the environment it names; none if it uses none.
 * Throws MODEL_FILE_INVALID if that environment knows no reward where one is used, and what `makeEnvironment` throws.
 */
export async function reviveKnown(outcome: Outcome, env: EnvSpec | undefined, path: string): Promise<KnownFunctions> {
  if (outcome.reward !== 'known' && outcome.terminated !== 'known') return {};
  const hint = 'Restore manifest.json as it was saved; in yours, declare outputs.reward or an env that knows it.';
  if (env === undefined) throw folderInvalid(path, 'it uses known functions but names no "env".', hint);
  const environment = await makeEnvironment(env);
  const { known = {} } = environment;
  environment.close();
  if (outcome.reward === 'known' && !known.reward)
    throw folderInvalid(path, `environment ${JSON.stringify(env)} has no known reward function.`, hint);
  return known;
}

/** Throws NOT_PORTABLE if another thread could not revive the functions. */
export function requirePortable(outcome: Outcome, env: EnvSpec | undefined): void {
  if (env !== undefined || (outcome.reward !== 'known' && outcome.terminated !== 'known')) return;
  throw reverieError('NOT_PORTABLE', {
    problem:
      'This world model cannot be saved or sent to another thread: it uses known functions of no named environment.',
    hint: 'Give the environment specification (env) whose known functions the model uses.',
  });
}
