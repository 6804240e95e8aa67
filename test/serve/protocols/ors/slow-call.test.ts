// A step that takes its time, over the wire: the stream is kept alive, may break, and is taken up again.

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadAnyScenario } from '../../../../src/run/scenario.js';
import { openServable, type Servable } from '../../../../src/run/servable.js';
import { Sessions } from '../../../../src/serve/core/sessions.js';
import { makeApp } from '../../../../src/serve/http/app.js';
import { makeOrsRoutes } from '../../../../src/serve/protocols/ors.js';
import { temporaryFolder } from '../../../temporary-folder.js';
import { eventsOf, parseEvents } from './sse-events.js';

let app: FastifyInstance;
let sessions: Sessions;
let served: Servable;
let url: string;
let open: () => void;
const gate = new Promise<void>((resolve) => {
  open = resolve;
});

/** Its steps wait for the gate. */
function slow(real: Servable): Servable {
  const make = async () => {
    const environment = await real.make();
    const step = environment.step.bind(environment);
    return Object.assign(environment, {
      step: async (action: unknown) => {
        await gate;
        return step(action);
      },
    });
  };
  return { ...real, make };
}

beforeAll(async () => {
  const folder = temporaryFolder('slow');
  served = slow(await openServable(await loadAnyScenario('helpdesk'), { folder, log: () => {} }));
  sessions = new Sessions([served]);
  app = await makeApp({ sessions, protocols: [makeOrsRoutes(0.02)], version: '0' });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await sessions.drain(0);
  // The client may have opened one ahead of need.
  app.server.closeAllConnections();
  await app.close();
  await served.close();
});

function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-session-id': 'slow' };
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

it('pings, and answers whoever comes back with its task id; one step was taken', async () => {
  expect((await post('/create', { split: 'train', index: 0 })).status).toBe(200);
  const call = { name: 'get_employee', input: { employee_id: 'EMP-1042' } };
  const leave = new AbortController();
  const broken = await post('/call', call, leave.signal);
  expect(broken.headers.get('content-type')).toContain('text/event-stream');
  let seen = '';
  for await (const part of broken.body!.pipeThrough(new TextDecoderStream())) {
    seen += part;
    if (seen.split(': ping\n\n').length > 3) break;
  }
  leave.abort();
  const [{ event, data }] = parseEvents(seen);
  expect(event).toBe('task_id');

  const again = post('/call', { ...call, task_id: data });
  open();
  const events = await eventsOf(await again);
  expect(events[0]).toEqual({ event: 'task_id', data });
  const { output } = JSON.parse(
    events
      .slice(1)
      .map((one) => one.data)
      .join(''),
  );
  expect(output.blocks[0].text).toContain('EMP-1042');
  expect(sessions.state('slow', 'local').stepCount).toBe(1);
});
