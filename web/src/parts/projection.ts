// Parts of a body seen from one side: outlines in the plane that is looked at, in metres.

import type { GeomView, SceneView } from '../../../src/serve/page/wire.js';

export type Point = readonly [across: number, up: number];

export type Outline =
  | { readonly kind: 'rod'; readonly from: Point; readonly to: Point; readonly radius: number }
  | { readonly kind: 'disc'; readonly at: Point; readonly radius: number }
  | { readonly kind: 'shape'; readonly points: readonly Point[] }
  | { readonly kind: 'ground'; readonly up: number };

type Vector = readonly [number, number, number];

/** @param pose  of all parts: position and orientation, 7 numbers each */
export function outlineOf(
  geom: GeomView,
  pose: readonly number[],
  part: number,
  view: SceneView['view'],
): Outline | undefined {
  const [x, y, z, ...turn] = pose.slice(7 * part, 7 * part + 7);
  const flat = ([a, b, c]: Vector): Point => (view === 'side' ? [x + a, z + c] : [x + a, y + b]);
  const placed = (vector: Vector) => flat(turned(turn, vector));
  const [a, b] = geom.size;
  if (geom.shape === 'plane') return view === 'side' ? { kind: 'ground', up: z } : undefined;
  if (geom.shape === 'sphere') return { kind: 'disc', at: flat([0, 0, 0]), radius: a };
  if (geom.shape === 'capsule') return { kind: 'rod', from: placed([0, 0, -b]), to: placed([0, 0, b]), radius: a };
  return { kind: 'shape', points: hull(surface(geom).map(placed)) };
}

/** Points whose hull is the part's outline. */
function surface({ shape, size: [a, b, c] }: GeomView): Vector[] {
  if (shape === 'box') return [-a, a].flatMap((x) => [-b, b].flatMap((y) => [-c, c].map((z): Vector => [x, y, z])));
  const around = Array.from({ length: 24 }, (_, i) => (i * Math.PI) / 12);
  if (shape === 'cylinder') {
    return around.flatMap((angle) => [-b, b].map((z): Vector => [a * Math.cos(angle), a * Math.sin(angle), z]));
  }
  return around.flatMap((angle) =>
    around.slice(0, 13).map((height): Vector => {
      const ring = Math.sin(height);
      return [a * ring * Math.cos(angle), b * ring * Math.sin(angle), c * Math.cos(height)];
    }),
  );
}

/** A vector turned by a unit quaternion w, x, y, z. */
function turned([w, x, y, z]: readonly number[], [a, b, c]: Vector): Vector {
  const [p, q, r] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p];
}

/** Andrew's monotone chain. */
function hull(points: readonly Point[]): Point[] {
  const sorted = [...points].sort(([a, b], [c, d]) => a - c || b - d);
  const half = (all: readonly Point[]) => {
    const chain: Point[] = [];
    for (const point of all) {
      while (chain.length > 1 && cross(chain[chain.length - 2], chain[chain.length - 1], point) <= 0) chain.pop();
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

function cross([ax, ay]: Point, [bx, by]: Point, [cx, cy]: Point): number {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}
