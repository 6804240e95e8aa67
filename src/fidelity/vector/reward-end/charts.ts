// Rewards and returns as pictures: what was promised against what was earned.

import type { FidelityChart, Point } from '../../report/fidelity-report.js';
import { shareEstimate } from '../../statistics/share.js';
import type { Beginning } from '../open-loop.js';
import type { Ground } from '../plan.js';
import { realReturn } from './real-return.js';
import type { RewardEndRow } from './row.js';

type Step = Extract<RewardEndRow, { kind: 'step' }>;
type Sequence = Extract<RewardEndRow, { kind: 'sequence' }>;

/** Points of the scatter at most; more would hide one another. */
const POINTS = 256;

export function rewardEndCharts(
  ground: Ground,
  beginnings: readonly Beginning[],
  sequences: readonly Sequence[],
  steps: readonly Step[],
): readonly FidelityChart[] {
  const points = sequences
    .slice(0, POINTS)
    .map((dreamt, i): Point => ({ x: realReturn(ground, beginnings[i]), y: dreamt.return }));
  const scatter: FidelityChart = {
    kind: 'points',
    title: 'Dreamt against real return of the same actions',
    caption: 'Each point is a sequence of recorded actions; above the diagonal the dream promised too much.',
    xTitle: 'Real return',
    yTitle: 'Dreamt return',
    diagonal: true,
    series: [{ name: 'sequences', points }],
  };
  return steps.length === 0 ? [scatter] : [scatter, endBars(ground, steps)];
}

/** What the dream says where the episode really ended, and where it went on. */
function endBars({ truth }: Ground, steps: readonly Step[]): FidelityChart {
  const bar = (label: string, ended: number) => {
    const rows = steps.filter((_, r) => truth.rows.terminated[r] === ended);
    const hits = rows.filter(({ terminated }) => terminated === 1).length;
    return { label, estimate: shareEstimate(hits, rows.length), unit: 'share' as const };
  };
  return {
    kind: 'bars',
    title: 'How often the dream ends an episode',
    caption: 'It should always where the episode really ended, and never where it went on.',
    bars: [bar('where it really ended', 1), bar('where it really went on', 0)],
  };
}
