// A sandbox in a thread of its own, for what no limit of QuickJS ends: a thread that does not answer is ended and another one
// started. Asking it wakes two threads a call, so only calls in doubt come here.

import { AskedThread } from '../../../core/asked-thread.js';
import { compiledUrl } from '../../../core/worker-url.js';
import { type RulesProgram, SandboxFailure } from './interpreter.js';
import type { ThreadReply } from './sandbox-thread.js';

/** Beyond its limit of time, before a thread counts as hanging. */
const GRACE_MS = 2_500;
/** For a thread to start, on a machine that is busy. */
const BOOT_MS = 30_000;
const STACK_MB = 16;

const WORKER_URL = new URL(compiledUrl(import.meta.url, './sandbox-thread.js'));

export class KillableSandbox {
  private thread: AskedThread<ThreadReply> | undefined;
  private starts = 0;
  private closed = false;

  constructor(
    private readonly program: RulesProgram,
    private readonly graceMs = GRACE_MS,
  ) {}

  /** Which thread will answer, the first being 1: another one has forgotten all that was sent. @throws SandboxFailure */
  get generation(): number {
    this.thread ??= this.start();
    return this.starts;
  }

  /** The answer to a request of `SANDBOX_PROGRAM`, both JSON. Blocks until it is there. @throws SandboxFailure */
  ask(request: string): string {
    this.thread ??= this.start();
    return textOf(this.thread.ask(request, this.program.limits.milliseconds + this.graceMs));
  }

  /** Forgets all that was sent. */
  restart(): void {
    this.thread?.end();
    this.thread = undefined;
  }

  close(): void {
    this.closed = true;
    this.restart();
  }

  private start(): AskedThread<ThreadReply> {
    if (this.closed) throw new SandboxFailure('died', 'the domain was closed');
    const limits = { env: {}, resourceLimits: { stackSizeMb: STACK_MB } };
    this.thread = new AskedThread(WORKER_URL, { program: this.program }, limits);
    this.starts += 1;
    textOf(this.thread.receive(BOOT_MS));
    return this.thread;
  }
}

function textOf(reply: ThreadReply | undefined): string {
  if (reply === undefined) throw new SandboxFailure('clock', 'it ran too long and was stopped');
  if ('text' in reply) return reply.text;
  throw new SandboxFailure(reply.reason, reply.failed);
}
