// A Java process that is asked like a function. What it holds is lost when it ends; the next request starts another.

import { AskedThread } from '../../core/asked-thread.js';
import { reverieError } from '../../core/errors.js';
import { compiledUrl } from '../../core/worker-url.js';
import type { JavaCall } from './gateway-lines.js';
import type { JavaReply, JavaRequest, JavaStart, JavaValue } from './java-thread.js';

/** The process ended, by itself or by another hand, or was ended as it did not answer. */
export class JavaDied extends Error {}

/** A Java exception: the process goes on. */
export class JavaThrown extends Error {}

const WORKER_URL = new URL(compiledUrl(import.meta.url, './java-thread.js'));

/** For a process to start, on a machine that is busy. */
const START_MS = 60_000;

/** The program: REVERIE_JAVA, that of JAVA_HOME, or what the search path has as `java`. */
export function javaProgram(): string {
  const { REVERIE_JAVA, JAVA_HOME } = process.env;
  return REVERIE_JAVA || (JAVA_HOME ? `${JAVA_HOME}/bin/java` : 'java');
}

export class JavaMachine {
  private thread: AskedThread<JavaReply> | undefined;
  private starts = 0;
  private process: number | undefined;
  private closed = false;

  /** Starts nothing yet. */
  constructor(
    private readonly start: Omit<JavaStart, 'program'>,
    private readonly timeoutSeconds: number,
  ) {}

  /** Which process was started last, the first being 1. */
  get generation(): number {
    return this.starts;
  }

  get pid(): number | undefined {
    return this.process;
  }

  /** Id of a new object of a jar's class; `own`: with classes of its own. @throws JavaDied, JavaThrown, JAVA_MISSING */
  make(className: string, jar: string, own: boolean): string {
    return String(this.ask({ verb: 'make', className, jar, own })[0]);
  }

  /** What the object's methods answer. @throws as `make` */
  call(object: string, calls: readonly JavaCall[]): readonly JavaValue[] {
    return this.ask({ verb: 'call', object, calls });
  }

  /** @throws as `make` */
  drop(object: string): void {
    this.ask({ verb: 'drop', object });
  }

  close(): void {
    this.closed = true;
    this.end();
  }

  private ask(request: JavaRequest): readonly JavaValue[] {
    this.thread ??= this.started();
    return this.valuesOf(this.thread.ask(request, this.timeoutSeconds * 1000), this.timeoutSeconds);
  }

  private started(): AskedThread<JavaReply> {
    if (this.closed) throw new JavaDied('it was closed');
    this.starts += 1;
    const start: JavaStart = { ...this.start, program: javaProgram() };
    this.thread = new AskedThread(WORKER_URL, { start });
    this.valuesOf(this.thread.receive(START_MS), START_MS / 1000);
    return this.thread;
  }

  private valuesOf(reply: JavaReply | undefined, seconds: number): readonly JavaValue[] {
    if (reply !== undefined && 'values' in reply) {
      this.process = reply.pid ?? this.process;
      return reply.values;
    }
    if (reply !== undefined && 'thrown' in reply) throw new JavaThrown(reply.thrown);
    this.end();
    if (reply === undefined) throw new JavaDied(`it did not answer within ${seconds} s`);
    if ('died' in reply) throw new JavaDied(reply.died);
    throw reverieError('JAVA_MISSING', { program: javaProgram(), problem: reply.missing });
  }

  private end(): void {
    this.thread?.dismiss();
    this.thread = undefined;
    this.process = undefined;
  }
}
