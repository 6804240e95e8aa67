// What several seeds of one arm say together: their mean and range wherever all of them have something to say.

import type { ReportCurve } from './report-input.js';

export interface BandPoint {
  readonly x: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Mean, least and greatest of the curves at every x where some curve has a point, over the stretch that all cover.
 * Curves are taken as linear between their points (as constant until the next one if `stepped`); each must be sorted by x.
 */
export function seedBand(curves: readonly ReportCurve[], stepped = false): BandPoint[] {
  const covered = curves.filter((curve) => curve.points.length > 0);
  if (covered.length === 0) return [];
  const from = Math.max(...covered.map((curve) => curve.points[0].x));
  const to = Math.min(...covered.map((curve) => curve.points[curve.points.length - 1].x));
  const places = new Set(covered.flatMap((curve) => curve.points.map((point) => point.x)));
  return [...places]
    .filter((x) => x >= from && x <= to)
    .sort((a, b) => a - b)
    .map((x) => {
      const values = covered.map((curve) => valueAt(curve, x, stepped));
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return { x, mean, low: Math.min(...values), high: Math.max(...values) };
    });
}

function valueAt(curve: ReportCurve, x: number, stepped: boolean): number {
  const after = curve.points.findIndex((point) => point.x >= x);
  const right = curve.points[after];
  if (right.x === x || after === 0) return right.y;
  const left = curve.points[after - 1];
  return stepped ? left.y : left.y + ((right.y - left.y) * (x - left.x)) / (right.x - left.x);
}
