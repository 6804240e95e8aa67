// Served environments of tools, and other scenarios of the same domain, under judgement: through the job, over the network.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../../../src/env/tools/domain.js';
import { uniquelyNamed } from '../../../../src/fidelity/gates.js';
import type { SubjectReport } from '../../../../src/fidelity/report.js';
import { readFidelityReport } from '../../../../src/fidelity/report.js';
import type { FidelityResult, JobInputs } from '../../../../src/run/job.js';
import { launch } from '../../../../src/run/launch.js';
import { toolsFidelityJob } from '../../../../src/run/pipeline/fidelity/fidelity-job.js';
import { loadToolsScenario } from '../../../../src/run/scenario.js';

import type { RunningServer } from '../../../../src/serve/index.js';
import { type ControlledModel, startControlledModel } from '../../../controlled/controlled-model.js';
import { nativeDomain, scenarioFolder } from '../../../controlled/native-domain.js';
import { serveScenarios } from '../../../serve/running-server.js';
import { recordingStream } from '../../streams.js';

/** The users that the server has too: each speaks in one way alone. */
const SMALL = [
  ...['fidelity.questions=20', 'fidelity.episodes=12', 'fidelity.rank.episodes=1', 'fidelity.rank.policies=8'],
  'user.varied=false',
];
const LIVED = '[k-steps, reward-end, rank]';

let domain: ToolsDomain;
let out: string;
const open: { stop?: (seconds: number) => Promise<unknown>; close?: () => Promise<unknown> }[] = [];
beforeAll(async () => {
  domain = await nativeDomain('helpdesk');
});
afterEach(async () => {
  for (const one of open.splice(0)) await (one.stop?.(0) ?? one.close?.());
  rmSync(out, { recursive: true, force: true });
});

function fresh(): string {
  out = mkdtempSync(join(tmpdir(), 'tools-served-'));
  return out;
}

async function served(...names: string[]): Promise<string> {
  const server: RunningServer = await serveScenarios(names);
  open.push(server);
  return server.url;
}

/** The service desk as a language model of known errors dreams it, served. */
async function servedDream(errors: Partial<Parameters<typeof startControlledModel>[0]>): Promise<string> {
  const model: ControlledModel = await startControlledModel({ domain, seed: 5, ...errors });
  open.push(model);
  const set = [
    'llm.provider=openai-compatible',
    `llm.url=${model.url}`,
    'llm.model=controlled',
    'model.backends=[llm]',
    'user.varied=false',
  ];
  const server = await serveScenarios([], { scenarios: [await loadToolsScenario('helpdesk', { set })] });
  open.unshift(server);
  return server.url;
}

function judge(inputs: JobInputs, set: readonly string[] = [], scenario = 'helpdesk'): Promise<FidelityResult> {
  const jobs = { tools: async () => toolsFidelityJob };
  const options = { scenario, seed: 1, stream: recordingStream(), command: 'reverie', quiet: true };
  return launch('fidelity', { jobs: jobs, ...options, set: [...SMALL, ...set], inputs, out: join(out, 'judged') });
}

async function reports(): Promise<readonly SubjectReport[]> {
  return (await readFidelityReport(join(out, 'judged'))).subjects;
}

function sectionOf({ sections }: SubjectReport, id: string) {
  return sections.find((section) => section.id === id)!;
}

function estimateOf(report: SubjectReport, name: string) {
  const [section, key] = name.split('.');
  return sectionOf(report, section).metrics.find((metric) => metric.key === key)!.estimate;
}

describe('a served service desk', () => {
  it('is lived in, and found exact where exact code answers', async () => {
    fresh();
    const url = await served('helpdesk');
    const result = await judge({ url, failUnder: ['value:k-steps.observation-right=1', 'value:k-steps.end-state=1'] });
    expect(result.passed).toBe(true);
    const [report, ...others] = await reports();
    expect([others, report.kind, report.name]).toEqual([[], 'served', url]);
    const ids = report.sections.map(({ id }) => id);
    expect(ids).toEqual('one-step k-steps reward-end calibration rank must-fail horizon'.split(' '));
    const right =
      'k-steps.observations-all-right k-steps.error-flag reward-end.precision reward-end.end-state rank.spearman';
    for (const name of right.split(' ')) expect(estimateOf(report, name).value, name).toBe(1);
    for (const name of ['reward-end.false-done', 'reward-end.optimism'])
      expect(estimateOf(report, name).value, name).toBe(0);
    for (const id of ['one-step', 'calibration', 'must-fail']) {
      const { metrics, notes } = sectionOf(report, id);
      expect(notes.join(), id).toMatch(/state is on the server/);
      expect(new Set(metrics.map(({ estimate }) => estimate.value))).toEqual(new Set([null]));
    }
  });

  it('that errs is found to, beside the scenario as it is', async () => {
    fresh();
    const url = await servedDream({ transitionError: 0.3, silentShare: 0 });
    await judge({ url, compare: [scenarioFolder('helpdesk')] }, [`fidelity.sections=${LIVED}`]);
    const [dream, own] = await reports();
    expect([dream.kind, own.kind, own.name]).toEqual(['served', 'router', 'helpdesk']);
    for (const name of [
      'k-steps.observation-right',
      'k-steps.end-state',
      'reward-end.reward-exact',
      'reward-end.recall',
    ]) {
      expect(estimateOf(dream, name).value, name).toBeLessThan(1);
      expect(estimateOf(own, name).value, name).toBe(1);
    }
    expect(estimateOf(dream, 'k-steps.divergence-rate').n).toBeGreaterThan(10);
    // Both lived the same episodes, so that they are compared episode by episode.
    const pairs = [dream, own].map(({ samples }) => samples['reward-end.reward-exact'].length);
    expect(pairs).toEqual([12, 12]);
    expect(sectionOf(dream, 'k-steps').worst[0].real).toHaveProperty('observation');
  });
});

describe('what is of another domain', () => {
  it('is refused, over the network and as a scenario', async () => {
    fresh();
    const refused = async (inputs: JobInputs, code: string, message: RegExp) => {
      const error = await judge(inputs).catch((reason) => reason);
      expect({ code: error.code, message: error.message }).toEqual({ code, message: expect.stringMatching(message) });
      rmSync(join(out, 'judged'), { recursive: true, force: true });
    };
    await refused({ url: await served('cellar') }, 'INPUT_INVALID', /family text/);
    const folder = join(out, 'other-tasks');
    cpSync(scenarioFolder('helpdesk'), folder, { recursive: true });
    await refused({ compare: [scenarioFolder('cellar')] }, 'INPUT_INVALID', /domain is "cellar"/);
    await refused({ model: out }, 'FLAG_INVALID', /fidelity\.subjects/);
    await refused({ url: 'http://127.0.0.1:9' }, 'SERVER_UNREACHABLE', /127\.0\.0\.1:9/);
    const tasks = readFileSync(join(folder, 'tasks.yaml'), 'utf8');
    writeFileSync(join(folder, 'tasks.yaml'), tasks.replace(/- id: \S+/, '- id: of-its-own'));
    const other = await served(folder);
    await refused({ url: other }, 'INPUT_INVALID', /does not know the task/);
  });
});

describe('names', () => {
  it('are taken once: a number tells folders and URLs apart, and a scenario is refused', async () => {
    const named = uniquelyNamed(['a', 'b', 'a', 'a 2', 'a'].map((name) => ({ name })));
    expect(named.map(({ name }) => name)).toEqual(['a', 'b', 'a 2', 'a 2 2', 'a 3']);
    fresh();
    const refused = judge({}, ['fidelity.subjects=[{name: a}, {name: b}, {name: a}]']);
    await expect(refused).rejects.toMatchObject({ code: 'SCENARIO_INVALID', message: expect.stringMatching(/"a"/) });
  });
});

describe('a spent budget', () => {
  it('ends the judging with what was measured, and going on with it asks for what is missing alone', async () => {
    fresh();
    const model = await startControlledModel({ domain, seed: 5, transitionError: 0.3, silentShare: 0 });
    open.push(model);
    const llm = ['llm.provider=openai-compatible', `llm.url=${model.url}`, 'llm.model=controlled'];
    const set = [...llm, 'model.backends=[llm]', 'fidelity.sections=[one-step]', 'workers=1'];
    const asked = () => [...model.asked.values()].reduce((sum, count) => sum + count, 0);
    await judge({}, set);
    const [whole, calls] = [await reports(), asked()];
    rmSync(join(out, 'judged'), { recursive: true });
    const spent = { code: 'BUDGET_SPENT', hint: expect.stringMatching(/--resume/) };
    await expect(judge({}, [...set, `synth.budget.calls=${calls - 1}`])).rejects.toMatchObject(spent);
    const { incomplete, subjects } = await readFidelityReport(join(out, 'judged'));
    expect(incomplete).toMatch(/budget of calls is spent/);
    expect(subjects[0].samples).toEqual({});
    expect(sectionOf(subjects[0], 'one-step').notes[0]).toMatch(/^A budget was spent: only \d+ of \d+ parts/);
    expect(readFileSync(join(out, 'judged', 'fidelity.html'), 'utf8')).toContain(incomplete);
    const again = { resume: join(out, 'judged'), stream: recordingStream(), command: 'reverie', quiet: true };
    await launch('fidelity', { jobs: { tools: async () => toolsFidelityJob }, ...again });
    expect(await reports()).toEqual(whole);
    expect(asked()).toBe(2 * calls);
  });
});
