// An invented report of three models: a good one, a poor one and a flawless one (invented-subjects.json). Nothing here was measured.

import { Rng } from '../../../src/core/rng.js';
import { compareSubjects, judgeGates, parseGates } from '../../../src/fidelity/gates.js';
import type { FidelityReport, SubjectReport } from '../../../src/fidelity/report.js';
import { testData } from '../../data.js';

export const inventedSubjects = testData<SubjectReport[]>('fidelity/report/invented-subjects.json');

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
