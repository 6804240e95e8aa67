// A sandbox in a thread of its own, for what no limit of QuickJS ends: a thread that does not answer is ended and another one
// started. Asking it wakes two threads a call, so only calls in doubt come here.

import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { compiledUrl } from '../../../core/worker-url.js';
import { type RulesProgram, SandboxFailure } from './interpreter.js';
import type { ThreadData, ThreadReply } from './sandbox-thread.js';

/** Beyond its limit of time, before a thread counts as hanging. */
const GRACE_MS = 2_500;
/** For a thread to start, on a machine that is busy. */
const BOOT_MS = 30_000;
const STACK_MB = 16;

const WORKER_URL = new URL(compiledUrl(import.meta.url, './sandbox-thread.js'));

interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly signal: Int32Array;
}

export class KillableSandbox {
  private thread: Thread | undefined;
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
    this.thread.port.postMessage(request);
    return this.receive(this.thread, this.program.limits.milliseconds + this.graceMs);
  }

  /** Forgets all that was sent. */
  restart(): void {
    this.thread?.port.close();
    void this.thread?.worker.terminate();
    this.thread = undefined;
  }

  close(): void {
    this.closed = true;
    this.restart();
  }

  private start(): Thread {
    if (this.closed) throw new SandboxFailure('died', 'the domain was closed');
    const { port1: port, port2 } = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(WORKER_URL, {
      env: {},
      workerData: { program: this.program, port: port2, signal: signal.buffer } satisfies ThreadData,
      transferList: [port2],
      resourceLimits: { stackSizeMb: STACK_MB },
    });
    worker.unref();
    this.starts += 1;
    this.thread = { worker, port, signal };
    this.receive(this.thread, BOOT_MS);
    return this.thread;
  }

  private receive({ port, signal }: Thread, milliseconds: number): string {
    const answered = isSignalled(signal, milliseconds);
    Atomics.store(signal, 0, 0);
    const reply = receiveMessageOnPort(port)?.message as ThreadReply | undefined;
    if (!answered || reply === undefined) throw new SandboxFailure('clock', 'it ran too long and was stopped');
    if ('text' in reply) return reply.text;
    throw new SandboxFailure(reply.reason, reply.failed);
  }
}

/**
 * Waits for the signal. Being woken is not enough: the thread may have been held between its last signal and its waking
 * of whoever waits for that, and would then wake who waits for the next.
 */
function isSignalled(signal: Int32Array, milliseconds: number): boolean {
  const until = performance.now() + milliseconds;
  while (Atomics.load(signal, 0) === 0) {
    const left = until - performance.now();
    if (left <= 0 || Atomics.wait(signal, 0, 0, left) === 'timed-out') return false;
  }
  return true;
}
