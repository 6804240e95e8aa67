// The environment of a session: made when it is first needed, and brought back to where it was when what was done to it is
// not to count.

import type { Awaitable, Environment, EnvSnapshot } from '../../env/index.js';
import type { Servable } from '../../run/serving/index.js';

/** Environments whose steps and resets can be called off. */
interface Cancellable {
  reset(options: { seed?: number; task?: string }, signal?: AbortSignal): ReturnType<Environment['reset']>;
  step(action: unknown, signal?: AbortSignal): ReturnType<Environment['step']>;
}
export type SessionEnvironment = Environment & Cancellable;

/** Takes back what was done since. */
export type TakeBack = () => Awaitable<void>;

const NOTHING: TakeBack = () => {};

export class World {
  private environment: SessionEnvironment | undefined;
  /** Whether it is in an episode, over or not: there is a state to come back to. */
  private isBegun = false;
  private isClosed = false;

  /** @param origin  the state that an environment made anew is brought to, where there is one */
  constructor(
    private readonly served: Servable,
    private readonly origin: () => EnvSnapshot | undefined,
  ) {}

  /** @throws as `Servable.make`; SNAPSHOT_MISMATCH */
  ready(): Awaitable<SessionEnvironment> {
    return this.environment ?? this.made();
  }

  private async made(): Promise<SessionEnvironment> {
    const made = (await this.served.make()) as SessionEnvironment;
    // A session that was given up meanwhile wants it no more.
    if (this.isClosed) await made.close();
    const origin = this.origin();
    if (origin !== undefined) {
      await made.restore(origin);
      this.isBegun = true;
    }
    this.environment = made;
    return made;
  }

  /** To be called before a reset, step or restore. @param last  snapshot of this moment, where there is one already */
  wayBack(last: EnvSnapshot | undefined): Awaitable<TakeBack> {
    const { environment } = this;
    if (environment?.mark !== undefined) return environment.mark();
    if (environment === undefined || !this.isBegun) return () => this.discard();
    if (last !== undefined) return wayTo(environment, last);
    if (environment.synchronous) return NOTHING;
    const snapshot = environment.snapshot();
    if (snapshot instanceof Promise) return snapshot.then((one) => wayTo(environment, one));
    return wayTo(environment, snapshot);
  }

  /** A reset or restore has succeeded. */
  begun(): void {
    this.isBegun = true;
  }

  async snapshot(): Promise<EnvSnapshot> {
    return (await this.ready()).snapshot();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.environment?.close();
  }

  private async discard(): Promise<void> {
    const { environment } = this;
    this.environment = undefined;
    this.isBegun = false;
    await environment?.close();
  }
}

function wayTo(environment: SessionEnvironment, snapshot: EnvSnapshot): TakeBack {
  return async () => {
    await environment.restore(snapshot);
  };
}
