// An invented report of three models: a good one, a poor one and a flawless one. Nothing here was measured.

import { Rng } from '../../../src/core/rng.js';
import { compareSubjects, judgeGates, parseGates } from '../../../src/fidelity/gates.js';
import type { FidelityReport, LinesChart, Metric, Section, SubjectReport } from '../../../src/fidelity/report.js';
import { type Estimate, meanEstimate, shareEstimate } from '../../../src/fidelity/statistics.js';

const UNITS = 400;
const share = (value: number, n = UNITS): Estimate => shareEstimate(Math.round(value * n), n);
const about = (value: number, spread: number, n = UNITS): Estimate => {
  return { value, low: value - spread, high: value + spread, n, method: 'bootstrap' };
};

function metric(
  key: string,
  label: string,
  estimate: Estimate,
  better: Metric['better'] = 'higher',
  unit: Metric['unit'] = 'share',
): Metric {
  return { key, label, estimate, better, unit, meaning: `What ${label.toLowerCase()} means.` };
}

function section(from: Pick<Section, 'id' | 'title' | 'summary' | 'metrics'> & Partial<Section>): Section {
  return { charts: [], tables: [], worst: [], notes: [], ...from };
}

/** Right with probability `skill`, and believes to be with `belief`. */
function subject(name: string, kind: string, skill: number, belief: number): SubjectReport {
  const rng = Rng.fromSeed(11).split(name);
  const exact = Array.from({ length: UNITS }, () => (rng.uniform() < skill ? 1 : 0));
  const optimism = Array.from({ length: 40 }, () => (1 - skill) * (0.6 + rng.normal()) + 0);
  const hits = exact.reduce<number>((sum, hit) => sum + hit, 0);
  const wrong = (factor: number) =>
    Array.from({ length: 20 }, (_, i) => {
      const y = 1 - skill ** ((i + 1) * factor);
      return { x: i + 1, y, low: Math.max(0, y - 0.02), high: y + 0.02 };
    });
  const drift = (title: string, series: LinesChart['series']): LinesChart => {
    return { kind: 'lines', title, caption: 'States that differ.', xTitle: 'Steps', yTitle: 'Share wrong', series };
  };
  const steps = Math.min(50, Math.floor(Math.log(0.8) / Math.log(Math.min(0.996, skill))));
  const passed = Math.round(40 * Math.min(1, skill + 0.04));
  const sections = [
    section({
      id: 'one-step',
      title: 'One step',
      summary: `${hits} of ${UNITS} calls left the state exactly as the real environment does.`,
      metrics: [
        metric('state-exact', 'State exactly right', shareEstimate(hits, UNITS)),
        metric('state-exact-floor', 'State exactly right if every call is refused', share(0.5), 'neither'),
        metric('state-distance', 'Distance of the state', about(1.1 - skill, 0.02), 'lower', 'number'),
        metric('all-right', 'All right', share(skill * 0.9)),
        metric('silent-state-error', 'Looks right, state wrong', share((1 - skill) * 0.6), 'lower'),
      ],
      tables: [
        {
          title: 'By tool',
          columns: ['tool', 'calls', 'state exact'],
          rows: [
            ['get_employee', '180', `${Math.round(100 * skill)} %`],
            ['restore_access', '120', `${Math.round(96 * skill)} %`],
          ],
        },
      ],
      worst:
        skill === 1
          ? []
          : [
              {
                title: 'restore_access unlocks another account',
                badness: 0.61,
                context: { task: 'unlock-after-holiday', step: 4 },
                action: { name: 'restore_access', arguments: { employee_id: 'EMP-1042' } },
                real: { status: 'active' },
                simulated: { status: 'locked', note: 'done' },
                differences: [
                  { path: '/accounts/EMP-1042/status', real: 'active', simulated: 'locked' },
                  { path: '/note', simulated: 'done' },
                ],
                backend: 'llm',
                confidence: 0.83,
              },
            ],
      notes: ['Rewards are given at the end alone, so a step has none.'],
    }),
    section({
      id: 'k-steps',
      title: 'Many steps',
      summary: 'Open-loop simulations under the actions that were taken for real.',
      metrics: [
        metric(
          'steps-to-divergence',
          'Steps to the first difference',
          about(1 / (1.02 - skill), 0.8),
          'higher',
          'steps',
        ),
        metric('consistency-ratio', 'Consistency ratio', share(skill ** 2, 50)),
      ],
      charts: [
        drift('Drift with the horizon', [{ name: 'all', points: wrong(1) }]),
        drift('Drift of each backend', [
          { name: 'rules', points: wrong(0.1) },
          { name: 'llm', points: wrong(1.6) },
        ]),
      ],
    }),
    section({
      id: 'reward-end',
      title: 'Reward and end',
      summary: 'Whether success in the simulation is success.',
      metrics: [
        metric('false-done', 'Falsely done', share((1 - skill) / 2, 40), 'lower'),
        metric('optimism', 'Optimism', meanEstimate(optimism, rng.split('optimism')), 'neither', 'return'),
      ],
    }),
    section({
      id: 'calibration',
      title: 'Calibration',
      summary: belief - skill > 0.05 ? 'It is surer than it should be.' : 'It is about as sure as it should be.',
      metrics: [metric('ece', 'Calibration error', about(Math.abs(belief - skill) + 0.01, 0.01), 'lower')],
      notes: skill === 1 ? ['It is always sure and always right.'] : [],
    }),
    section({
      id: 'must-fail',
      title: 'What must fail',
      summary: passed >= 38 ? 'It may give rewards.' : 'It may not give rewards.',
      metrics: [metric('passed', 'Probes passed', shareEstimate(passed, 40))],
    }),
    section({
      id: 'horizon',
      title: 'Trust horizon',
      summary: `Up to ${steps} steps the state is right with a probability of at least 80 %.`,
      metrics: [
        metric(
          'trusted-steps',
          'Trust horizon',
          { ...about(steps, 0), low: Math.floor(steps * 0.8), high: Math.ceil(steps * 1.3) },
          'higher',
          'steps',
        ),
      ],
    }),
  ];
  const samples = { 'one-step.state-exact': exact, 'reward-end.optimism': optimism };
  return { name, kind, version: `${kind}:5f2c81d09a`, sections, samples };
}

export const inventedSubjects = [
  subject('router', 'router', 0.93, 0.96),
  subject('qwen2.5-0.5b alone', 'llm', 0.58, 0.9),
  subject('rules', 'exact', 1, 1),
];

export const inventedReport: FidelityReport = {
  format: 'reverie-fidelity/1',
  scenario: 'helpdesk',
  family: 'tools',
  truth: {
    kind: 'environment',
    description: 'exact rules of the domain',
    version: 'rules:77ab09',
    transitions: 400,
    episodes: 40,
  },
  subjects: inventedSubjects,
  comparisons: compareSubjects(inventedSubjects, Rng.fromSeed(3)),
  gates: judgeGates(
    parseGates(['one-step.state-exact=0.95', 'must-fail.passed=85%', 'value:calibration.ece=0.05']),
    inventedSubjects[0],
  ),
  provenance: {
    command: 'reverie fidelity helpdesk --fail-under one-step.state-exact=0.95',
    seed: 0,
    versions: { reverie: '0.1.0', node: '20.20.2' },
  },
};

/** The first model alone. */
export const inventedSingle: FidelityReport = {
  ...inventedReport,
  subjects: inventedSubjects.slice(0, 1),
  comparisons: [],
};
