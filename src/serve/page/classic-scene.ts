// Bodies without a physics engine: their observations are all there is to them.

import type { GeomView, SceneView } from './wire.js';

/** A step as numbers. */
export interface Row {
  readonly action: Float32Array;
  readonly observation: Float32Array;
}

type Drawn = Pick<SceneView, 'view' | 'geoms' | 'poses' | 'stepSeconds' | 'frame'>;

const INK = [0.5, 0.5, 0.5, 1] as const;
const geom = (shape: GeomView['shape'], ...size: [number, number, number]): GeomView => ({ shape, size, colour: INK });

/** Gymnasium's pendulum and cart-pole; undefined for anything else. */
export function classicScene(id: string | undefined, rows: readonly Row[]): Drawn | undefined {
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
