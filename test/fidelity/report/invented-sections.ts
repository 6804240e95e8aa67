// Invented findings, for tests and for looking at the report's design; nothing here was measured.

import { Rng } from '../../../src/core/rng.js';
import type { BarsChart, LinesChart, Point, Section, WorstTransition } from '../../../src/fidelity/report.js';
import { meanEstimate } from '../../../src/fidelity/statistics/bootstrap.js';
import { shareEstimate } from '../../../src/fidelity/statistics/estimate.js';
import { calibration, horizon, mustFail, rank } from './invented-judgements.js';
import { about, type Character, curve, metric, section, share, UNITS } from './invented-parts.js';

type Sampled = Record<string, (number | null)[]>;

export interface Invented {
  readonly sections: readonly Section[];
  readonly samples: Sampled;
}

export function inventedSections(of: Character): Invented {
  const rng = Rng.fromSeed(11).split(of.name);
  const exact = Array.from({ length: UNITS }, () => (rng.uniform() < of.skill ? 1 : 0));
  const distance = exact.map((hit) => (hit ? 0 : 0.05 + 0.5 * rng.uniform() * (1.2 - of.skill)));
  const optimism = Array.from({ length: 40 }, () => (1 - of.skill) * (0.6 + rng.normal()) + 0);
  const samples = {
    'one-step.state-exact': exact,
    'one-step.state-distance': distance,
    'reward-end.optimism': optimism,
  };
  const sections = [
    oneStep(of, exact, distance, rng),
    kSteps(of),
    rewardEnd(of, optimism, rng),
    calibration(of),
    rank(of, rng),
    mustFail(of),
    horizon(of),
  ];
  return { sections, samples };
}

function oneStep({ name, skill }: Character, exact: number[], distance: number[], rng: Rng): Section {
  const hits = exact.reduce((sum, hit) => sum + hit, 0);
  const changes: BarsChart = {
    kind: 'bars',
    title: 'State exactly right, by how much changes at once',
    caption: 'Calls of the real environment by the number of places of the state that they changed.',
    bars: [0, 1, 2, 3].map((count) => ({
      label: count === 3 ? '3 or more' : String(count),
      estimate: share(Math.max(0.05, skill - 0.13 * count), 100 - 20 * count),
      unit: 'share' as const,
    })),
  };
  return section({
    id: 'one-step',
    title: 'One step',
    summary: `${hits} of ${UNITS} calls left the state exactly as the real environment does.`,
    metrics: [
      metric(
        'state-exact',
        'State exactly right',
        shareEstimate(hits, UNITS),
        'The state after the call equals the real one.',
      ),
      metric(
        'state-distance',
        'Distance of the state',
        meanEstimate(distance, rng.split('distance')),
        'Share of leaves that differ, 0 where the states are equal.',
        { better: 'lower', unit: 'number' },
      ),
      metric(
        'observation-exact',
        'Answer exactly right',
        share(skill * 0.9),
        'What the tool answered equals the real answer.',
      ),
      metric(
        'looks-right-state-wrong',
        'Looks right, state wrong',
        share((1 - skill) * 0.6),
        'The answer is right and the state behind it is not: nobody who reads the answer sees it.',
        { better: 'lower' },
      ),
      metric('end-exact', 'End exactly right', share(0.99), 'The episode ends where the real one does.'),
    ],
    charts: [changes],
    tables: [
      {
        title: 'By tool',
        columns: ['tool', 'calls', 'state exact'],
        rows: [
          ['get_employee', '180', `${Math.round(100 * skill)} %`],
          ['restore_access', '120', `${Math.round(96 * skill)} %`],
          ['close_ticket', '100', `${Math.round(90 * skill)} %`],
        ],
      },
    ],
    worst:
      skill === 1 ? [] : [worst(name, 0.61), { ...worst(name, 0.4), title: 'close_ticket leaves the ticket open' }],
    notes: ['Rewards are given at the end alone, so a step has none.'],
  });
}

function worst(name: string, badness: number): WorstTransition {
  return {
    title: `restore_access unlocks somebody else (${name})`,
    badness,
    context: { task: 'unlock-after-holiday', step: 4, said: 'Please unlock my account <EMP-1042>.' },
    action: { name: 'restore_access', arguments: { employee_id: 'EMP-1042', action: 'unlock' } },
    real: { accounts: { 'EMP-1042': { status: 'active', attempts: 0 }, 'EMP-1043': { status: 'locked' } } },
    dreamt: {
      accounts: { 'EMP-1042': { status: 'locked', attempts: 3 }, 'EMP-1043': { status: 'active' } },
      note: 'done',
    },
    differences: [
      { path: '/accounts/EMP-1042/status', real: 'active', dreamt: 'locked' },
      { path: '/accounts/EMP-1042/attempts', real: 0, dreamt: 3 },
      { path: '/accounts/EMP-1043/status', real: 'locked', dreamt: 'active' },
      { path: '/note', dreamt: 'done' },
    ],
    backend: 'llm',
    confidence: 0.83,
  };
}

function kSteps({ skill }: Character): Section {
  const steps = Array.from({ length: 20 }, (_, i) => i + 1);
  const drift = (rate: number): Point[] =>
    curve(
      steps,
      (x) => 1 - skill ** (x * rate),
      (x) => 0.01 + 0.004 * x,
    );
  const chart = (title: string, series: LinesChart['series']): LinesChart => ({
    kind: 'lines',
    title,
    caption: 'States that differ after so many steps under the same actions; the band is the interval of 95 %.',
    xTitle: 'Steps dreamt',
    yTitle: 'Share of states wrong',
    series,
  });
  return section({
    id: 'k-steps',
    title: 'Many steps',
    summary: 'Open-loop dreams under the actions that were taken for real.',
    metrics: [
      metric(
        'first-divergence',
        'Steps to the first difference',
        about(1 / (1.02 - skill), 0.8),
        'Median steps until the dreamt state first differs.',
        { unit: 'steps' },
      ),
      metric(
        'consistency-ratio',
        'Consistency ratio',
        share(skill ** 2, 50),
        'Plans that succeed in the dream and succeed again for real.',
      ),
    ],
    charts: [
      chart('Drift with the horizon', [{ name: 'all', points: drift(1) }]),
      chart('Drift of each backend', [
        { name: 'rules', points: drift(0.1) },
        { name: 'replay', points: drift(0.7) },
        { name: 'llm', points: drift(1.6) },
      ]),
    ],
  });
}

function rewardEnd({ skill }: Character, optimism: number[], rng: Rng): Section {
  return section({
    id: 'reward-end',
    title: 'Reward and end',
    summary: 'Whether success in the dream is success.',
    metrics: [
      metric('success-f1', 'F1 of success', share(skill, 40), 'Balance of precision and recall of dreamt success.'),
      metric(
        'false-done',
        'Falsely done',
        share((1 - skill) / 2, 40),
        'Dreamt episodes that end although the real one goes on.',
        { better: 'lower' },
      ),
      metric(
        'optimism',
        'Optimism',
        meanEstimate(optimism, rng.split('optimism')),
        'Dreamt minus real return of the same actions; above 0 the dream flatters.',
        { better: 'neither', unit: 'return' },
      ),
    ],
  });
}
