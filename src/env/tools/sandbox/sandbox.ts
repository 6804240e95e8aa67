// A sandbox in the thread that asks: no message, no waiting. What might take longer than it could end is left to another
// (`doubt`), and an interpreter that ran out of anything is thrown away with all it holds.

import type { QuickJSWASMModule } from 'quickjs-emscripten';
import { Interpreter, loadQuickJs, type RulesProgram, SandboxFailure } from './interpreter.js';

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
    return new Sandbox(program, await loadQuickJs());
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
      if (error instanceof SandboxFailure && error.reason === 'doubt') this.replace();
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
    void loadQuickJs().then((loaded) => {
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
