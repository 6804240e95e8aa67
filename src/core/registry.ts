// Where named things come from: kinds, environments, dynamics and learners. Ours and a user's come in
// by the same door, and nothing is loaded before it is asked for.

import type { ZodType } from 'zod';
import { nameHint, reverieError } from './errors.js';

/** One thing that can be named in a scenario, a stored file or on the command line. */
export interface Named {
  /** Lower-case letters, digits and dashes; unique in its registry. */
  readonly name: string;
  /** One sentence, for lists and reference pages. */
  readonly summary: string;
}

/** A named thing that is made of its settings. Light: what is heavy is behind `make`. */
export interface Entry<Made> extends Named {
  /** What its section of a scenario may say; absent where it takes no settings. */
  readonly schema?: ZodType;
  /** Loads what it takes. Called once it is needed, and never by `--help`. */
  readonly make: () => Promise<Made>;
}

const NAME = /^[a-z0-9][a-z0-9-]*$/;

// A plugin may be loaded before the room is whose registry it adds to, so what it brings waits here, by what it is.
const registries = new Map<string, Registry<Named>>();
const brought = new Map<string, Named[]>();

/**
 * Adds entries of a plugin to the registry of what they are, now or once that is there.
 * @throws PLUGIN_UNUSABLE for a name that is taken or malformed
 */
export function bring(what: string, entries: readonly Named[]): void {
  for (const entry of entries) registries.get(what)?.register(entry);
  brought.set(what, [...new Set([...(brought.get(what) ?? []), ...entries])]);
}

export class Registry<E extends Named> {
  private readonly entries = new Map<string, E>();

  /** @param what one of its entries, as an error calls it, e.g. `learner` */
  constructor(
    readonly what: string,
    ours: readonly E[] = [],
  ) {
    for (const entry of ours) this.register(entry);
    for (const entry of brought.get(what) ?? []) this.register(entry as E);
    registries.set(what, this as unknown as Registry<Named>);
  }

  /** @throws PLUGIN_UNUSABLE for a name that is taken or malformed */
  register(entry: E): void {
    const { name } = entry;
    if (!NAME.test(name)) this.refuse(name, 'names consist of lower-case letters, digits and dashes.');
    // The same object may arrive twice: a plugin named by two scenarios of one process.
    if (this.entries.has(name) && this.entries.get(name) !== entry) this.refuse(name, 'the name is taken.');
    this.entries.set(name, entry);
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** @throws NAME_UNKNOWN naming the nearest known name */
  get(name: string): E {
    const entry = this.entries.get(name);
    if (entry !== undefined) return entry;
    const hint = nameHint(name, this.names());
    throw reverieError('NAME_UNKNOWN', { problem: `There is no ${this.what} called "${name}".`, hint });
  }

  /** In the order of registration. */
  names(): string[] {
    return [...this.entries.keys()];
  }

  list(): E[] {
    return [...this.entries.values()];
  }

  private refuse(name: string, problem: string): never {
    throw reverieError('PLUGIN_UNUSABLE', {
      problem: `The ${this.what} "${name}" cannot be registered: ${problem}`,
      hint: 'Give it another name in the module that registers it.',
    });
  }
}
