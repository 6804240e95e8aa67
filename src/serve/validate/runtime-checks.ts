// The six checks of `openenv validate --url`: the routes are there and answer in their form.

import { isObject } from './server-client.js';
import { type Check, CheckFailed, type Server } from './validate-contract.js';

type Fault = (body: Record<string, unknown>) => string | undefined;

export const RUNTIME_CHECKS: readonly Check[] = [
  route('openapi', '/openapi.json', ({ info }) =>
    isObject(info) && typeof info['version'] === 'string' ? undefined : 'info.version is no text',
  ),
  route('health', '/health', ({ status }) => (status === 'healthy' ? undefined : 'status is not "healthy"')),
  route('metadata', '/metadata', ({ name, description }) =>
    typeof name === 'string' && typeof description === 'string' ? undefined : 'name and description are not both texts',
  ),
  route('schema', '/schema', (body) => {
    const missing = ['action', 'observation', 'state'].filter((key) => !isObject(body[key]));
    return missing.length === 0 ? undefined : `no schema of ${missing.join(', ')}`;
  }),
  {
    name: 'mcp',
    run: async ({ server }) =>
      answers(server, '/mcp', {}, ({ jsonrpc }) => (jsonrpc === '2.0' ? undefined : 'jsonrpc is not "2.0"')),
  },
  route('modes', '/openapi.json', ({ paths }) => {
    const there = ['/reset', '/step', '/state'].filter((path) => isObject(paths) && path in paths);
    return there.length === 3 || (there.length === 0 && isObject(paths) && Object.keys(paths).length > 0)
      ? undefined
      : `of /reset, /step and /state, paths has ${there.join(', ') || 'none'}`;
  }),
];

function route(name: string, path: string, fault: Fault): Check {
  return { name, run: ({ server }) => answers(server, path, undefined, fault) };
}

async function answers(server: Server, path: string, sent: unknown, fault: Fault): Promise<string> {
  const { status, body } = await server.ask(path, sent);
  const method = sent === undefined ? 'GET' : 'POST';
  if (status !== 200) throw new CheckFailed(`${method} ${path} answers status ${status}`);
  if (!isObject(body)) throw new CheckFailed(`${method} ${path} answers no JSON object`);
  const problem = fault(body);
  if (problem !== undefined) throw new CheckFailed(`${method} ${path}: ${problem}`);
  return `${method} ${path}`;
}
