// A Python process that holds environments: started, asked in frames, ended. What it lived is lost with it; that is for others.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import type { BoxSpace, VectorSpace } from '../../core/environment.js';
import { type ErrorCode, reverieError } from '../../core/errors.js';
import { packageRoot } from '../../core/packs.js';
import { PlaceLost, type PlaceSpaces } from '../replayed/place.js';
import { pythonProgram } from './python-program.js';

/** What the process is asked to make. */
export interface GymnasiumSpec {
  /** Gymnasium's id, e.g. `Humanoid-v5`. */
  readonly id: string;
  readonly kwargs: Readonly<Record<string, unknown>>;
  /** A module that registers environments when it is imported. */
  readonly import?: string;
  /** As in `ClockSetting`. */
  readonly maxEpisodeSteps?: number | null;
  /** Longest time for an answer, and for the start, before the process counts as hung. */
  readonly timeoutSeconds: number;
}

export interface SpacesTold extends PlaceSpaces {
  readonly dtype: 'uint8' | 'float32';
  /** Version of Gymnasium. */
  readonly gymnasium: string;
}

/** The process ended, by itself or by another hand, before it answered. */
export class ProcessDied extends PlaceLost {}

const bound = z.number().nullable();
const space: z.ZodType<VectorSpace> = z.union([
  z.object({ type: z.literal('discrete'), n: z.int().min(1), start: z.int() }),
  z
    .object({ type: z.literal('box'), shape: z.array(z.int().min(0)), low: z.array(bound), high: z.array(bound) })
    .transform((box): BoxSpace => ({ ...box, low: box.low.map(float32), high: box.high.map(float32) })),
]);
/** What the process says of an environment that it cannot make. */
const FAULTS = {
  missing: 'GYMNASIUM_MISSING',
  import: 'GYMNASIUM_IMPORT',
  unknown: 'GYMNASIUM_UNKNOWN',
  space: 'GYMNASIUM_SPACE',
} as const satisfies Record<string, ErrorCode>;
const fault = z.enum(Object.keys(FAULTS) as (keyof typeof FAULTS)[]);

const greeting = z.union([
  z.object({ error: z.object({ fault, values: z.record(z.string(), z.unknown()) }) }),
  z.object({
    spaces: z.object({
      observation: space,
      action: space,
      dtype: z.enum(['uint8', 'float32']),
      maxEpisodeSteps: z.int().nullable(),
      gymnasium: z.string(),
    }),
  }),
]);

/** Bytes of what the process writes to its standard error that are kept for an error's message. */
const STDERR_BYTES = 2_000;

export class PythonProcess {
  private readonly child: ChildProcessWithoutNullStreams;
  private received: Buffer[] = [];
  private bytes = 0;
  private stderr = '';
  private waiting: { resolve: (frame: Buffer) => void; reject: (error: Error) => void } | undefined;
  private ended: Error | undefined;

  /** Starts at once; `begin` waits for it. */
  constructor(private readonly spec: GymnasiumSpec) {
    const { timeoutSeconds: _, ...asked } = spec;
    const script = join(packageRoot(), 'clients', 'gymnasium', 'environments.py');
    this.child = spawn(pythonProgram(), [script, JSON.stringify(asked)], { stdio: 'pipe' });
    this.child.stdout.on('data', (part: Buffer) => this.receive(part));
    this.child.stderr.on('data', (part: Buffer) => {
      this.stderr = (this.stderr + part.toString('utf8')).slice(-STDERR_BYTES);
    });
    // A pipe that breaks is told by the end of the process.
    this.child.stdin.on('error', () => undefined);
    this.child.on('error', (error) => this.end(this.notStarted(error)));
    this.child.on('close', (code, signal) => this.end(this.died(code, signal)));
    this.rest();
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** @throws ENV_UNUSABLE, GYMNASIUM_MISSING, GYMNASIUM_IMPORT, GYMNASIUM_UNKNOWN, GYMNASIUM_SPACE, GYMNASIUM_TIMEOUT */
  async begin(): Promise<SpacesTold> {
    const told = greeting.parse(JSON.parse((await this.answer('to start')).toString('utf8')));
    if ('spaces' in told) return told.spaces;
    const { fault, values } = told.error;
    throw reverieError(FAULTS[fault], { id: this.spec.id, python: pythonProgram(), ...values });
  }

  /** One frame there and one back, at most one at a time. @throws ProcessDied, GYMNASIUM_TIMEOUT */
  exchange(frame: Buffer): Promise<Buffer> {
    const answer = this.answer('to answer');
    this.child.stdin.write(frame);
    return answer;
  }

  /** It ends by itself where nothing is written any more. */
  close(): void {
    this.end(new ProcessDied('it was closed'));
    this.child.stdin.end();
  }

  private async answer(what: string): Promise<Buffer> {
    if (this.ended !== undefined) throw this.ended;
    this.child.ref();
    this.refPipes('ref');
    const { timeoutSeconds, id } = this.spec;
    const late = setTimeout(() => {
      this.end(reverieError('GYMNASIUM_TIMEOUT', { id, what, seconds: timeoutSeconds }));
      this.child.kill('SIGKILL');
    }, timeoutSeconds * 1000);
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        this.waiting = { resolve, reject };
        this.deliver();
      });
    } finally {
      clearTimeout(late);
      this.waiting = undefined;
      this.rest();
    }
  }

  private receive(part: Buffer): void {
    this.received.push(part);
    this.bytes += part.length;
    this.deliver();
  }

  private deliver(): void {
    if (this.waiting === undefined || this.bytes < 4) return;
    if (this.received[0].length < 4) this.received = [Buffer.concat(this.received)];
    const length = this.received[0].readUInt32LE(0);
    if (this.bytes < 4 + length) return;
    const all = this.received.length === 1 ? this.received[0] : Buffer.concat(this.received);
    this.received = all.length > 4 + length ? [all.subarray(4 + length)] : [];
    this.bytes -= 4 + length;
    this.waiting.resolve(all.subarray(4, 4 + length));
  }

  private end(error: Error): void {
    this.ended ??= error;
    this.waiting?.reject(this.ended);
  }

  /** A process that nobody waits for keeps nobody from ending. */
  private rest(): void {
    this.child.unref();
    this.refPipes('unref');
  }

  private refPipes(how: 'ref' | 'unref'): void {
    for (const pipe of [this.child.stdin, this.child.stdout, this.child.stderr]) {
      (pipe as unknown as { ref?(): void; unref?(): void })[how]?.();
    }
  }

  private notStarted({ message }: Error): Error {
    return reverieError('ENV_UNUSABLE', {
      problem: `Environment "${this.spec.id}" needs Python, and "${pythonProgram()}" could not be started: ${message}.`,
      hint: 'Install Python 3.10 or later, or name the program of one that is there: --python PATH, or REVERIE_PYTHON.',
    });
  }

  private died(code: number | null, signal: NodeJS.Signals | null): Error {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const last = this.stderr.trim().split('\n').at(-1);
    return new ProcessDied(last ? `${how}; it last wrote: ${last}` : how);
  }
}

function float32(value: number | null): number | null {
  return value === null ? null : Math.fround(value);
}
