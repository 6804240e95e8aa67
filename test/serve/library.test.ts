// `reverie/serve` as a program of one's own uses it: an environment that the package does not know, served to trainers.

import { expect, it } from 'vitest';
import type { Environment } from '../../src/core/environment.js';
import { discreteSpace } from '../../src/env/space-values.js';
import { type Servable, startServer } from '../../src/serve/index.js';
import { temporaryFolder } from '../temporary-folder.js';
import { ask } from './running-server.js';

/** Guess a number from 0 to 9; the observation says how far the guess was off. */
function guessing(): Environment<Float32Array, Float32Array> {
  let [secret, off] = [0, 9];
  const space = discreteSpace(10);
  return {
    id: 'guess',
    family: 'vector',
    observationSpace: space,
    actionSpace: space,
    reset: ({ seed = 0 } = {}) => {
      [secret, off] = [seed % 10, 9];
      return { observation: Float32Array.of(off), info: {} };
    },
    step: ([guess]) => {
      off = Math.abs(guess - secret);
      const terminated = off === 0;
      return { observation: Float32Array.of(off), reward: terminated ? 1 : 0, terminated, truncated: false, info: {} };
    },
    snapshot: () => ({ env: 'guess', state: { secret, off } }),
    restore: ({ state }) => {
      ({ secret, off } = state as { secret: number; off: number });
      return Float32Array.of(off);
    },
    close: () => {},
  };
}

it('serves environments of one’s own', async () => {
  let closed = 0;
  const { observationSpace, actionSpace } = guessing();
  const served: Servable = {
    name: 'guess',
    family: 'vector',
    description: 'Guess a number.',
    source: 'real',
    version: '1',
    observationSpace,
    actionSpace,
    tools: [],
    policy: '',
    tasks: [],
    make: async () => guessing(),
    close: async () => {
      closed++;
    },
  };
  const folder = temporaryFolder('serve');
  const server = await startServer({ scenarios: [], environments: [served], folder, port: 0, log: () => {} });
  const { body } = await ask(`${server.url}/v1/sessions`, {});
  const session = `${server.url}/v1/sessions/${body.id}`;
  await ask(`${session}/reset`, { seed: 7 });
  expect((await ask(`${session}/step`, { action: 5 })).body).toMatchObject({ observation: [2], reward: 0 });
  expect((await ask(`${session}/step`, { action: 7 })).body).toMatchObject({ reward: 1, terminated: true });
  await server.stop(0);
  expect(closed).toBe(1);
  const own = { scenarios: [], folder, log: () => {} };
  const unnamed = startServer({ ...own, environments: [{ ...served, name: 'no name' }], port: 0 });
  await expect(unnamed).rejects.toMatchObject({ code: 'ENV_NAME_INVALID' });
  const unreachable = startServer({ ...own, environments: [served], host: 'nowhere.invalid' });
  await expect(unreachable).rejects.toMatchObject({ code: 'ADDRESS_UNUSABLE' });
  expect(closed).toBe(3);
});
