// The `mcp` package of Python, unmodified. It comes into test/.cache, once; where pip cannot have it the test says so and skips.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningServer } from '../../../../src/serve/index.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../../python-client.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

const script = fileURLToPath(new URL('./mcp-client.py', import.meta.url));

let server: RunningServer;
let client: PythonClient | string;

beforeAll(async () => {
  client = await pythonClient('mcp');
  server = await serveScenarios(['helpdesk']);
}, INSTALL_TIME);
afterAll(() => server.stop(0));

// `auto` asks first for a newer protocol, which this server does not speak, and goes back to the handshake.
it.for(['legacy', 'auto'])(
  'solves helpdesk in mode %s, and sees its reward beside the results',
  async (mode, context) => {
    if (typeof client === 'string') return context.skip(client);
    const { calls, say } = helpdeskReference('unlock-after-holiday');
    const all = [...calls, { name: 'respond_to_user', arguments: { content: say } }];
    const url = `${server.url}/mcp/helpdesk?task=unlock-after-holiday`;
    // biome-ignore lint/suspicious/noExplicitAny: what Python printed
    const seen: any = await client.run(script, { url, calls: all, mode });
    expect(seen.tools).toContain('respond_to_user');
    expect(seen.opening).toContain('Marta Teixeira');
    expect(seen.steps.map(({ error }: { error: boolean }) => error)).toEqual(all.map(() => false));
    expect(seen.steps.at(-1).meta).toMatchObject({ 'reverie/reward': 1, 'reverie/done': true });
  },
);
