// The thread of a sandbox that can be killed: boots QuickJS around a rules file and answers one request after another. Whoever
// asks sleeps until the answer is there.

import { workerData } from 'node:worker_threads';
import { answerOn, type ThreadLine } from '../../../core/threads.js';
import { Interpreter, loadQuickJs, type RulesProgram, SandboxFailure } from './interpreter.js';

/** What comes back: the answer as the sandbox wrote it, or why there is none. */
export type ThreadReply =
  | { readonly text: string }
  | { readonly failed: string; readonly reason: SandboxFailure['reason'] };

const { program, line } = workerData as { readonly program: RulesProgram; readonly line: ThreadLine };

function reply(work: () => string): void {
  answerOn(line, replyOf(work));
}

function replyOf(work: () => string): ThreadReply {
  try {
    return { text: work() };
  } catch (error) {
    const reason = error instanceof SandboxFailure && error.reason !== 'doubt' ? error.reason : 'died';
    return { failed: (error as Error).message, reason };
  }
}

const quickJs = await loadQuickJs(program.limits);
let interpreter: Interpreter | undefined;
reply(() => {
  interpreter = new Interpreter(quickJs, program, false);
  return '';
});
line.port.on('message', (request: string) => reply(() => interpreter!.ask(request)));
