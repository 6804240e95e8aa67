// OpenEnv's own server, of its package, as the real environment: seeds, crowds, time, death.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { act, begin, environmentOf, on } from './episodes.js';
import { PythonServers, pythonOf } from './python-server.js';

const python = await pythonOf('openenv');
const say = (message: string) => ({ name: 'take_action', arguments: { message } });

let servers: PythonServers;
beforeAll(() => {
  if (python !== undefined) servers = new PythonServers(python, 'openenv_servers.py');
});
afterAll(() => servers?.close());

describe.skipIf(python === undefined)("OpenEnv's own server", () => {
  let url: string;
  beforeAll(async () => {
    url = await servers.start('echo 4');
  }, 60_000);

  it('is a domain of the one tool that takes its actions, and pays as the server does', async () => {
    await on({ openenv: url }, async (domain) => {
      expect(domain.id).toBe('EchoEnvironment');
      expect(domain.tools.map(({ name, parameters }) => [name, parameters.required])).toEqual([
        ['take_action', ['message']],
      ]);
      const env = environmentOf(domain);
      expect(await begin(env, 1)).toMatch(/^ready \d+$/);
      const first = await act(env, say('abc'));
      expect(first).toMatchObject({ text: expect.stringMatching(/^abc \d+$/), ended: false });
      expect(first.reward).toBeCloseTo(0.3);
      const last = await act(env, say('stop'));
      expect(last.ended).toBe(true);
      expect(last.verdict).toBeCloseTo(0.7);
    });
  });

  it('may be slow: the episode is lost, and the next one goes on', async () => {
    await on({ openenv: url, timeoutSeconds: 1 }, async (domain) => {
      const env = environmentOf(domain);
      await begin(env, 1);
      await expect(act(env, say('slow'))).rejects.toMatchObject({
        code: 'EPISODE_LOST',
        values: { retryable: true, calls: 0 },
      });
      expect(await begin(env, 1)).toMatch(/^ready/);
    });
  });

  it('may die: once it is back the episode goes on where it was', async () => {
    await on({ openenv: url, patienceSeconds: 20 }, async (domain) => {
      const lived = async (between: () => Promise<void>) => {
        const env = environmentOf(domain);
        const seen = [await begin(env, 7), (await act(env, say('a'))).text];
        await between();
        seen.push((await act(env, say('b'))).text);
        return seen;
      };
      const whole = await lived(async () => {});
      expect(await lived(() => servers.restart(url, 'echo 4'))).toEqual(whole);
    });
  });
});
