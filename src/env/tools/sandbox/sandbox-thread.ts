// The thread of the sandbox: QuickJS around a rules file, without functions of the host, with a capped memory, stack and number of steps.
// It answers one request after another; the one that asks sleeps until the answer is there.

import { workerData } from 'node:worker_threads';
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten';
import { answerOn, type ThreadLine } from '../../../core/threads.js';
import {
  failureOf,
  immerSource,
  problemOfExports,
  type RulesProgram,
  SANDBOX_PROGRAM,
  SandboxFailure,
  type SandboxLimits,
  type ThreadReply,
} from './sandbox.js';

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
async function loadQuickJs({ memoryBytes }: SandboxLimits): Promise<QuickJSWASMModule> {
  const { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } = await import('quickjs-emscripten');
  const wasmMemory = new Memory({
    initial: FIRST_PAGES,
    maximum: Math.max(FIRST_PAGES, Math.floor(memoryBytes / PAGE_BYTES)),
  });
  return newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory }));
}

class Interpreter {
  private readonly context: QuickJSContext;
  private readonly program: QuickJSHandle;
  private interrupts = 0;
  private deadline = 0;
  private late = false;

  /** @throws SandboxFailure where the rules fail as they are loaded */
  constructor(
    private readonly quickJs: QuickJSWASMModule,
    program: RulesProgram,
    private readonly limits = program.limits,
  ) {
    const runtime = quickJs.newRuntime();
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => this.isSpent());
    this.context = runtime.newContext();
    this.program = this.within(Number.POSITIVE_INFINITY, () => this.boot(program));
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

  private boot({ rules, text, exports, file }: RulesProgram): QuickJSHandle {
    const { context } = this;
    const evaluate = (code: string, name: string, type: 'global' | 'module') =>
      this.unwrap(context.evalCode(code, name, { type }));
    const make = evaluate(SANDBOX_PROGRAM, 'sandbox.js', 'global');
    const immer = evaluate(immerSource(), 'immer.js', 'global');
    const program = this.unwrap(context.callFunction(make, context.undefined, immer));
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
      throw new SandboxFailure('died', `the sandbox died: ${(error as Error).message}`);
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

const OUT_OF_MEMORY = () => failureOf('InternalError: out of memory');

const { program, line } = workerData as { readonly program: RulesProgram; readonly line: ThreadLine };

function reply(work: () => string): void {
  let answer: ThreadReply;
  try {
    answer = { text: work() };
  } catch (error) {
    const reason = error instanceof SandboxFailure ? error.reason : 'died';
    answer = { failed: (error as Error).message, reason };
  }
  answerOn(line, answer);
}

const quickJs = await loadQuickJs(program.limits);
let interpreter: Interpreter | undefined;
reply(() => {
  interpreter = new Interpreter(quickJs, program);
  return '';
});
line.port.on('message', (request: string) => reply(() => interpreter!.ask(request)));
