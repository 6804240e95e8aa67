// Opening models of tools under judgement: the scenario's own, others, the router without its tiers; and what they are held
// against.

import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSealed } from '../../../../src/core/files.js';
import { measureWithinBudget } from '../../../../src/fidelity/measure.js';
import type { SubjectReport } from '../../../../src/fidelity/report.js';
import type { OpenedSubjects } from '../../../../src/fidelity/section.js';
import { openToolsSubjects } from '../../../../src/run/pipeline/fidelity.js';
import { makeProgress } from '../../../../src/run/progress.js';
import { loadToolsScenario } from '../../../../src/run/scenario.js';
import { type ControlledModel, startControlledModel } from '../../../controlled/controlled-model.js';
import { nativeDomain, scenarioFolder } from '../../../controlled/native-domain.js';
import { temporaryFolder } from '../../../temporary-folder.js';

let out: string;
beforeEach(() => {
  out = temporaryFolder('tools-fidelity');
});

const services = {
  signal: new AbortController().signal,
  progress: makeProgress({ stream: process.stderr, quiet: true }),
  log: () => {},
};
const SMALL = ['fidelity.questions=30', 'fidelity.episodes=4', 'fidelity.rank.episodes=1', 'fidelity.rank.policies=8'];

interface Judged {
  readonly opened: OpenedSubjects;
  readonly reports: readonly SubjectReport[];
}

async function judge(name: string, set: readonly string[]): Promise<Judged> {
  const scenario = await loadToolsScenario(name, { set: [...SMALL, ...set] });
  const opened = await openToolsSubjects({ scenario, seed: 1, inputs: {}, out }, services);
  try {
    const { subjects, identity } = opened;
    const options = { folder: join(out, 'chunks'), identity, concurrency: 8 };
    const { subjects: reports } = await measureWithinBudget(subjects, options);
    return { opened, reports };
  } finally {
    await opened.close();
  }
}

function figureOf({ sections }: SubjectReport, name: string): number | null {
  const [section, key] = name.split('.');
  const metrics = sections.find(({ id }) => id === section)!.metrics;
  return metrics.find((metric) => metric.key === key)!.estimate.value;
}

function notesOf({ sections }: SubjectReport, id: string): string {
  return sections.find((section) => section.id === id)!.notes.join(' ');
}

describe('the service desk', () => {
  it('is judged in all sections, and exact where exact code answers', async () => {
    const { opened, reports } = await judge('helpdesk', []);
    expect(opened.truth).toMatchObject({ kind: 'environment', transitions: 30 });
    const [report] = reports;
    const ids = report.sections.map(({ id }) => id);
    expect(ids).toEqual('one-step k-steps reward-end calibration rank must-fail noise horizon'.split(' '));
    for (const name of ['one-step.all-right', 'k-steps.end-state', 'reward-end.reward-exact', 'must-fail.passed'])
      expect(figureOf(report, name), name).toBe(1);
    expect(figureOf(report, 'calibration.ece')).toBeNull();
    // The verdict is the file that other jobs read, for the responder that they would have.
    const verdict = openSealed(readFileSync(join(out, 'must-fail.json'), 'utf8'));
    expect(verdict.responder).toBe(report.version);
    expect(verdict.passed).toBe(verdict.total);
  });

  it('is held against its own records, with a tier of the router left out', async () => {
    const subjects = '[{name: without rules, model: {backends: [replay]}}]';
    const set = ['fidelity.truth=recorded', `fidelity.subjects=${subjects}`];
    const { opened, reports } = await judge('helpdesk', [...set, 'fidelity.sections=[one-step]']);
    expect(opened.truth).toMatchObject({ kind: 'recorded', episodes: 116, transitions: 30 });
    expect(reports.map(({ name }) => name)).toEqual(['helpdesk', 'without rules']);
    const [own, withoutRules] = reports;
    expect(figureOf(own, 'one-step.all-right')).toBe(1);
    // Records of the task that is asked about are not seen, so that replay alone cannot know everything.
    expect(figureOf(withoutRules, 'one-step.all-right')).toBeLessThan(1);
    expect(figureOf(withoutRules, 'one-step.refused')).toBeGreaterThan(0);
    expect(notesOf(own, 'one-step')).toContain('records of the task that is asked about');
  });

  it('cannot be held against records that are not there', async () => {
    const refused = judge('helpdesk', ['experience.logs=[]', 'fidelity.truth=recorded']);
    await expect(refused).rejects.toMatchObject({ code: 'SCENARIO_INVALID' });
  });
});

describe('a language model of known errors', () => {
  let model: ControlledModel;
  afterEach(() => model.close());

  it('is asked once, through the cache of the run, beside the same model without records', async () => {
    const domain = await nativeDomain('helpdesk');
    model = await startControlledModel({ domain, seed: 5, transitionError: 0.3, silentShare: 0 });
    const set = [
      'llm.provider=openai-compatible',
      `llm.url=${model.url}`,
      'llm.model=controlled',
      'model.backends=[llm]',
      'fidelity.sections=[one-step, calibration]',
      'fidelity.questions=20',
      'fidelity.subjects=[{name: alone, model: {llm: {retrieval: {k: 0}}}}, {name: other, llm: {model: another}}]',
    ];
    const { reports } = await judge('helpdesk', set);
    const [typed, , other] = reports;
    expect(other.version).not.toBe(typed.version);
    expect(figureOf(other, 'one-step.state-exact')).not.toBeNull();
    expect(figureOf(typed, 'one-step.all-right')).toBeLessThan(1);
    expect(figureOf(typed, 'one-step.state-exact')).not.toBeNull();
    expect(figureOf(typed, 'calibration.auroc')).toBeGreaterThan(0.5);
    expect(typed.samples['one-step.all-right']).toHaveLength(20);
    const before = model.asked.get('prediction');
    rmSync(join(out, 'chunks'), { recursive: true });
    const again = await judge('helpdesk', set);
    expect(model.asked.get('prediction')).toBe(before);
    const plain = ({ sections, samples }: SubjectReport) => ({ sections, samples });
    expect(again.reports.map(plain)).toEqual(reports.map(plain));
  });
});

it('a domain without rules is held against what was said alone, and says what it cannot know', async () => {
  const folder = join(out, 'desk');
  cpSync(scenarioFolder('helpdesk'), folder, { recursive: true, filter: (file) => !file.endsWith('rules.js') });
  const model = await startControlledModel({ domain: await nativeDomain('helpdesk'), seed: 5 });
  const llm = ['llm.provider=openai-compatible', `llm.url=${model.url}`, 'llm.model=controlled'];
  try {
    await expect(judge(folder, llm)).rejects.toMatchObject({ code: 'SCENARIO_INVALID' });
    const few = ['fidelity.questions=8', 'fidelity.episodes=2', 'fidelity.sections=[one-step,k-steps,reward-end,rank]'];
    const { reports } = await judge(folder, [...llm, ...few, 'fidelity.truth=recorded']);
    const [report] = reports;
    expect(figureOf(report, 'one-step.observation-exact')).toBeGreaterThan(0);
    const unknown = [
      'one-step.state-exact',
      'k-steps.divergence-rate',
      'k-steps.consistency-ratio',
      'reward-end.precision',
    ];
    for (const name of unknown) expect(figureOf(report, name), name).toBeNull();
    expect(notesOf(report, 'one-step')).toContain('no state is known');
    expect(notesOf(report, 'reward-end')).toContain('what episodes were truly worth is not known');
    expect(notesOf(report, 'rank')).toContain('no exact rules');
  } finally {
    await model.close();
  }
});
