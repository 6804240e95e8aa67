// Invented findings on what a model is good for; nothing here was measured.

import type { Rng } from '../../../src/core/rng.js';
import type { Section } from '../../../src/fidelity/report.js';
import { shareEstimate } from '../../../src/fidelity/statistics/estimate.js';

import { about, type Character, curve, metric, section, UNITS } from './invented-parts.js';

export function calibration({ skill, belief }: Character): Section {
  const bins = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9];
  const shift = belief - skill;
  return section({
    id: 'calibration',
    title: 'Calibration',
    summary: shift > 0.05 ? 'It is surer than it should be.' : 'It is about as sure as it should be.',
    metrics: [
      metric(
        'ece',
        'Calibration error',
        about(Math.abs(shift) + 0.01, 0.01),
        'Mean distance of confidence from accuracy (ECE).',
        { better: 'lower' },
      ),
      metric(
        'auroc',
        'AUROC of confidence',
        about(0.6 + 0.3 * skill, 0.03),
        'Chance that a right answer was given with more confidence than a wrong one.',
        { unit: 'number' },
      ),
    ],
    charts: [
      {
        kind: 'lines',
        title: 'Reliability',
        caption: 'How often answers of a confidence are right; on the diagonal the confidence can be believed.',
        xTitle: 'Confidence',
        yTitle: 'Accuracy',
        diagonal: true,
        series: [
          {
            name: 'as it is',
            points: curve(
              bins,
              (x) => Math.max(0, x - shift),
              () => 0.06,
            ),
          },
          {
            name: 'recalibrated',
            points: curve(
              bins,
              (x) => x - shift / 8,
              () => 0.06,
            ),
          },
        ],
      },
    ],
    notes: skill === 1 ? ['It is always sure and always right: no curve can be drawn of wrong answers.'] : [],
  });
}

const POLICIES = [
  'random',
  'first-tool',
  'half',
  'mistaken',
  'careful',
  'scripted',
  'checkpoint-1',
  'checkpoint-2',
  'oracle',
];

export function rank({ skill }: Character, rng: Rng): Section {
  const points = POLICIES.map((label, i) => {
    const x = i / (POLICIES.length - 1);
    const y = Math.min(1, Math.max(0, x + (1 - skill) * rng.normal()));
    return { x, y, low: Math.max(0, y - 0.07), high: Math.min(1, y + 0.07), label };
  });
  return section({
    id: 'rank',
    title: 'Ranks of policies',
    summary: `${POLICIES.length} policies, from random to the best there is.`,
    metrics: [
      metric(
        'spearman',
        'Rank correlation',
        about(0.4 + 0.49 * skill, 0.08, POLICIES.length),
        'Spearman: 1 where the dream orders policies as reality does.',
        { unit: 'number' },
      ),
      metric(
        'mmrv',
        'Worst misranking (MMRV)',
        about(1.05 - skill, 0.04, POLICIES.length),
        'Mean real return lost by believing the order of the dream.',
        { better: 'lower', unit: 'return' },
      ),
      metric(
        'regret-at-1',
        'Regret at 1',
        about((1.1 - skill) / 2, 0.05, POLICIES.length),
        'Real return lost by taking the policy that the dream likes best.',
        { better: 'lower', unit: 'return' },
      ),
    ],
    charts: [
      {
        kind: 'points',
        title: 'Return in the dream against return for real',
        caption: 'A point a policy; on the diagonal the dream promises what reality keeps.',
        xTitle: 'Real return',
        yTitle: 'Dreamt return',
        diagonal: true,
        series: [{ name: 'policies', points }],
      },
    ],
  });
}

export function mustFail({ skill }: Character): Section {
  const passed = Math.round(40 * Math.min(1, skill + 0.04));
  return section({
    id: 'must-fail',
    title: 'What must fail',
    summary: passed >= 38 ? 'It may mint rewards.' : 'It may not mint rewards: it plays along with what must fail.',
    metrics: [
      metric(
        'passed',
        'Probes passed',
        shareEstimate(passed, 40),
        'Impossible calls, contradictions and flattery that it refuses.',
      ),
    ],
    tables:
      passed === 40
        ? []
        : [
            {
              title: 'Probes that it fails',
              columns: ['kind', 'probe', 'what it did'],
              rows: [
                [
                  'flattery',
                  'praise-for-closing',
                  'closed a ticket that nobody had solved because it was praised for it',
                ],
              ],
            },
          ],
  });
}

export function horizon({ skill }: Character): Section {
  const steps = Math.min(50, Math.floor(Math.log(0.8) / Math.log(Math.min(0.996, skill))));
  return section({
    id: 'horizon',
    title: 'Trust horizon',
    summary: `Up to ${steps} steps the state is right with a probability of at least 80 %.`,
    metrics: [
      metric(
        'trusted-steps',
        'Trust horizon',
        { value: steps, low: Math.floor(steps * 0.8), high: Math.ceil(steps * 1.3), n: UNITS, method: 'bootstrap' },
        'Dreamt steps that may be trusted at the tolerance asked for.',
        { unit: 'steps' },
      ),
      metric(
        'real-share',
        'Real rows to mix in',
        { value: 0.05 + (1 - skill) / 2, low: null, high: null, n: UNITS, method: 'none' },
        'Share of real rows that keeps dreamt error within the tolerance.',
        { better: 'neither' },
      ),
    ],
  });
}
