// A server in a process of its own: ours of scenarios, or bare fastify that answers with a payload of the same shape.
// Told what to be by its parent; answers with its URL.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { loadAnyScenario } from '../src/run/scenario.js';
import { startServer } from '../src/serve/index.js';

export interface ServerWish {
  readonly kind: 'ours' | 'bare';
  readonly scenarios?: readonly string[];
  /** Episodes under way at most. */
  readonly slots?: number;
  /** What the bare one answers. */
  readonly payload?: unknown;
}

async function ours({ scenarios = ['pendulum'], slots }: ServerWish): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-serve-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { url } = await startServer({
    scenarios: await Promise.all(scenarios.map((name) => loadAnyScenario(name))),
    folder,
    port: 0,
    log: () => {},
    ...(slots !== undefined && { limits: { slots } }),
  });
  return url;
}

async function bare({ payload }: ServerWish): Promise<string> {
  const app = Fastify({ logger: false });
  const schema = {
    body: {
      type: 'object',
      properties: { action: { type: 'array', items: { type: 'number' } } },
      required: ['action'],
    },
  };
  app.post('/v1/sessions/:id/step', { schema }, async () => payload);
  return app.listen({ host: '127.0.0.1', port: 0 });
}

process.on('message', async (wish: ServerWish) => process.send!(await (wish.kind === 'ours' ? ours : bare)(wish)));
process.on('disconnect', () => process.exit());
