// Taking a step back without a snapshot, and going on from a snapshot with a seed of one's own.

import { afterAll, expect, test } from 'vitest';
import { loadDomain } from '../../src/env/tools/load-domain.js';
import { textEnvironment } from '../../src/env/tools/text-environment.js';
import { fixture, loadLibrary, rulesEnvironment, SOLUTION } from './tools/library.js';

const library = await loadLibrary();
const cellar = await loadDomain(fixture('cellar'));
afterAll(() => {
  library.close();
  cellar.close();
});

test('an episode of tools is as it was, and so is the stream of its seeds', async () => {
  const env = rulesEnvironment(library);
  const unbegun = env.mark();
  const { info } = await env.reset();
  unbegun();
  expect(() => env.messages).toThrow(expect.objectContaining({ code: 'ENV_NOT_RESET' }));
  expect((await env.reset()).info).toEqual(info);
  await env.step(SOLUTION[0]);
  const before = JSON.stringify(env.snapshot());
  const takeBack = env.mark();
  const step = await env.step(SOLUTION[1]);
  takeBack();
  expect(JSON.stringify(env.snapshot())).toBe(before);
  expect(await env.step(SOLUTION[1])).toEqual(step);
  const again = env.mark();
  await env.reset({ seed: 8 });
  again();
  expect(env.messages).toHaveLength(6);
});

test('an episode of text too, its end included', async () => {
  const env = textEnvironment(rulesEnvironment(cellar));
  await env.reset({ seed: 1 });
  for (const action of ['take lamp', 'go cellar']) await env.step(action);
  const takeBack = env.mark();
  const end = await env.step('drop lamp');
  expect(end.terminated).toBe(true);
  takeBack();
  expect(await env.step('drop lamp')).toEqual(end);
});
