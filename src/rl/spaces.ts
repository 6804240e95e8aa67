// What a learner must know of an environment's spaces: widths, and how network outputs in [-1, 1] become actions.

import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { describeSpace } from '../env/space-values.js';

/** Any environment or world model has these two. An environment may say more of itself, by which `auto` is decided. */
export interface Spaces {
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly id?: string;
  readonly stepSeconds?: number;
}

/** `action = bias + scale * normalised`, per element; `normalised` lies in [-1, 1], the action in [low, high]. */
export interface BoxActions {
  readonly type: 'box';
  readonly dim: number;
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly scale: readonly number[];
  readonly bias: readonly number[];
}

/** One integer per row, `start .. start + n - 1`. */
export interface DiscreteActions {
  readonly type: 'discrete';
  readonly dim: 1;
  readonly n: number;
  readonly start: number;
}

export type Actions = BoxActions | DiscreteActions;

/** Elements of one row of a space: the flattened Box, or one for a Discrete. */
export function spaceDim(space: VectorSpace): number {
  return space.type === 'box' ? space.shape.reduce((size, dim) => size * dim, 1) : 1;
}

/** Normal form of an action space. Throws SCENARIO_UNFIT for a Box without finite bounds. */
export function actionsOf(space: VectorSpace): Actions {
  if (space.type === 'discrete') return { type: 'discrete', dim: 1, n: space.n, start: space.start };
  const dim = spaceDim(space);
  const [lows, highs] = [space.low, space.high].map((bounds) =>
    Array.from({ length: dim }, (_, i) => bounds[i] ?? NaN),
  );
  const open = lows.findIndex((low, i) => !(low < highs[i]));
  if (open >= 0) {
    const bounds = `[${space.low[open] ?? '-inf'}, ${space.high[open] ?? 'inf'}] at element ${open}`;
    const hint = 'Give every action element finite bounds, low < high.';
    throw unsupported('learner', `an action box with bounds ${bounds}`, hint);
  }
  const scale = lows.map((low, i) => (highs[i] - low) / 2);
  const bias = lows.map((low, i) => (highs[i] + low) / 2);
  return { type: 'box', dim, low: lows, high: highs, scale, bias };
}

/** The Box form or SCENARIO_UNFIT naming the learner that needs it. */
export function boxActions(space: VectorSpace, learner: string): BoxActions {
  const actions = actionsOf(space);
  if (actions.type === 'box') return actions;
  throw unsupported(learner, `a discrete action space of ${actions.n}`, 'Use ppo, in train.mode real.');
}

/** Env actions [rows, dim] to normalised ones; the inverse of the policy's scaling. */
export function normaliseActions(actions: BoxActions, action: Float32Array): Float32Array {
  const out = new Float32Array(action.length);
  const { dim, scale, bias } = actions;
  for (let i = 0; i < out.length; i++) out[i] = (action[i] - bias[i % dim]) / scale[i % dim];
  return out;
}

/** Why what was made for spaces `theirs` cannot be used with `env`: INPUT_UNFIT; undefined where it can. */
export function misfit(theirs: Spaces, env: Spaces & { id: string }, path: string, input: string): Error | undefined {
  for (const key of ['observationSpace', 'actionSpace'] as const) {
    const [made, needed] = [describeSpace(theirs[key]), describeSpace(env[key])];
    const what = key === 'actionSpace' ? 'action space' : 'observation space';
    if (made !== needed)
      return reverieError('INPUT_UNFIT', { path, input, env: env.id, what, theirs: made, ours: needed });
  }
  return undefined;
}

function unsupported(learner: string, space: string, hint: string): Error {
  return reverieError('SCENARIO_UNFIT', { problem: `The ${learner} cannot use ${space}.`, hint });
}
