// Python processes that hold environments of Gymnasium: started, asked in the binary frames that clients/gymnasium/environments.py describes,
// ended. Several environments of a kind share one: what they ask while it is busy goes to it as one batch. What was run in a process is
// lost with it; that is for others.

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import type { BoxSpace, VectorSpace } from '../../core/environment.js';
import { type ErrorCode, reverieError } from '../../core/errors.js';
import { packageRoot } from '../../core/packs.js';
import { rowSize } from '../space-values.js';

/** The interpreter: REVERIE_PYTHON, or what the search path has as `python3`. */
function pythonProgram(): string {
  return process.env.REVERIE_PYTHON || 'python3';
}

type PythonPackage =
  | { readonly folder: string }
  /** The Python that was asked; `problem`: why it could not be asked, absent where it has no such package. */
  | { readonly python: string; readonly problem?: string };

const folders = new Map<string, string>();

/** @param module as Python imports it */
export function pythonPackage(module: string): PythonPackage {
  const python = pythonProgram();
  const key = `${python} ${module}`;
  const known = folders.get(key);
  if (known !== undefined) return { folder: known };
  const script = `import importlib.util as u; s = u.find_spec('${module}'); print(s.submodule_search_locations[0] if s else '')`;
  const { stdout, error } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  if (error) return { python, problem: `it could not be started: ${error.message}` };
  const folder = stdout.trim();
  if (folder === '') return { python };
  folders.set(key, folder);
  return { folder };
}

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

/** An episode: what brings it back, in a new process as well. */
export interface Replay {
  readonly seed: number;
  readonly actions: readonly Float32Array[];
  /** The environment's stream was begun anew, with this seed, after so many steps. */
  readonly reseeds: readonly { readonly steps: number; readonly seed: number }[];
}

export type Request =
  | { readonly verb: 'reset'; readonly seed: number }
  | { readonly verb: 'step'; readonly action: Float32Array }
  | { readonly verb: 'replay'; readonly replay: Replay }
  | { readonly verb: 'close' };

/** What an environment answers; its failure, with type and message of the Python exception, is an answer too. Closing answers nothing. */
export type Answer = Moved | { readonly failed: { readonly type: string; readonly message: string } } | undefined;

export interface Moved {
  readonly observation: Float32Array;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Of a replay: steps taken before the episode ended, or all of them. */
  readonly steps: number;
  readonly info: Record<string, unknown>;
}

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
  import: 'GYMNASIUM_UNKNOWN',
  unknown: 'GYMNASIUM_UNKNOWN',
  space: 'GYMNASIUM_SPACE',
} as const satisfies Record<string, ErrorCode>;
const fault = z.enum(Object.keys(FAULTS) as (keyof typeof FAULTS)[]);

const spacesSchema = z.object({
  observation: space,
  action: space,
  /** Images are bytes on the wire. */
  dtype: z.enum(['uint8', 'float32']),
  maxEpisodeSteps: z.int().nullable(),
  stepSeconds: z.number().nullable(),
  /** Version of Gymnasium. */
  gymnasium: z.string(),
});
export type Spaces = z.output<typeof spacesSchema>;
const greeting = z.union([
  z.object({ error: z.object({ fault, values: z.record(z.string(), z.unknown()) }) }),
  z.object({ spaces: spacesSchema }),
]);

/** The process ended, by itself or by another hand, before it answered. */
export class ProcessDied extends Error {}

/** Bytes of what the process writes to its standard error that are kept for an error's message. */
const STDERR_BYTES = 2_000;

class PythonProcess {
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
    this.child.stdout.on('data', (part: Buffer) => {
      this.received.push(part);
      this.bytes += part.length;
      this.deliver();
    });
    this.child.stderr.on('data', (part: Buffer) => {
      this.stderr = (this.stderr + part.toString('utf8')).slice(-STDERR_BYTES);
    });
    // A pipe that breaks is told by the end of the process.
    this.child.stdin.on('error', () => undefined);
    this.child.on('error', ({ message }) =>
      this.end(
        reverieError('ENV_UNUSABLE', {
          problem: `Environment "${spec.id}" needs Python, and "${pythonProgram()}" could not be started: ${message}.`,
          hint: 'Install Python 3.10 or later, or name the program of one that is there by the environment variable REVERIE_PYTHON.',
        }),
      ),
    );
    this.child.on('close', (code, signal) => {
      const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
      const last = this.stderr.trim().split('\n').at(-1);
      this.end(new ProcessDied(last ? `${how}; it last wrote: ${last}` : how));
    });
    this.hold('unref');
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** @throws ENV_UNUSABLE, GYMNASIUM_MISSING, GYMNASIUM_UNKNOWN, GYMNASIUM_SPACE, GYMNASIUM_TIMEOUT */
  async begin(): Promise<Spaces> {
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
    this.hold('ref');
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
      this.hold('unref');
    }
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

  /** A process without a waiter does not keep this process from ending. */
  private hold(how: 'ref' | 'unref'): void {
    this.child[how]();
    for (const pipe of [this.child.stdin, this.child.stdout, this.child.stderr])
      (pipe as unknown as { ref?(): void; unref?(): void })[how]?.();
  }
}

/** Environments in one process, which steps them one after another; more of them are in more processes, side by side. */
const SLOTS = 16;
/** For so long a process waits for the next environment: the start of Python takes longer than an episode. */
const LINGER_MS = 10_000;

/** Where one environment is: a slot of a process. */
export interface Slot {
  readonly spaces: Spaces;
  /** Which process it is in, the first being 1: another one has forgotten all that was done. */
  generation(): number;
  /** @throws ProcessDied, and what it takes to begin another process */
  ask(request: Request): Promise<Answer>;
  pid(): number | undefined;
  close(): void;
}

const shared = new Map<string, Set<SharedProcess>>();

/** A slot in a process of such environments, of this thread. @throws as `PythonProcess.begin` */
export async function slotFor(spec: GymnasiumSpec): Promise<Slot> {
  const key = JSON.stringify([pythonProgram(), spec]);
  const ours = shared.get(key) ?? new Set<SharedProcess>();
  shared.set(key, ours);
  const one = [...ours].find(({ isFull }) => !isFull) ?? new SharedProcess(spec, ours);
  ours.add(one);
  return one.slot();
}

interface Asked {
  readonly slot: number;
  /** The process that knows what this request continues from. */
  readonly generation: number;
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** A process that died is started anew when the next of its environments asks. */
class SharedProcess {
  private readonly slots = new Set<number>();
  private running: { readonly process: PythonProcess; readonly spaces: Promise<Spaces> } | undefined;
  private generation = 0;
  private queue: Asked[] = [];
  private isBusy = false;

  constructor(
    private readonly spec: GymnasiumSpec,
    private readonly others: Set<SharedProcess>,
  ) {}

  get isFull(): boolean {
    return this.slots.size >= SLOTS;
  }

  async slot(): Promise<Slot> {
    let slot = 0;
    while (this.slots.has(slot)) slot++;
    this.slots.add(slot);
    try {
      const spaces = await this.started().spaces;
      return {
        spaces,
        generation: () => {
          this.started();
          return this.generation;
        },
        ask: (request) => this.ask(slot, request),
        pid: () => this.running?.process.pid,
        close: () => this.leave(slot),
      };
    } catch (error) {
      this.slots.delete(slot);
      if (this.slots.size === 0) this.end();
      if (!(error instanceof ProcessDied)) throw error;
      const problem = `The Python process of "${this.spec.id}" ended before it had begun: ${error.message}.`;
      const hint = `Make the environment in Python to see why; REVERIE_PYTHON names the program, now "${pythonProgram()}".`;
      throw reverieError('ENV_UNUSABLE', { problem, hint }, error);
    }
  }

  private started() {
    if (this.running === undefined) {
      this.generation++;
      const process = new PythonProcess(this.spec);
      const spaces = process.begin();
      // Told to the one that asks.
      spaces.catch(() => undefined);
      this.running = { process, spaces };
    }
    return this.running;
  }

  private ask(slot: number, request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.queue.push({ slot, generation: this.generation, request, resolve, reject });
      // After all that is ready to ask has asked.
      if (!this.isBusy) setImmediate(() => void this.exchange());
    });
  }

  private async exchange(): Promise<void> {
    if (this.isBusy || this.queue.length === 0) return;
    this.isBusy = true;
    const running = this.started();
    const batch = this.queue.filter(({ generation }) => generation === this.generation);
    const late = this.queue.filter(({ generation }) => generation !== this.generation);
    this.queue = [];
    for (const { reject } of late) reject(new ProcessDied('it had ended'));
    try {
      const spaces = await running.spaces;
      const answers = answersIn(await running.process.exchange(frameOf(batch)), spaces);
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]);
    } catch (error) {
      if (this.running === running) this.running = undefined;
      for (const { reject } of batch) reject(error);
    }
    this.isBusy = false;
    if (this.queue.length > 0) setImmediate(() => void this.exchange());
  }

  /** The last one to leave ends the process, unless another comes soon. */
  private leave(slot: number): void {
    if (!this.slots.delete(slot)) return;
    if (this.running !== undefined) this.ask(slot, { verb: 'close' }).catch(() => undefined);
    if (this.slots.size > 0) return;
    setTimeout(() => {
      if (this.slots.size === 0) this.end();
    }, LINGER_MS).unref();
  }

  private end(): void {
    this.others.delete(this);
    this.running?.process.close();
    this.running = undefined;
  }
}

const VERBS = { reset: 1, step: 2, replay: 3, close: 4 } as const;
const REQUEST_BYTES = 9;
const ANSWER_BYTES = 18;
const FAILURE_BYTES = 5;
const MOVED = 0;
const FAILED = 1;
const TERMINATED = 1;
const TRUNCATED = 2;

/** A batch of requests, its length before it. */
function frameOf(requests: readonly Asked[]): Buffer {
  const parts = requests.flatMap(({ slot, request }) => {
    const body = bodyOf(request);
    const head = Buffer.alloc(REQUEST_BYTES);
    head.writeUInt32LE(slot, 0);
    head.writeUInt8(VERBS[request.verb], 4);
    head.writeUInt32LE(body.length, 5);
    return [head, body];
  });
  return Buffer.concat([uint32(parts.reduce((bytes, part) => bytes + part.length, 0)), ...parts]);
}

function bodyOf(request: Request): Buffer {
  switch (request.verb) {
    case 'reset':
      return double(request.seed);
    case 'step':
      return bytesOf(request.action);
    case 'replay': {
      const { seed, actions, reseeds } = request.replay;
      const again = reseeds.flatMap((reseed) => [uint32(reseed.steps), double(reseed.seed)]);
      return Buffer.concat([double(seed), uint32(reseeds.length), ...again, ...actions.map(bytesOf)]);
    }
    case 'close':
      return Buffer.alloc(0);
  }
}

/** The answers of a frame, in the order of its requests. */
function answersIn(frame: Buffer, spaces: Spaces): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < frame.length; ) {
    const [answer, end] = frame[at] === MOVED ? movedAt(frame, at, spaces) : endedAt(frame, at);
    answers.push(answer);
    at = end;
  }
  return answers;
}

/** What an exception said, or nothing where the slot was closed; and where the next answer begins. */
function endedAt(frame: Buffer, at: number): [Answer, number] {
  const [told, end] = [at + FAILURE_BYTES, at + FAILURE_BYTES + frame.readUInt32LE(at + 1)];
  return [frame[at] === FAILED ? { failed: JSON.parse(frame.toString('utf8', told, end)) } : undefined, end];
}

/** And where the next one begins. */
function movedAt(frame: Buffer, at: number, { observation, dtype }: Spaces): [Moved, number] {
  const flags = frame.readUInt8(at + 1);
  const infoBytes = frame.readUInt32LE(at + 14);
  const seen = at + ANSWER_BYTES;
  const told = seen + rowSize(observation) * (dtype === 'uint8' ? 1 : 4);
  // A copy, as a view of float32 must lie on a multiple of four bytes.
  const bytes = Uint8Array.from(frame.subarray(seen, told));
  const moved = {
    observation: dtype === 'uint8' ? new Float32Array(bytes) : new Float32Array(bytes.buffer),
    reward: frame.readDoubleLE(at + 2),
    terminated: (flags & TERMINATED) !== 0,
    truncated: (flags & TRUNCATED) !== 0,
    steps: frame.readUInt32LE(at + 10),
    info: infoBytes === 0 ? {} : JSON.parse(frame.toString('utf8', told, told + infoBytes)),
  };
  return [moved, told + infoBytes];
}

function bytesOf(row: Float32Array): Buffer {
  return Buffer.from(row.buffer, row.byteOffset, row.byteLength);
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function float32(value: number | null): number | null {
  return value === null ? null : Math.fround(value);
}
