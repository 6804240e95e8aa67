// The way back of a session: a snapshot and what was done since. Environments answer the same to the same, to the byte, so
// restoring the one and repeating the other leads to where the session was. It serves alike where a thread was killed, where work
// came too late, where a server was restarted, and for a fork.

import type {
  Awaitable,
  Environment,
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
} from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/servable.js';

/** What changes the state of an environment. */
export type Command =
  | { readonly kind: 'reset'; readonly options: ResetOptions }
  | { readonly kind: 'step'; readonly action: unknown }
  | { readonly kind: 'restore'; readonly snapshot: EnvSnapshot; readonly options: RestoreOptions };

export interface AnswerOf {
  readonly reset: ResetResult<unknown>;
  readonly step: StepResult<unknown>;
  readonly restore: unknown;
}

/** An environment that can be called off where it does not answer at once, and may live in a thread that dies. */
export interface LiveEnvironment extends Environment {
  reset(options?: ResetOptions, signal?: AbortSignal): ReturnType<Environment['reset']>;
  step(action: unknown, signal?: AbortSignal): ReturnType<Environment['step']>;
  /** It was under way in a thread that died: it is asked alone. */
  isSuspect?: boolean;
}

export function perform(environment: LiveEnvironment, command: Command, signal?: AbortSignal): Awaitable<unknown> {
  if (command.kind === 'step') return environment.step(command.action, signal);
  if (command.kind === 'reset') return environment.reset(command.options, signal);
  return environment.restore(command.snapshot, command.options);
}

/** The environment's state is gone with the thread it was in. */
export class StateLost extends Error {
  /** @param wasAsked  whether the request was under way, and so may have killed the thread */
  constructor(
    readonly problem: string,
    readonly wasAsked: boolean,
  ) {
    super(problem);
  }
}

/** A state of an environment. */
interface Past {
  /** None: as it was made. */
  readonly snapshot?: EnvSnapshot;
  readonly commands: readonly Command[];
}

/** Commands between two snapshots: doing them again must not take long, nor must snapshots at every step. */
const COMMANDS_BETWEEN = 64;
/** Threads that may die as a request is under way: the first with others beside it, then it is asked alone. */
const ATTEMPTS = 4;

/** An environment and its past. */
export class World {
  private environment: LiveEnvironment | undefined;
  /** The environment is not in the state that `past` tells. */
  private isStale = false;
  private isClosed = false;
  private running: Promise<unknown> | undefined;

  constructor(
    private readonly served: Servable,
    private state: Past = { commands: [] },
  ) {}

  /** What brings this moment back, in another world of the same environment. */
  get past(): Past {
    return this.state;
  }

  /** Does it. @throws what the environment throws; ENVIRONMENT_LOST; the state is unchanged then */
  async do<C extends Command>(command: C, signal: () => AbortSignal): Promise<AnswerOf[C['kind']]> {
    const answer = await this.ask(command.kind, async (environment) => {
      try {
        return await perform(environment, command, environment.synchronous ? undefined : signal());
      } catch (error) {
        // A step that fails leaves everything as it was; a reset or restore need not.
        if (command.kind !== 'step') this.isStale = true;
        throw error;
      }
    });
    const before = command.kind === 'restore' ? { commands: [] } : this.state;
    this.state = { ...before, commands: [...before.commands, command] };
    if (this.state.commands.length >= this.commandsBetween) await this.save();
    return answer as AnswerOf[C['kind']];
  }

  /** A snapshot of this moment. */
  async save(): Promise<EnvSnapshot> {
    const { snapshot, commands } = this.state;
    if (snapshot !== undefined && commands.length === 0) return snapshot;
    const taken = await this.ask('snapshot', (environment) => environment.snapshot());
    this.state = { snapshot: taken, commands: [] };
    return taken;
  }

  /** Resolves once what is under way has ended and the environment is closed. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.running;
    await this.environment?.close();
  }

  /** A step that asks a language model is not done again; neither is one of an environment that nothing is known of. */
  private get commandsBetween(): number {
    const { blueprint } = this.served;
    const isCheap = this.environment?.synchronous || (blueprint !== undefined && !blueprint.asks);
    return isCheap ? COMMANDS_BETWEEN : 1;
  }

  private ask<R>(what: string, work: (environment: LiveEnvironment) => Awaitable<R>): Promise<R> {
    const answer = this.untilAnswered(what, work);
    this.running = answer.catch(() => {});
    return answer;
  }

  /** In another environment where one is lost with its thread. */
  private async untilAnswered<R>(what: string, work: (environment: LiveEnvironment) => Awaitable<R>): Promise<R> {
    let deaths = 0;
    for (;;) {
      try {
        const environment = await this.ready(deaths > 0);
        const answer = await work(environment);
        if (deaths > 0) environment.isSuspect = false;
        return answer;
      } catch (error) {
        if (!(error instanceof StateLost)) throw error;
        this.isStale = true;
        if (error.wasAsked) deaths++;
        if (deaths >= ATTEMPTS) {
          throw reverieError('ENVIRONMENT_LOST', { request: what, times: deaths, problem: error.problem }, error);
        }
      }
    }
  }

  /** The environment in the state of `past`. @throws as `Servable.make` */
  private async ready(isSuspect: boolean): Promise<LiveEnvironment> {
    const { environment: old } = this;
    if (old !== undefined && !this.isStale) return old;
    this.environment = undefined;
    await old?.close();
    const made = (await this.served.make()) as LiveEnvironment;
    this.environment = made;
    // It was given up meanwhile.
    if (this.isClosed) await made.close();
    if (isSuspect) made.isSuspect = true;
    this.isStale = true;
    const { snapshot, commands } = this.state;
    if (snapshot !== undefined) await made.restore(snapshot);
    for (const command of commands) await perform(made, command);
    this.isStale = false;
    return made;
  }
}
