// One run of QuickJS around a rules file: no host functions, capped memory, stack and steps. It computes in the thread that
// asks; what its own limits cannot end is for `killable-sandbox.ts`.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten';
import { SANDBOX_PROGRAM } from './sandbox-program.js';

export interface SandboxLimits {
  readonly memoryBytes: number;
  /** Interrupts, each after a fixed number of steps of the interpreter: the same code is stopped at the same place. */
  readonly interrupts: number;
  /** For code that goes slowly: a last resort, as it depends on the machine. */
  readonly milliseconds: number;
}

export const LIMITS: SandboxLimits = { memoryBytes: 64 * 2 ** 20, interrupts: 10_000, milliseconds: 10_000 };

/**
 * Why the sandbox gave no answer. `time`: too much was computed, which is the same everywhere. `clock`: the machine may have
 * been busy or asleep. `doubt`: it might take longer than anything in this thread could end, or the thread's stack was too
 * small; another thread can tell.
 */
export type FailureReason = 'code' | 'memory' | 'time' | 'clock' | 'stack' | 'died' | 'doubt';

export class SandboxFailure extends Error {
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What is evaluated before the first request. */
export interface RulesProgram {
  /** The function that a rules file became, as text. */
  readonly rules: string;
  readonly keepsNothing: boolean;
  /** What the file is called in errors. */
  readonly file: string;
  readonly limits: SandboxLimits;
}

/** Native code of the sandbox must reach its own limit before it reaches the end of the thread's stack. */
const STACK_BYTES = 256 * 1024;

/** An instance of QuickJS, with a memory of its own. */
export async function loadQuickJs(): Promise<QuickJSWASMModule> {
  // Loaded where rules are: nobody else waits for WebAssembly.
  const { newQuickJSWASMModule } = await import('quickjs-emscripten');
  return newQuickJSWASMModule();
}

export class Interpreter {
  private readonly context: QuickJSContext;
  private readonly program: QuickJSHandle;
  private readonly limits: SandboxLimits;
  private interrupts = 0;
  private deadline = 0;
  private late = false;

  /**
   * @param careful calls that might never end, and that no limit of QuickJS would end, fail with `doubt` instead
   * @throws SandboxFailure where the rules fail as they are loaded
   */
  constructor(quickJs: QuickJSWASMModule, program: RulesProgram, careful: boolean) {
    const { limits } = program;
    this.limits = limits;
    const runtime = quickJs.newRuntime();
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => this.isSpent());
    this.context = runtime.newContext();
    this.program = this.within(Number.POSITIVE_INFINITY, () => this.boot(program, careful));
  }

  /** The answer to a request of `SANDBOX_PROGRAM`, both JSON. @throws SandboxFailure */
  ask(request: string): string {
    return this.within(this.limits.milliseconds, () => {
      const text = this.context.newString(request);
      const result = this.context.callFunction(this.program, this.context.undefined, text);
      text.dispose();
      const answer = this.unwrap(result);
      const answered = this.context.getString(answer);
      answer.dispose();
      return answered;
    });
  }

  /** Gives the memory back. Throws where QuickJS is in no state to do so. */
  dispose(): void {
    const { runtime } = this.context;
    this.program.dispose();
    this.context.dispose();
    runtime.dispose();
  }

  private boot({ rules, file, keepsNothing }: RulesProgram, careful: boolean): QuickJSHandle {
    const { context } = this;
    const flag = (value: boolean) => (value ? context.true : context.false);
    const evaluate = (code: string, name: string, type: 'global' | 'module') =>
      this.unwrap(context.evalCode(code, name, { type }));
    const make = evaluate(SANDBOX_PROGRAM, 'sandbox.js', 'global');
    const immer = evaluate(immerSource(), 'immer.js', 'module');
    const program = this.unwrap(context.callFunction(make, context.undefined, immer, flag(careful)));
    const load = context.getProp(program, 'load');
    const made = evaluate(rules, file, 'global');
    this.unwrap(context.callFunction(load, context.undefined, made, flag(keepsNothing))).dispose();
    for (const handle of [make, immer, load, made]) handle.dispose();
    return program;
  }

  private isSpent(): boolean {
    this.late = Date.now() > this.deadline;
    return ++this.interrupts > this.limits.interrupts || this.late;
  }

  private within<T>(milliseconds: number, work: () => T): T {
    this.interrupts = 0;
    this.late = false;
    this.deadline = Date.now() + milliseconds;
    try {
      return work();
    } catch (error) {
      if (error instanceof SandboxFailure) throw error;
      // The thread's stack ended before that of QuickJS, or QuickJS itself gave up.
      throw new SandboxFailure('doubt', `the sandbox died: ${(error as Error).message}`);
    }
  }

  private unwrap(result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle {
    if (!result.error) return result.value;
    const error = this.context.dump(result.error) as { name?: string; message?: string } | undefined;
    result.error.dispose();
    throw failureOf(`${error?.name ?? 'error'}: ${error?.message ?? String(error)}`, this.late);
  }
}

/** What a text of the sandbox says went wrong. */
export function failureOf(message: string, late = false): SandboxFailure {
  if (message.includes('InternalError: interrupted'))
    return new SandboxFailure(late ? 'clock' : 'time', 'it ran too long and was stopped');
  if (message.includes('InternalError: out of memory'))
    return new SandboxFailure('memory', 'it needed too much memory');
  if (message.includes(': stack overflow')) return new SandboxFailure('stack', 'it called itself too deeply');
  return new SandboxFailure('code', message);
}

let immerText: string | undefined;

/** Immer as it is installed, as text: the sandbox evaluates it for itself. It keeps what rules do not have. */
function immerSource(): string {
  if (immerText === undefined) {
    const main = createRequire(import.meta.url).resolve('immer');
    const folder = main.slice(0, main.lastIndexOf(`${path.sep}immer${path.sep}`) + '/immer/'.length);
    const text = readFileSync(path.join(folder, 'dist', 'immer.production.mjs'), 'utf8');
    immerText = `const { Proxy, Function } = globalThis;\n${text}`;
  }
  return immerText;
}
