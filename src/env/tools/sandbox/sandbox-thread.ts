// The thread of a sandbox that can be killed: boots QuickJS around a rules file and answers one request after another. Whoever
// asks sleeps until the signal is set.

import { type MessagePort, workerData } from 'node:worker_threads';
import { Interpreter, loadQuickJs, type RulesProgram, SandboxFailure } from './interpreter.js';

/** What the thread is given. */
export interface ThreadData {
  readonly program: RulesProgram;
  readonly port: MessagePort;
  /** One 32-bit integer: 1 once an answer lies in the port. */
  readonly signal: SharedArrayBuffer;
}

/** What comes back: the answer as the sandbox wrote it, or why there is none. */
export type ThreadReply =
  | { readonly text: string }
  | { readonly failed: string; readonly reason: SandboxFailure['reason'] };

const { program, port, signal } = workerData as ThreadData;
const flag = new Int32Array(signal);

function reply(work: () => string): void {
  try {
    port.postMessage({ text: work() } satisfies ThreadReply);
  } catch (error) {
    const reason = error instanceof SandboxFailure && error.reason !== 'doubt' ? error.reason : 'died';
    port.postMessage({ failed: (error as Error).message, reason } satisfies ThreadReply);
  }
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

const quickJs = await loadQuickJs();
let interpreter: Interpreter | undefined;
reply(() => {
  interpreter = new Interpreter(quickJs, program, false);
  return '';
});
port.on('message', (request: string) => reply(() => interpreter!.ask(request)));
