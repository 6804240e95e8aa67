// A body as it moved through an episode. Of a real MuJoCo environment the episode is lived again from its seed and
// actions, which gives the very same; where that cannot be, and of a dream, the body is put where observations say it is.

import type { EnvSpec } from '../../env/env-spec.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { MujocoEnvironment } from '../../env/mujoco/mujoco-environment.js';
import type { Servable } from '../../run/serving/servable.js';
import type { SessionHistory } from '../core/session-contract.js';
import type { GeomView, SceneView } from './wire.js';

/** Whether there is a body to draw: a MuJoCo model, a pendulum or a cart with a pole. */
export async function hasScene(served: Servable): Promise<boolean> {
  const { spec } = served;
  if (spec === undefined) return false;
  if (classicScene(spec.id, []) !== undefined) return true;
  return isBody(spec) && inEnvironment(spec, (env) => env instanceof MujocoEnvironment);
}

/** undefined where there is no body, or nothing of the episode is kept. */
export async function sceneView(served: Servable, { session, steps }: SessionHistory): Promise<SceneView | undefined> {
  const { spec } = served;
  if (spec === undefined || steps.length === 0) return undefined;
  const rows = steps.map(
    ({ action, observation }): Row => ({ action: rowOf(action), observation: rowOf(observation) }),
  );
  const from = steps[0].index;
  const classic = classicScene(spec.id, rows);
  if (classic !== undefined) return { ...classic, from, drawnFrom: `the ${seenIn(served)}` };
  if (!isBody(spec)) return undefined;
  return inEnvironment(spec, (env) => {
    if (!(env instanceof MujocoEnvironment)) return undefined;
    const seed = served.source === 'real' && from === 0 ? session.seed : null;
    const lived = seed === null ? undefined : livedAgain(env, seed, rows);
    const seen = lived ?? asSeen(env, rows);
    const drawnFrom =
      lived === undefined
        ? `the ${seenIn(served)}${seen.isWhole ? '' : ', which do not show all of it'}`
        : 'the episode lived again from its seed and actions';
    const { geoms, stepSeconds } = env;
    return { view: viewOf(seen.poses), drawnFrom, geoms, poses: seen.poses, stepSeconds, from };
  });
}

/** Whether it may be one of MuJoCo: to look costs no more than to load its model. */
function isBody({ id, mjcf }: EnvSpec): boolean {
  return id !== undefined || mjcf !== undefined;
}

function seenIn({ source }: Servable): string {
  return source === 'dream' ? 'dreamt observations' : 'observations';
}

async function inEnvironment<R>(spec: EnvSpec, use: (env: unknown) => R): Promise<R> {
  const env = await makeEnvironment(spec);
  try {
    return use(env);
  } finally {
    env.close();
  }
}

interface Poses {
  readonly poses: number[][];
  /** Whether all of the body was shown. */
  readonly isWhole: boolean;
}

/** undefined where it does not come out as it was. */
function livedAgain(env: MujocoEnvironment, seed: number, rows: readonly Row[]): Poses | undefined {
  const poses: number[][] = [];
  for (const [i, { action, observation }] of rows.entries()) {
    const seen = i === 0 ? env.reset({ seed }).observation : env.step(action).observation;
    if (!isEqual(seen, observation)) return undefined;
    poses.push(rounded(env.geomPoses()));
  }
  return { poses, isWhole: true };
}

function asSeen(env: MujocoEnvironment, rows: readonly Row[]): Poses {
  env.reset({ seed: 0 });
  let isWhole = true;
  const poses = rows.map(({ observation }, i) => {
    isWhole = env.placeAsSeen(observation, i === 0 ? 0 : env.stepSeconds) && isWhole;
    return rounded(env.geomPoses());
  });
  return { poses, isWhole };
}

/** A body that moves in a horizontal plane is looked at from above. */
function viewOf(poses: readonly (readonly number[])[]): SceneView['view'] {
  const spread = (axis: number) => {
    const parts = (poses[0]?.length ?? 0) / 7;
    let widest = 0;
    for (let part = 0; part < parts; part++) {
      const places = poses.map((row) => row[7 * part + axis]);
      widest = Math.max(
        widest,
        places.reduce((a, b) => Math.max(a, b), -Infinity) - places.reduce((a, b) => Math.min(a, b), Infinity),
      );
    }
    return widest + extent(poses[0] ?? [], axis);
  };
  return spread(1) > spread(2) ? 'top' : 'side';
}

/** How far apart the parts stand along an axis. */
function extent(row: readonly number[], axis: number): number {
  const places = row.filter((_, i) => i % 7 === axis);
  return Math.max(0, ...places) - Math.min(0, ...places);
}

function rowOf(value: unknown): Float32Array {
  return Float32Array.from(Array.isArray(value) ? (value as number[]) : []);
}

function isEqual(a: Float32Array, b: Float32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** To a tenth of a millimetre. */
function rounded(row: ArrayLike<number>): number[] {
  return Array.from(row, (value) => Math.round(value * 1e4) / 1e4);
}

// Bodies without a physics engine: their observations are all there is to them.

/** A step as numbers. */
interface Row {
  readonly action: Float32Array;
  readonly observation: Float32Array;
}

type Drawn = Pick<SceneView, 'view' | 'geoms' | 'poses' | 'stepSeconds' | 'frame'>;

const INK = [0.5, 0.5, 0.5, 1] as const;
const geom = (shape: GeomView['shape'], ...size: [number, number, number]): GeomView => ({ shape, size, colour: INK });

/** Gymnasium's pendulum and cart-pole; undefined for anything else. */
function classicScene(id: string | undefined, rows: readonly Row[]): Drawn | undefined {
  if (id === 'pendulum') {
    const geoms = [geom('capsule', 0.08, 0.5, 0), geom('sphere', 0.05, 0, 0)];
    const poses = rows.map(({ observation: [cos, sin] }) => [
      ...rod(0, 0, Math.atan2(-sin, cos), 0.5),
      0,
      0,
      0,
      ...UPRIGHT,
    ]);
    const frame = { left: -1.1, right: 1.1, low: -1.1, high: 1.1 };
    return { view: 'side', geoms, poses, stepSeconds: 0.05, frame };
  }
  if (id === 'cartpole') {
    const geoms = [geom('box', 0.25, 0.15, 0.15), geom('capsule', 0.05, 0.5, 0), geom('plane', 0, 0, 0.1)];
    const poses = rows.map(({ observation: [x, , angle] }) => {
      return [x, 0, 0, ...UPRIGHT, ...rod(x, 0.1, angle, 0.5), 0, 0, -0.15, ...UPRIGHT];
    });
    const frame = { left: -2.5, right: 2.5, low: -0.4, high: 1.2 };
    return { view: 'side', geoms, poses, stepSeconds: 0.02, frame };
  }
  return undefined;
}

const UPRIGHT = [1, 0, 0, 0] as const;

/** A capsule that stands on (x, z) and leans by `angle` radians from upright, to the right where it is positive. */
function rod(x: number, z: number, angle: number, half: number): number[] {
  const centre = [x + half * Math.sin(angle), 0, z + half * Math.cos(angle)];
  return [...centre, Math.cos(angle / 2), 0, Math.sin(angle / 2), 0];
}
