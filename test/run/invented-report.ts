// Invented results, for tests and for looking at the report's design; nothing here was measured.

import type { CurvesBlock, Report } from '../../src/core/report.js';
import { Rng } from '../../src/core/rng.js';

type Curve = CurvesBlock['curves'][number];

function learningCurve(name: string, seed: number, half: number, last: number, every: number): Curve {
  const rng = Rng.fromSeed(seed).split(name);
  const points = [];
  const pace = half * (0.8 + 0.4 * rng.uniform());
  for (let x = 0; x <= last; x += every) {
    const y = 900 / (1 + Math.exp(-(x - pace) / (pace / 4))) + 25 * rng.normal();
    points.push({ x, y });
  }
  return { name, seed, points };
}

const seeds = [0, 1, 2, 3, 4];

export const inventedReport: Report = {
  title: 'Cart-pole swing-up: learned in the dream, proved in reality',
  blocks: [
    {
      kind: 'paragraph',
      tone: 'lead',
      text: 'Warm-started in a learned world model, the same learner reached a real return of 800 with a fraction of the real steps it needed from scratch. Invented data.',
    },
    {
      kind: 'figures',
      items: [
        { value: '7.4×', label: 'fewer real steps to threshold' },
        { value: '2 750', label: 'real steps, warm start (median)' },
        { value: '41 k/s', label: 'transitions dreamt' },
      ],
    },
    {
      kind: 'table',
      columns: [
        'Training',
        'Real steps to threshold',
        'Ratio',
        'Real return',
        'Wall time',
        'Dreamt',
        'Dreamt per second',
      ],
      rows: [
        ['From scratch', '20 250 (18 500 – 23 000)', '1.0×', '842 ± 31', '2 min 41 s', '–', '–'],
        ['Warm start', '2 750 (2 250 – 3 500)', '7.4×', '851 ± 22', '1 min 12 s', '1.6 M', '41 k'],
      ],
      note: 'Medians over 5 seeds, least and greatest in brackets; return is mean ± standard deviation over seeds.',
    },
    {
      kind: 'curves',
      title: 'Return in the real environment',
      caption: 'Thin lines are seeds, the bold line their mean, the band their range where all have data.',
      xTitle: 'Real steps',
      yTitle: 'Return',
      curves: [
        ...seeds.map((seed) => learningCurve('From scratch', seed, 13_000, 24_000 - 700 * seed, 1000)),
        ...seeds.map((seed) => learningCurve('Warm start', seed, 1600, 3800 - 100 * seed, 250)),
      ],
      threshold: { value: 800, label: 'threshold 800' },
    },
    {
      kind: 'curves',
      title: 'One-step error of the world model',
      caption: 'Held-out transitions, in standard deviations of the data.',
      xTitle: 'Real steps',
      yTitle: 'Error (log scale)',
      yScale: 'log',
      curves: seeds.map((seed) => {
        const rng = Rng.fromSeed(seed).split('error');
        return {
          name: 'Warm start',
          seed,
          points: [250, 500, 1000, 1500, 2000, 2500, 3000].map((x) => ({
            x,
            y: (30 / x) * Math.exp(0.2 * rng.normal()),
          })),
        };
      }),
    },
    {
      kind: 'list',
      tone: 'note',
      items: [
        'The page is made from invented numbers to check its layout.',
        'Text is escaped: <script>alert("no")</script> & "quotes".',
      ],
    },
    { kind: 'facts', rows: [['Command', 'reverie quickstart --seed 0']] },
  ],
};
