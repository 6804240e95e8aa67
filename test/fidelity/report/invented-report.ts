// An invented report of three models: a flawless one, a good one and a poor one. Nothing here was measured.

import { Rng } from '../../../src/core/rng.js';
import { compareSubjects, judgeGates, parseGates } from '../../../src/fidelity/gates.js';
import type { FidelityReport, SubjectReport } from '../../../src/fidelity/report.js';
import type { Character } from './invented-parts.js';
import { inventedSections } from './invented-sections.js';

const GOOD = { name: 'router', skill: 0.93, belief: 0.96, kind: 'router' };
const POOR = { name: 'qwen2.5-0.5b alone', skill: 0.58, belief: 0.9, kind: 'llm' };
const FLAWLESS = { name: 'rules', skill: 1, belief: 1, kind: 'exact' };

function subject(character: Character & { kind: string }): SubjectReport {
  const { name, kind } = character;
  return { name, kind, version: `${kind}:5f2c81d09a`, ...inventedSections(character) };
}

export const inventedSubjects = [GOOD, POOR, FLAWLESS].map(subject);

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
    scenarioHash: '9f8e7d6c5b4a3928',
    seed: 0,
    machine: '2 cores, 8 GiB, Linux x64',
    versions: { reverie: '0.1.0', node: '20.20.2' },
  },
};

/** The first model alone. */
export const inventedSingle: FidelityReport = {
  ...inventedReport,
  subjects: inventedSubjects.slice(0, 1),
  comparisons: [],
};
