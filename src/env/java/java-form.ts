// How games of a jar are spoken to: what to call, and what is made of the answers. Each jar has a form of its own.

import type { JavaCall } from './gateway-lines.js';
import type { JavaValue } from './java-thread.js';

/** What a game says after a command. */
export interface JavaMoment {
  readonly observation: string;
  readonly look: string;
  readonly inventory: string;
  /** At most 1, which is all there is to reach. */
  readonly score: number;
  readonly done: boolean;
  readonly success: boolean;
  /** Commands that do something now, where the game tells them by itself. */
  readonly admissible?: readonly string[];
  /** The command was not understood. */
  readonly isError?: boolean;
  /** The command did nothing, not even to a clock: the game stands where it stood. */
  readonly isIdle?: boolean;
  /** Why the game cannot be played, where it says so instead of throwing. */
  readonly fault?: string;
}

/** What to call, and what is made of the answers. */
export interface Asked<T> {
  readonly calls: readonly JavaCall[];
  read(values: readonly JavaValue[]): T;
}

/** How games of a jar are spoken to. `G` is what tells one of them from others. */
export interface JavaForm<G> {
  /** The class that holds one game; made without arguments. */
  readonly className: string;
  /** Whether its plays would meet those of others in what its classes keep, so that each needs classes of its own. */
  isolated(game: G): boolean;
  /** Games held at once, of either kind. */
  readonly seats: { readonly shared: number; readonly isolated: number };
  begin(game: G): Asked<JavaMoment & { readonly goal: string }>;
  step(text: string, before: JavaMoment): Asked<JavaMoment>;
  /** For games that do not tell with each moment. */
  admissible?(): Asked<readonly string[]>;
  walkthrough(game: G): Asked<readonly string[]>;
}

export interface PlayedGame {
  readonly id: string;
}
