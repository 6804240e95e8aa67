// A server on a free loopback port, for one test file.

import { loadAnyScenario } from '../../src/run/scenario.js';
import { type RunningServer, type ServeOptions, startServer } from '../../src/serve/index.js';
import { temporaryFolder } from '../temporary-folder.js';

/** Users who speak in one way alone: what a test says answers all that they ask. */
const ONE_WAY = ['user.varied=false'];

/** Serves these scenarios; whoever asks stops it. */
export async function serveScenarios(
  names: readonly string[],
  options: Partial<ServeOptions> = {},
): Promise<Promise<RunningServer>> {
  const folder = temporaryFolder('serve');
  const scenarios = await Promise.all(
    names.map((name) => loadAnyScenario(name, { set: name === 'helpdesk' ? ONE_WAY : [] })),
  );
  // Threads take a while to start; what is tested of them is in hosts/.
  return startServer({ scenarios, folder, port: 0, workers: 0, log: () => {}, ...options });
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
  readonly body: any;
}

/** POSTs (or GETs, without a body) JSON. */
export async function ask(url: string, body?: unknown, method = body === undefined ? 'GET' : 'POST'): Promise<Answer> {
  const reply = await fetch(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) };
}
