// Where rules that are not trusted run: in the thread that asks, and in one that can be killed for what might take too long.

import type { QuickJSWASMModule } from 'quickjs-emscripten';
import { AskedThread, compiledUrl } from '../../../core/threads.js';
import { Interpreter, loadQuickJs, type RulesProgram, SandboxFailure } from './interpreter.js';
import type { ThreadReply } from './sandbox-thread.js';

/**
 * A sandbox in the thread that asks: no message, no waiting. What might take longer than it could end is left to another
 * (`doubt`), and an interpreter that ran out of anything is thrown away with all it holds.
 */
export class Sandbox {
  private interpreter: Interpreter | undefined;
  private starts = 0;
  private closed = false;

  private constructor(
    private readonly program: RulesProgram,
    /** Absent while a broken one is being replaced. */
    private quickJs: QuickJSWASMModule | undefined,
  ) {}

  static async open(program: RulesProgram): Promise<Sandbox> {
    return new Sandbox(program, await loadQuickJs(program.limits));
  }

  /** Which interpreter will answer, the first being 1: another one has forgotten all that was sent. @throws SandboxFailure */
  get generation(): number {
    this.start();
    return this.starts;
  }

  /** The answer to a request of `SANDBOX_PROGRAM`, both JSON. @throws SandboxFailure */
  ask(request: string): string {
    try {
      return this.start().ask(request);
    } catch (error) {
      // Memory that QuickJS ran out of is not given back in whole.
      if (error instanceof SandboxFailure && (error.reason === 'doubt' || error.reason === 'memory')) this.replace();
      throw error;
    }
  }

  /** Forgets all that was sent. */
  restart(): void {
    try {
      this.interpreter?.dispose();
    } catch {
      this.replace();
    }
    this.interpreter = undefined;
  }

  /** QuickJS itself may be broken. */
  private replace(): void {
    this.interpreter = undefined;
    this.quickJs = undefined;
    if (this.closed) return;
    void loadQuickJs(this.program.limits).then((loaded) => {
      this.quickJs = loaded;
    });
  }

  close(): void {
    this.closed = true;
    this.restart();
    this.quickJs = undefined;
  }

  private start(): Interpreter {
    if (this.closed) throw new SandboxFailure('died', 'the domain was closed');
    if (this.interpreter !== undefined) return this.interpreter;
    if (this.quickJs === undefined) throw new SandboxFailure('doubt', 'the sandbox is being replaced');
    this.starts += 1;
    this.interpreter = new Interpreter(this.quickJs, this.program, true);
    return this.interpreter;
  }
}

/** Beyond its limit of time, before a thread counts as hanging. */
const GRACE_MS = 2_500;
/** For a thread to start, on a machine that is busy. */
const BOOT_MS = 30_000;
const STACK_MB = 16;

const WORKER_URL = new URL(compiledUrl(import.meta.url, './sandbox-thread.js'));

/**
 * A sandbox in a thread of its own, for what no limit of QuickJS ends: a thread that does not answer is ended and another one
 * started. Asking it wakes two threads a call, so only calls in doubt come here.
 */
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
