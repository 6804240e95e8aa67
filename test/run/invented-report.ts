// Invented results, for tests and for looking at the report's design; nothing here was measured.

import { Rng } from '../../src/core/rng.js';
import type { ReportCurve, ReportInput } from '../../src/run/report/report-input.js';

function learningCurve(arm: string, seed: number, half: number, last: number, every: number): ReportCurve {
  const rng = Rng.fromSeed(seed).split(arm);
  const points = [];
  const pace = half * (0.8 + 0.4 * rng.uniform());
  for (let x = 0; x <= last; x += every) {
    const y = 900 / (1 + Math.exp(-(x - pace) / (pace / 4))) + 25 * rng.normal();
    points.push({ x, y });
  }
  return { arm, seed, points };
}

const seeds = [0, 1, 2, 3, 4];

export const inventedReport: ReportInput = {
  title: 'Cart-pole swing-up: learned in the dream, proved in reality',
  lead: 'Warm-started in a learned world model, the same learner reached a real return of 800 with a fraction of the real steps it needed from scratch. Invented data.',
  figures: [
    { value: '7.4×', label: 'fewer real steps to threshold' },
    { value: '2 750', label: 'real steps, warm start (median)' },
    { value: '41 k/s', label: 'transitions dreamt' },
  ],
  summary: {
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
  charts: [
    {
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
      title: 'One-step error of the world model',
      caption: 'Held-out transitions, in standard deviations of the data.',
      xTitle: 'Real steps',
      yTitle: 'Error (log scale)',
      yScale: 'log',
      curves: seeds.map((seed) => {
        const rng = Rng.fromSeed(seed).split('error');
        return {
          arm: 'Warm start',
          seed,
          points: [250, 500, 1000, 1500, 2000, 2500, 3000].map((x) => ({
            x,
            y: (30 / x) * Math.exp(0.2 * rng.normal()),
          })),
        };
      }),
    },
    {
      title: 'Rollout horizon',
      xTitle: 'Real steps',
      yTitle: 'Steps',
      stepped: true,
      curves: [
        {
          arm: 'Warm start',
          seed: 0,
          points: [
            { x: 250, y: 1 },
            { x: 1000, y: 3 },
            { x: 2000, y: 8 },
            { x: 3000, y: 15 },
            { x: 3800, y: 15 },
          ],
        },
      ],
    },
  ],
  notes: [
    'The page is made from invented numbers to check its layout.',
    'Text is escaped: <script>alert("no")</script> & "quotes".',
  ],
  provenance: {
    command: 'reverie quickstart --seed 0',
    scenario: 'cartpole-swingup',
    scenarioHash: '9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0',
    seeds,
    machine: '2 cores, 8 GiB, Linux x64',
    date: '2026-11-21T12:00:00.000Z',
    versions: { reverie: '0.1.0', node: '20.20.2', 'onnxruntime-node': '1.30.0', mujoco: '3.14.0' },
  },
};
