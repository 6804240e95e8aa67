// A server in a process of its own: ours of scenarios, or bare fastify that answers with a payload of the same shape.
// Told what to be by its parent; answers with its URL. Ours tells its memory, and replaces a worker's thread, when asked.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { loadAnyScenario } from '../src/run/scenario.js';
import { type RunningServer, startServer } from '../src/serve/index.js';

export interface ServerWish {
  readonly kind: 'ours' | 'bare';
  readonly scenarios?: readonly string[];
  readonly workers?: number;
  /** Episodes under way at most. */
  readonly slots?: number;
  /** What the bare one answers. */
  readonly payload?: unknown;
}

/** To ours, once it runs. */
export type ServerRequest = { readonly kind: 'memory' } | { readonly kind: 'restart'; readonly worker: number };

export interface ServerMemory {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly restarts: readonly number[];
}

let running: RunningServer | undefined;

async function ours({ scenarios = ['pendulum'], workers, slots }: ServerWish): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-serve-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  running = await startServer({
    scenarios: await Promise.all(scenarios.map((name) => loadAnyScenario(name))),
    folder,
    port: 0,
    log: () => {},
    ...(workers === undefined ? {} : { workers }),
    ...(slots === undefined ? {} : { limits: { slots } }),
  });
  return running.url;
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

async function asked(request: ServerWish | ServerRequest): Promise<unknown> {
  switch (request.kind) {
    case 'ours':
      return ours(request);
    case 'bare':
      return bare(request);
    case 'restart':
      await running?.workerHost?.restart(request.worker);
      return 'restarted';
    case 'memory': {
      const { rss, heapUsed } = process.memoryUsage();
      const restarts = running?.workerHost?.stats.restarts ?? [];
      return { rssBytes: rss, heapBytes: heapUsed, restarts } satisfies ServerMemory;
    }
  }
}

process.on('message', async (request: ServerWish | ServerRequest) => process.send!((await asked(request)) as object));
process.on('disconnect', () => process.exit());
