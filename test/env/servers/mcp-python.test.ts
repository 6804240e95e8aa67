// A server of MCP as a process of ours, of its Python package: a session is a process, and one that died is begun again.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { act, begin, environmentOf, on } from './episodes.js';
import { pythonOf } from './python-server.js';

const python = await pythonOf('mcp');
const SCRIPT = fileURLToPath(new URL('./fixtures/mcp_server.py', import.meta.url));
const FAULTS = fileURLToPath(new URL('./fixtures/mcp-faults.mjs', import.meta.url));
const put = (thing: string) => ({ name: 'put', arguments: { thing } });
const look = { name: 'look', arguments: {} };

it.each([
  ['none', 'SERVER_FAULT', /refused tools\/list: .*Method not found/],
  ['empty', 'SERVER_FAULT', /nothing that an agent could call/],
  ['fails', 'SERVER_FAULT', /the database is down/],
  ['hangs', 'REMOTE_TIMEOUT', /within 2 s: tools\/list/],
  ['dies', 'SERVER_UNREACHABLE', /tools\/list: .*Connection closed/],
  ['garbled', 'SERVER_FAULT', /tools\.0\.inputSchema/],
])('a server of MCP whose list of tools %s is a fault of the server', async (how, code, message) => {
  const spec = { mcp: [process.execPath, FAULTS, how], timeoutSeconds: 2 };
  const error = await on(spec, async () => undefined).catch((thrown) => thrown);
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
});

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
