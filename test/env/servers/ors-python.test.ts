// A server of the Python package of the Open Reward Standard as the real environment.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { act, begin, environmentOf, on } from './episodes.js';
import { PythonServers, pythonOf } from './python-server.js';

const python = await pythonOf('ors');
const guess = (number: number) => ({ name: 'guess', arguments: { number } });

describe.skipIf(python === undefined)('a server of ors-sdk', () => {
  let servers: PythonServers;
  let url: string;
  beforeAll(async () => {
    servers = new PythonServers(python!, 'ors_servers.py');
    url = await servers.start('');
  }, 60_000);
  afterAll(() => servers?.close());

  it('has its tasks of every split, its tools, and pays the last of its rewards', async () => {
    await on({ ors: url }, async (domain) => {
      expect(domain.tasks.map(({ id, split }) => [id, split])).toEqual([
        ...[0, 1, 2, 3, 4].map((n) => [`train-${n}`, 'train']),
        ...[0, 1].map((n) => [`test-${n}`, 'test']),
      ]);
      expect(domain.tools.map(({ name }) => name)).toEqual(['guess']);
      const env = environmentOf(domain);
      expect(await begin(env, 1, 'train-3')).toBe('Guess a number from 0 to 9.');
      expect(await act(env, guess(1))).toEqual({ text: 'higher', reward: 0, ended: false });
      expect(await act(env, guess(3))).toEqual({ text: 'right', reward: 0.5, ended: true, verdict: 0.5 });
    });
  });

  it('is gone on with after its death', async () => {
    await on({ ors: url }, async (domain) => {
      const env = environmentOf(domain);
      await begin(env, 1, 'train-3');
      await act(env, guess(9));
      await servers.restart(url, '');
      expect(await act(env, guess(3))).toMatchObject({ text: 'right', verdict: 0.5 });
    });
  });
});
