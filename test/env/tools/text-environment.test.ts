// Family text over the same core: a house of two rooms.

import { afterAll, expect, test } from 'vitest';
import { checkEnvironment, describeReport } from '../../../src/env/check-environment.js';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { textEnvironment } from '../../../src/env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import { fixture, loadLibrary, rulesEnvironment } from './library.js';

const domain = await loadDomain(fixture('cellar'));
afterAll(() => domain.close());

function makeCellar(maxSteps = 20) {
  const responder = rulesResponder(domain);
  const user = new ScriptedUser();
  return textEnvironment(new ToolsEpisodeEnvironment({ id: 'cellar', domain, responder, user, maxSteps }));
}

test('a line of text is answered by a line of text, until the goal is reached', async () => {
  const env = makeCellar();
  const start = await env.reset({ seed: 1 });
  expect(start.observation).toBe('You are in the hall. Bring the lamp to the cellar.');
  expect(start.info.admissible).toEqual(['take lamp', 'go cellar']);
  const nothing = await env.step('dance');
  expect(nothing).toMatchObject({ observation: 'Error: Nothing happens.', reward: 0, terminated: false });
  await env.step('take lamp');
  const moved = await env.step('go cellar');
  expect(moved.observation).toBe('You are in the cellar.');
  expect(moved.info.admissible).toEqual(['go hall', 'drop lamp']);
  const end = await env.step('drop lamp');
  expect(end).toMatchObject({ reward: 1, terminated: true, truncated: false });
  expect(end.info.verdict).toMatchObject({ reward: 1 });
  await expect(env.step('go hall')).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
});

test('reaching the goal with the last step is an end, not a truncation', async () => {
  const env = makeCellar(3);
  await env.reset();
  await env.step('take lamp');
  await env.step('go cellar');
  expect(await env.step('drop lamp')).toMatchObject({ reward: 1, terminated: true, truncated: false });
  await env.reset();
  for (const action of ['take lamp', 'drop lamp']) await env.step(action);
  expect(await env.step('go cellar')).toMatchObject({ reward: 0, terminated: false, truncated: true });
});

test('the checker finds it sound', async () => {
  for (const actions of [undefined, ['go cellar', 'go hall', 'take lamp', 'go cellar', 'drop lamp']]) {
    const report = await checkEnvironment(() => makeCellar(), { actions, steps: 24 });
    expect(report.passed, describeReport(report)).toBe(true);
    expect(report.checks.filter(({ skipped }) => skipped !== undefined)).toEqual([]);
  }
});

test('snapshots of other families and domains of other tools are refused', async () => {
  const env = makeCellar();
  await env.reset();
  const snapshot = env.tools.snapshot();
  expect(() => env.restore(snapshot)).toThrow(expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }));
  const library = await loadLibrary();
  expect(() => textEnvironment(rulesEnvironment(library))).toThrow(/the one tool "act"/);
  library.close();
});
