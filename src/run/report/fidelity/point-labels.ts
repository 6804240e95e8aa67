// Where names of points can stand without covering points or each other.

import type { Point } from '../../../fidelity/index.js';
import type { ChartSize } from '../chart.js';

export interface PlacedLabel {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  /** Pixels from the point. */
  readonly dx: number;
  readonly dy: number;
  readonly align: 'left' | 'right' | 'center';
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Pixels that axes and their titles take, about. */
const MARGIN = { x: 62, y: 52 };
const LETTER = 6.2;
const LINE = 13;
const DOT = 5;

const SIDES = [
  { dx: 8, dy: 0, align: 'left' },
  { dx: -8, dy: 0, align: 'right' },
  { dx: 0, dy: -12, align: 'center' },
  { dx: 0, dy: 12, align: 'center' },
  { dx: 8, dy: -11, align: 'left' },
  { dx: -8, dy: 11, align: 'right' },
  { dx: 8, dy: 11, align: 'left' },
  { dx: -8, dy: -11, align: 'right' },
] as const;

/** Each point's name at the first of eight sides that is free; a name that has no place is left out. */
export function placedLabels(
  points: readonly Point[],
  size: ChartSize,
  ranges: { readonly x: readonly [number, number]; readonly y: readonly [number, number] },
): PlacedLabel[] {
  const width = size.width - MARGIN.x;
  const height = size.height - MARGIN.y;
  const pixels = points.map(({ x, y }) => ({
    x: ((x - ranges.x[0]) / (ranges.x[1] - ranges.x[0])) * width,
    y: (1 - (y - ranges.y[0]) / (ranges.y[1] - ranges.y[0])) * height,
  }));
  const taken = pixels.map(({ x, y }) => ({ left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT }));
  return points.flatMap(({ x, y, label = '' }, i) => {
    for (const side of SIDES) {
      const box = boxOf(pixels[i], label, side);
      const isInside = box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
      if (!isInside || taken.some((other, j) => j !== i && overlaps(box, other))) continue;
      taken.push(box);
      return [{ x, y, label, ...side }];
    }
    return [];
  });
}

function boxOf(at: { x: number; y: number }, label: string, { dx, dy, align }: (typeof SIDES)[number]): Box {
  const width = LETTER * label.length;
  const from = { left: 0, right: width, center: width / 2 }[align];
  const left = at.x + dx - from;
  const middle = at.y + dy;
  return { left, right: left + width, top: middle - LINE / 2, bottom: middle + LINE / 2 };
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
