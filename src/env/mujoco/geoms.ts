// The parts of a body that can be drawn, and where they are: for whoever shows an episode, never for the dynamics.

import type { Simulation } from './simulation.js';

/** mjtGeom, as far as it has a shape of its own; meshes and height fields are drawn as their boxes. */
const SHAPES = ['plane', 'box', 'sphere', 'capsule', 'ellipsoid', 'cylinder', 'box', 'box'] as const;

export interface Geom {
  readonly shape: (typeof SHAPES)[number];
  /** Half extents in metres as in MuJoCo's `size`; of a plane 0 is without end. */
  readonly size: readonly [number, number, number];
  /** Red, green, blue, alpha in [0, 1]. */
  readonly colour: readonly [number, number, number, number];
}

/** The parts that are seen, in the model's order: those that are transparent or of no shape are left out. */
export function visibleGeoms(simulation: Simulation): { readonly indices: readonly number[]; readonly geoms: Geom[] } {
  const { type, size, colour, aabb } = simulation.geomTable();
  const all = Array.from(type, (_, i) => i).filter((i) => type[i] < SHAPES.length && colour[4 * i + 3] > 0);
  const geoms = all.map((i): Geom => {
    const isOwn = type[i] !== 1 && type[i] !== 7;
    const extents = isOwn ? size.subarray(3 * i, 3 * i + 3) : aabb.subarray(6 * i + 3, 6 * i + 6);
    const [a, b, c] = extents;
    const [red, green, blue, alpha] = colour.subarray(4 * i, 4 * i + 4);
    return { shape: SHAPES[type[i]], size: [a, b, c], colour: [red, green, blue, alpha] };
  });
  return { indices: all, geoms };
}

/** For each part: position x, y, z and orientation w, x, y, z. Row [7 · parts]. */
export function geomPoses(simulation: Simulation, indices: readonly number[]): Float64Array {
  const { position, rotation } = simulation.geomPoses();
  const row = new Float64Array(7 * indices.length);
  indices.forEach((geom, i) => {
    row.set(position.subarray(3 * geom, 3 * geom + 3), 7 * i);
    row.set(quaternionOf(rotation.subarray(9 * geom, 9 * geom + 9)), 7 * i + 3);
  });
  return row;
}

/** Unit quaternion of a row-major rotation matrix, by its largest component (Shepperd's method). */
function quaternionOf(m: Float64Array): [number, number, number, number] {
  const squares = [m[0] + m[4] + m[8], m[0] - m[4] - m[8], m[4] - m[0] - m[8], m[8] - m[0] - m[4]];
  const largest = squares.indexOf(Math.max(...squares));
  const s = 2 * Math.sqrt(1 + squares[largest]);
  const [wx, wy, wz] = [(m[7] - m[5]) / s, (m[2] - m[6]) / s, (m[3] - m[1]) / s];
  const [xy, xz, yz] = [(m[1] + m[3]) / s, (m[2] + m[6]) / s, (m[5] + m[7]) / s];
  if (largest === 0) return [s / 4, wx, wy, wz];
  if (largest === 1) return [wx, s / 4, xy, xz];
  return largest === 2 ? [wy, xy, s / 4, yz] : [wz, xz, yz, s / 4];
}
