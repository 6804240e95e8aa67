// A server of the Python package of MCP, as a process of ours: a session is a process, and one that died is begun again.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { act, begin, environmentOf, on } from './episodes.js';
import { pythonOf } from './python-server.js';

const python = await pythonOf('mcp');
const SCRIPT = fileURLToPath(new URL('./fixtures/mcp_server.py', import.meta.url));
const put = (thing: string) => ({ name: 'put', arguments: { thing } });
const look = { name: 'look', arguments: {} };

describe.skipIf(python === undefined)('a server of MCP as a process', () => {
  it('has tools, instructions, sessions of their own, and no rewards', async () => {
    await on({ mcp: [python!, SCRIPT], sessions: 2 }, async (domain) => {
      expect(domain.tools.map(({ name }) => name)).toEqual(['put', 'look']);
      expect(domain.policy).toContain('Put things on the shelf');
      const [one, other] = [environmentOf(domain, 3), environmentOf(domain, 3)];
      await Promise.all([begin(one, 1), begin(other, 2)]);
      await act(one, put('book'));
      expect([(await act(other, look)).text, (await act(one, look)).text]).toEqual(['empty', 'book']);
      expect((await act(one, put(''))).text).toMatch(/Error executing tool put/);
      expect(await act(one, look).catch((error) => error.code)).toBe('ENV_NOT_RESET');
    });
  }, 60_000);

  it('that dies is begun again as often as makes sense, and then the episode is lost', async () => {
    await on({ mcp: [python!, SCRIPT] }, async (domain) => {
      const env = environmentOf(domain);
      await begin(env, 1);
      await act(env, put('book'));
      await expect(act(env, put('bomb'))).rejects.toMatchObject({ code: 'EPISODE_LOST', values: { calls: 1 } });
      expect((await act(env, look)).text).toBe('book');
    });
  }, 60_000);
});
