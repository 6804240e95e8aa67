// Starts the controlled language model of a scenario in a process of its own.

import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface ControlledServer {
  readonly url: string;
  close(): void;
}

/** @param folder of the scenario's files; of τ-bench's airline (first release), of its data */
export async function startControlledServer(scenario: string, folder: string): Promise<ControlledServer> {
  const child = fork(new URL('./controlled-server-process.js', import.meta.url), [scenario, folder]);
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the controlled server ended with ${code} before it was ready`);
  });
  const [url] = (await Promise.race([once(child, 'message'), failed])) as [string];
  failed.catch(() => {});
  return { url, close: () => child.disconnect() };
}
