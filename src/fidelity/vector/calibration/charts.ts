// Calibration as pictures: levels against shares before and after repair, and where truths fall in their predictions.

import type { FidelityChart, FidelityTable, Point } from '../../report/fidelity-report.js';
import { clusteredMean } from '../clustered.js';
import { type Ground, intervalRng } from '../plan.js';
import { shown } from '../section-parts.js';
import { type Chances, coverageCurve, LEVELS } from './interval-error.js';
import type { Recalibration } from './recalibration.js';
import type { CalibrationRow } from './row.js';

const BINS = 10;

export function calibrationCharts(
  ground: Ground,
  rows: readonly CalibrationRow[],
  { before, rescaled, remapped }: Recalibration,
): readonly FidelityChart[] {
  const line = (name: string, chances: Chances) => ({
    name,
    points: coverageCurve(chances, ground.units).map((y, i): Point => ({ x: LEVELS[i], y })),
  });
  return [
    {
      kind: 'lines',
      title: 'Intervals',
      caption: 'Share of truths inside central intervals of each level, on the half that repairs were not fitted to.',
      xTitle: 'Level of the interval',
      yTitle: 'Share of truths inside',
      diagonal: true,
      series: [line('as stated', before), line('rescaled', rescaled), line('remapped', remapped)],
    },
    histogram(ground, rows),
  ];
}

/** Flat is honest; a valley is too sure, a hill too timid, a slope is bias. */
function histogram({ units, plan }: Ground, rows: readonly CalibrationRow[]): FidelityChart {
  const bars = Array.from({ length: BINS }, (_, b) => {
    const within = (chance: number) => Math.min(Math.floor(chance * BINS), BINS - 1) === b;
    const shares = rows.map(({ pit }) => pit.filter(within).length / pit.length);
    const { estimate } = clusteredMean(shares, units, intervalRng(plan, 'calibration', `pit-${b}`));
    return { label: `${(100 * b) / BINS}–${(100 * (b + 1)) / BINS} %`, estimate, unit: 'share' as const };
  });
  return {
    kind: 'bars',
    title: 'Where truths fall in their predictions',
    caption:
      'Share of truths in each tenth of their predicted distribution: level bars are honest, high ends too sure, a high middle too timid, a slope biased.',
    bars,
  };
}

export function scaleTable({ truth }: Ground, { scale }: Recalibration): FidelityTable {
  return {
    title: 'What standard deviations should be multiplied by',
    columns: ['Element', 'Factor'],
    rows: truth.elements.map((name, j) => [name, shown(scale[j])]),
  };
}
