// What passes between a host and its worker threads. Requests and answers of one turn of the event loop travel as one list,
// and actions as copies: whoever sent one keeps it to do it again.

import type {
  Environment,
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
} from '../../core/environment.js';
import { type PackedError, packError, ReverieError, unpackError } from '../../core/errors.js';
import type { Blueprint } from '../../run/serving/blueprint.js';

/** What changes the state of an environment. Done again from the same state they give the same bytes. */
export type Command =
  | { readonly kind: 'reset'; readonly options: ResetOptions }
  | { readonly kind: 'step'; readonly action: unknown }
  | { readonly kind: 'restore'; readonly snapshot: EnvSnapshot; readonly options: RestoreOptions };

export type Question = { readonly kind: 'describe' } | { readonly kind: 'snapshot' } | Command;

/** A state: what was done since a snapshot, or since the environment was made. */
export interface Past {
  readonly snapshot?: EnvSnapshot;
  readonly commands: readonly Command[];
}

export interface EnvironmentRequest {
  readonly kind: 'ask';
  readonly id: number;
  /** Number of the environment. */
  readonly env: number;
  readonly question: Question;
  /** The environment is to be made of this model and brought to this state first, in place of one of that number. */
  readonly restoreTo?: { readonly model: string; readonly past: Past };
  /** A snapshot of the state after it is wanted with the answer. */
  readonly withSnapshot: boolean;
}

export type HostRequest =
  | EnvironmentRequest
  | { readonly kind: 'load'; readonly model: string; readonly blueprint: Blueprint }
  /** Nobody waits any more for the answer to this request. */
  | { readonly kind: 'cancel'; readonly id: number; readonly reason: PackedError }
  | CallAnswer
  | { readonly kind: 'close'; readonly env: number };

/** What a thread is told when it starts. */
export interface ThreadData {
  /** URL of a module with `environmentMaker`; that of the package unless given. */
  readonly maker?: string;
  /** Rows of a model's step at most; 1: every dream asks for itself. */
  readonly batchRows: number;
}

export interface Description extends Pick<Environment, 'id' | 'family' | 'observationSpace' | 'actionSpace'> {
  readonly maxEpisodeSteps?: number;
}

export interface AnswerOf {
  readonly describe: Description;
  readonly reset: ResetResult<unknown>;
  readonly step: StepResult<unknown>;
  readonly snapshot: EnvSnapshot;
  readonly restore: unknown;
}

export interface HostAnswer {
  readonly id: number;
  readonly value?: AnswerOf[keyof AnswerOf];
  readonly snapshot?: EnvSnapshot;
  readonly error?: PackedError;
  /** Whether there is an environment of that number: false where it could not be made or brought to its state. */
  readonly lives: boolean;
}

/** To a thread: it is to end. */
export type Leave = 'leave';

/** From a thread, with the rows of each batch that a model was asked since the last ones. */
export interface ThreadAnswers {
  readonly kind: 'answers';
  readonly answers: readonly HostAnswer[];
  readonly batches: readonly number[];
}

export type ThreadMessage = 'ready' | ThreadAnswers | CallMessage;

// How an environment came to be as it is: a snapshot and what was done since. Dynamics are deterministic, so that whoever
// restores the one and does the other has it as it was, to the byte, in any thread.

/** Commands between two snapshots: doing them again after a death must not take long, nor must snapshots at every step. */
const COMMANDS_BETWEEN = 64;

export class Journal {
  private state: Past = { commands: [] };
  /** The snapshot is wanted after every step by whoever has the environment. */
  private isAsked = false;

  /** @param between  commands that are done again at most */
  constructor(private readonly between = COMMANDS_BETWEEN) {}

  get past(): Past {
    return this.state;
  }

  /** A snapshot of this moment, where it is known. */
  get current(): EnvSnapshot | undefined {
    return this.state.commands.length === 0 ? this.state.snapshot : undefined;
  }

  /** Whether the next command is to bring a snapshot of the state after it. */
  get wantsSnapshot(): boolean {
    return this.isAsked || this.state.commands.length >= this.between - 1;
  }

  /** Somebody wants to know the snapshot of this moment, and so perhaps that of the next. */
  ask(): void {
    this.isAsked = true;
  }

  /** The environment did it. @param snapshot  of the state after it, if known */
  record(command: Command, snapshot: EnvSnapshot | undefined): void {
    if (command.kind !== 'restore') this.isAsked = false;
    if (snapshot !== undefined) this.know(snapshot);
    else if (command.kind === 'restore') this.state = { commands: [command] };
    else this.state = { ...this.state, commands: [...this.state.commands, command] };
  }

  /** The snapshot of this moment. */
  know(snapshot: EnvSnapshot): void {
    this.state = { snapshot, commands: [] };
  }

  /** Answers what brings this moment back, and says whether anything was done since. */
  mark(): () => boolean {
    const { state } = this;
    return () => {
      const isChanged = this.state !== state;
      this.state = state;
      return isChanged;
    };
  }
}

/** From a thread. */
export type CallMessage =
  | { readonly kind: 'call'; readonly call: number; readonly model: string; readonly request: unknown }
  | { readonly kind: 'hang-up'; readonly call: number };

/** To a thread. */
interface CallAnswer {
  readonly kind: 'told';
  readonly call: number;
  readonly value?: unknown;
  readonly error?: WholeError;
}

/** An error with its values as they are: a reply that could not be used says there what it cost. */
interface WholeError {
  readonly packed: PackedError;
  readonly values?: Record<string, unknown>;
}

function packWhole(error: unknown): WholeError {
  return { packed: packError(error), ...(error instanceof ReverieError && { values: error.values }) };
}

function unpackWhole({ packed, values }: WholeError): Error {
  const error = unpackError(packed);
  if (error instanceof ReverieError) Object.assign(error.values, values);
  return error;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The end in the thread. */
export class Calls {
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(private readonly send: (message: CallMessage) => void) {}

  /** @throws what the answer is; what `signal` is aborted with, at once */
  ask(model: string, request: unknown, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const call = ++this.last;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.waiting.delete(call);
        this.send({ kind: 'hang-up', call });
        reject(signal?.reason);
      };
      const leave = () => signal?.removeEventListener('abort', onAbort);
      this.waiting.set(call, {
        resolve: (value) => {
          leave();
          resolve(value);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.send({ kind: 'call', call, model, request });
    });
  }

  told({ call, value, error }: CallAnswer): void {
    const waiting = this.waiting.get(call);
    this.waiting.delete(call);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(unpackWhole(error));
  }
}

/** Answers what environments of a model ask. */
export type Answering = (request: unknown, signal: AbortSignal) => Promise<unknown>;

/** The end in the thread that serves, for one life of a thread. */
export class AnsweredCalls {
  private readonly under = new Map<number, AbortController>();

  constructor(
    private readonly answeringOf: (model: string) => Answering,
    private readonly send: (answer: CallAnswer) => void,
  ) {}

  async take(message: CallMessage): Promise<void> {
    const { call } = message;
    if (message.kind === 'hang-up') {
      this.under.get(call)?.abort();
      return;
    }
    const { model, request } = message;
    const stop = new AbortController();
    this.under.set(call, stop);
    try {
      this.send({ kind: 'told', call, value: await this.answeringOf(model)(request, stop.signal) });
    } catch (error) {
      this.send({ kind: 'told', call, error: packWhole(error) });
    } finally {
      this.under.delete(call);
    }
  }

  /** Nobody waits any more. */
  hangUp(): void {
    for (const stop of this.under.values()) stop.abort();
  }
}
