// What passes between a host and its worker threads. Requests and answers of one turn of the event loop travel as one list,
// and rows as copies: an action is a few numbers, and whoever sent it keeps it to do it again.

import type { PackedError } from '../../core/errors.js';
import type {
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  VectorEnvironment,
} from '../../env/index.js';
import type { VectorBlueprint } from '../../run/serving/index.js';

/** What changes the state of an environment. Done again from the same state they give the same bytes. */
export type Command =
  | { readonly kind: 'reset'; readonly options: ResetOptions }
  | { readonly kind: 'step'; readonly action: Float32Array }
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
  readonly revival?: { readonly model: string; readonly past: Past };
  /** A snapshot of the state after it is wanted with the answer. */
  readonly withSnapshot: boolean;
}

export type HostRequest =
  | EnvironmentRequest
  | { readonly kind: 'load'; readonly model: string; readonly blueprint: VectorBlueprint }
  | { readonly kind: 'close'; readonly env: number };

/** What a thread is told when it starts. */
export interface ThreadData {
  /** URL of a module with `vectorMaker`; that of the package unless given. */
  readonly maker?: string;
  /** Rows of a model's step at most; 1: every dream asks for itself. */
  readonly batchRows: number;
}

export type Description = Pick<VectorEnvironment, 'id' | 'observationSpace' | 'actionSpace' | 'maxEpisodeSteps'>;

export interface AnswerOf {
  readonly describe: Description;
  readonly reset: ResetResult<Float32Array>;
  readonly step: StepResult<Float32Array>;
  readonly snapshot: EnvSnapshot;
  readonly restore: Float32Array;
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

/** From a thread: it is ready, or answers and the rows of each model call since the last ones. */
export type ThreadMessage = 'ready' | { readonly answers: readonly HostAnswer[]; readonly batches: readonly number[] };

// How an environment came to be as it is: a snapshot and what was done since. Dynamics are deterministic, so that whoever
// restores the one and does the other has it as it was, to the byte, in any thread.

/** Commands between two snapshots: doing them again after a death must not take long, nor must snapshots at every step. */
const COMMANDS_BETWEEN = 64;

export class Journal {
  private state: Past = { commands: [] };
  /** The snapshot is wanted after every step by whoever has the environment. */
  private isAsked = false;

  get past(): Past {
    return this.state;
  }

  /** A snapshot of this moment, where it is known. */
  get current(): EnvSnapshot | undefined {
    return this.state.commands.length === 0 ? this.state.snapshot : undefined;
  }

  /** Whether the next command is to bring a snapshot of the state after it. */
  get wantsSnapshot(): boolean {
    return this.isAsked || this.state.commands.length >= COMMANDS_BETWEEN - 1;
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

  /** Answers what brings this moment back. */
  mark(): () => void {
    const { state } = this;
    return () => {
      this.state = state;
    };
  }
}
