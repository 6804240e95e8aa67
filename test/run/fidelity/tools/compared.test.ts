// Several models of one scenario under judgement, and a budget that is spent: through the job.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { uniquelyNamed } from '../../../../src/fidelity/gates.js';
import { openFidelityReport, type SubjectReport } from '../../../../src/fidelity/report.js';
import type { JobInputs } from '../../../../src/run/job.js';
import { launch } from '../../../../src/run/launch.js';
import { type FidelityResult, toolsFidelityJob } from '../../../../src/run/pipeline/fidelity.js';
import { startControlledModel } from '../../../controlled/controlled-model.js';
import { nativeDomain } from '../../../controlled/native-domain.js';
import { temporaryFolder } from '../../../temporary-folder.js';
import { recordingStream } from '../../streams.js';

const SMALL = ['fidelity.questions=20', 'fidelity.episodes=12', 'fidelity.rank.episodes=1', 'fidelity.rank.policies=8'];

let out: string;
const open: { close: () => Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

function fresh(): string {
  out = temporaryFolder('tools-compared');
  return out;
}

/** Settings of a language model of known errors. */
async function erring() {
  const domain = await nativeDomain('helpdesk');
  const model = await startControlledModel({ domain, seed: 5, transitionError: 0.3, silentShare: 0 });
  open.push(model);
  const llm = ['llm.provider=openai-compatible', `llm.url=${model.url}`, 'llm.model=controlled'];
  return { model, set: [...llm, 'model.backends=[llm]'] };
}

function judge(inputs: JobInputs, set: readonly string[] = [], scenario = 'helpdesk'): Promise<FidelityResult> {
  const jobs = { tools: async () => toolsFidelityJob };
  const options = { scenario, seed: 1, stream: recordingStream(), command: 'reverie', quiet: true };
  return launch('fidelity', { jobs: jobs, ...options, set: [...SMALL, ...set], inputs, out: join(out, 'judged') });
}

function report() {
  const file = join(out, 'judged', 'fidelity.json');
  return openFidelityReport(readFileSync(file, 'utf8'), file);
}

async function reports(): Promise<readonly SubjectReport[]> {
  return report().subjects;
}

function sectionOf({ sections }: SubjectReport, id: string) {
  return sections.find((section) => section.id === id)!;
}

function estimateOf(report: SubjectReport, name: string) {
  const [section, key] = name.split('.');
  return sectionOf(report, section).metrics.find((metric) => metric.key === key)!.estimate;
}

it('a language model that errs is found to, beside the exact rules', async () => {
  fresh();
  const { set } = await erring();
  const sections = 'fidelity.sections=[k-steps, reward-end, rank]';
  await judge({}, [...set, sections, 'fidelity.subjects=[{name: rules, model: {backends: [rules]}}]']);
  const [llm, own] = await reports();
  expect([llm.kind, own.kind, llm.name, own.name]).toEqual(['router', 'router', 'helpdesk', 'rules']);
  for (const name of ['k-steps.observation-right', 'k-steps.end-state']) {
    expect(estimateOf(llm, name).value, name).toBeLessThan(1);
    expect(estimateOf(own, name).value, name).toBe(1);
  }
  // The simulator fails the spoiled episodes, which have no reward.
  const [judged, all] = [llm, own].map((one) => estimateOf(one, 'reward-end.reward-exact').n);
  expect(judged).toBeLessThan(all);
  expect(estimateOf(llm, 'k-steps.divergence-rate').n).toBeGreaterThan(10);
  // Both ran the same episodes, so that they are compared episode by episode.
  const pairs = [llm, own].map(({ samples }) => samples['reward-end.reward-exact'].length);
  expect(pairs).toEqual([12, 12]);
});

it.each(['model', 'compare'])('--%s, which is of other families, is refused', async (name) => {
  fresh();
  const refused = judge({ [name]: name === 'model' ? out : [out] });
  const message = expect.stringMatching(/fidelity\.subjects/);
  await expect(refused).rejects.toMatchObject({ code: 'FLAG_INVALID', message });
});

it('names are taken once: a number tells folders and URLs apart, and a scenario is refused', async () => {
  const named = uniquelyNamed(['a', 'b', 'a', 'a 2', 'a'].map((name) => ({ name })));
  expect(named.map(({ name }) => name)).toEqual(['a', 'b', 'a 2', 'a 2 2', 'a 3']);
  fresh();
  const refused = judge({}, ['fidelity.subjects=[{name: a}, {name: b}, {name: a}]']);
  await expect(refused).rejects.toMatchObject({ code: 'SCENARIO_INVALID', message: expect.stringMatching(/"a"/) });
});

it('a spent budget ends the judging with what was measured, and resuming it asks for what is missing alone', async () => {
  fresh();
  const { model, set: llm } = await erring();
  const set = [...llm, 'fidelity.sections=[one-step]', 'workers=1'];
  const asked = () => [...model.asked.values()].reduce((sum, count) => sum + count, 0);
  await judge({}, set);
  const [whole, calls] = [await reports(), asked()];
  rmSync(join(out, 'judged'), { recursive: true });
  const spent = { code: 'BUDGET_SPENT', hint: expect.stringMatching(/--resume/) };
  await expect(judge({}, [...set, `synth.budget.calls=${calls - 1}`])).rejects.toMatchObject(spent);
  const { incomplete, subjects } = report();
  expect(incomplete).toMatch(/budget of calls is spent/);
  expect(subjects[0].samples).toEqual({});
  expect(sectionOf(subjects[0], 'one-step').notes[0]).toMatch(/^A budget was spent: only \d+ of \d+ parts/);
  expect(readFileSync(join(out, 'judged', 'fidelity.html'), 'utf8')).toContain(incomplete);
  const again = { resume: join(out, 'judged'), stream: recordingStream(), command: 'reverie', quiet: true };
  await launch('fidelity', { jobs: { tools: async () => toolsFidelityJob }, ...again });
  expect(await reports()).toEqual(whole);
  expect(asked()).toBe(2 * calls);
});
