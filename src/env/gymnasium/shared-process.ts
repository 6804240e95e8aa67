// One Python process for several environments of a kind. What they ask while it is busy goes to it as one batch: a round trip
// for all of them, not for each. A process that died is started anew when the next of them asks.

import { reverieError } from '../../core/errors.js';
import type { Answer, PlaceFaults, Request, Place as SomePlace } from '../replayed/place.js';
import { answersIn, frameOf, type ObservationForm } from './frames.js';
import { type GymnasiumSpec, ProcessDied, PythonProcess, type SpacesTold } from './python-process.js';
import { pythonProgram } from './python-program.js';

/** Environments in one process, which steps them one after another; more of them are in more processes, side by side. */
const SLOTS = 16;

/** For so long a process waits for the next environment: the start of Python takes longer than an episode. */
const LINGER_MS = 10_000;

interface Asked {
  readonly slot: number;
  /** The process that knows what this request goes on from. */
  readonly generation: number;
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

const shared = new Map<string, SharedProcess[]>();

/** A place in a process of such environments, of this thread. @throws as `PythonProcess.begin` */
export async function placeFor(spec: GymnasiumSpec, size: (spaces: SpacesTold) => ObservationForm): Promise<Place> {
  const key = JSON.stringify([pythonProgram(), spec]);
  const ours = shared.get(key) ?? [];
  let one = ours.find(({ isFull }) => !isFull);
  if (one === undefined) {
    const made = new SharedProcess(spec, size, () =>
      shared.set(
        key,
        shared.get(key)!.filter((other) => other !== made),
      ),
    );
    one = made;
    shared.set(key, [...ours, made]);
  }
  return one.place();
}

/** Where one environment lives: a slot of a process. */
export interface Place extends SomePlace {
  readonly spaces: SpacesTold;
}

function faultsOf({ id }: GymnasiumSpec): PlaceFaults {
  return {
    failed: (what, problem) => reverieError('GYMNASIUM_FAILED', { id, what, problem }),
    died: (times, problem, cause) => reverieError('GYMNASIUM_DIED', { id, times, problem }, cause),
    otherwise: (seed, steps) => reverieError('GYMNASIUM_NOT_REPEATABLE', { id, seed, steps }),
  };
}

class SharedProcess {
  private readonly slots = new Set<number>();
  private running: { readonly process: PythonProcess; readonly spaces: Promise<SpacesTold> } | undefined;
  private generation = 0;
  private queue: Asked[] = [];
  private isBusy = false;

  constructor(
    private readonly spec: GymnasiumSpec,
    private readonly formOf: (spaces: SpacesTold) => ObservationForm,
    private readonly onEnd: () => void,
  ) {}

  get isFull(): boolean {
    return this.slots.size >= SLOTS;
  }

  async place(): Promise<Place> {
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
        faults: faultsOf(this.spec),
      };
    } catch (error) {
      this.slots.delete(slot);
      if (this.slots.size === 0) this.end();
      throw error;
    }
  }

  private started() {
    if (this.running === undefined) {
      this.generation++;
      const process = new PythonProcess(this.spec);
      const spaces = process.begin();
      // Told to whoever asks.
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
      const answers = answersIn(await running.process.exchange(frameOf(batch)), this.formOf(spaces));
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
    this.onEnd();
    this.running?.process.close();
    this.running = undefined;
  }
}
