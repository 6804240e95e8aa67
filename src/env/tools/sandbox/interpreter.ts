// QuickJS around a rules file: no host functions; a capped memory, stack and number of steps. What these limits cannot end is for
// `KillableSandbox`.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten';
import { problemOfExports } from './rules-source.js';
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
  /** The file as it is, and what of it was found to be exported. */
  readonly text: string;
  readonly exports: readonly string[];
  /** What the file is called in errors. */
  readonly file: string;
  readonly limits: SandboxLimits;
}

/** Native code of the sandbox must reach its own limit before it reaches the end of the thread's stack. */
const STACK_BYTES = 256 * 1024;

/** Node's types have no WebAssembly. */
const { Memory } = (
  globalThis as unknown as {
    WebAssembly: { Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer } };
  }
).WebAssembly;
const PAGE_BYTES = 65_536;
/** That the compiled QuickJS asks for. */
const FIRST_PAGES = 256;

/**
 * An instance of QuickJS, with a memory of its own that cannot grow beyond the limit: QuickJS's own limit counts eight bytes an
 * allocation in WebAssembly, whatever its size.
 */
export async function loadQuickJs({ memoryBytes }: SandboxLimits): Promise<QuickJSWASMModule> {
  // Loaded where rules are: nobody else waits for WebAssembly.
  const { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } = await import('quickjs-emscripten');
  const wasmMemory = new Memory({
    initial: FIRST_PAGES,
    maximum: Math.max(FIRST_PAGES, Math.floor(memoryBytes / PAGE_BYTES)),
  });
  return newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory }));
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
  constructor(
    private readonly quickJs: QuickJSWASMModule,
    program: RulesProgram,
    careful: boolean,
  ) {
    const { limits } = program;
    this.limits = limits;
    const runtime = quickJs.newRuntime();
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
      // Where not even an error can be made QuickJS throws null.
      if (answered.startsWith('{"failed":"it threw null"') && this.isFull()) throw OUT_OF_MEMORY();
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

  private boot({ rules, text, exports, file }: RulesProgram, careful: boolean): QuickJSHandle {
    const { context } = this;
    const flag = (value: boolean) => (value ? context.true : context.false);
    const evaluate = (code: string, name: string, type: 'global' | 'module') =>
      this.unwrap(context.evalCode(code, name, { type }));
    const make = evaluate(SANDBOX_PROGRAM, 'sandbox.js', 'global');
    const immer = evaluate(immerSource(), 'immer.js', 'module');
    const program = this.unwrap(context.callFunction(make, context.undefined, immer, flag(careful)));
    const load = context.getProp(program, 'load');
    const module = evaluate(text, file, 'module');
    const names = context.getOwnPropertyNames(module, { strings: true }).unwrap();
    const problem = problemOfExports(
      names.map((name) => context.getString(name)),
      exports,
    );
    if (problem !== undefined) throw new SandboxFailure('code', problem);
    names.dispose();
    const made = evaluate(rules, file, 'global');
    this.unwrap(context.callFunction(load, context.undefined, made)).dispose();
    for (const handle of [make, immer, load, module, made]) handle.dispose();
    return program;
  }

  private isFull(): boolean {
    // It grows in steps, the last of which may not fit.
    return this.quickJs.getWasmMemory().buffer.byteLength > 0.7 * this.limits.memoryBytes;
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
    const error = this.context.dump(result.error) as { name?: string; message?: string } | null | undefined;
    result.error.dispose();
    if (error === null && this.isFull()) throw OUT_OF_MEMORY();
    throw failureOf(`${error?.name ?? 'error'}: ${error?.message ?? String(error)}`, this.late);
  }
}

const OUT_OF_MEMORY = () => new SandboxFailure('memory', 'it needed too much memory');

/** What a text of the sandbox says went wrong. */
export function failureOf(message: string, late = false): SandboxFailure {
  if (message.includes('InternalError: interrupted'))
    return new SandboxFailure(late ? 'clock' : 'time', 'it ran too long and was stopped');
  if (message.includes('InternalError: out of memory')) return OUT_OF_MEMORY();
  if (message.includes(': stack overflow')) return new SandboxFailure('stack', 'it called itself too deeply');
  if (message.includes('could not load module'))
    return new SandboxFailure('code', 'rules are one file: import is not there');
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
