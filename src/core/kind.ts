// What a kind of world is: one object that says all that differs between worlds of numbers, of tool calls, of text. Code that
// handles scenarios, jobs and servers looks the kind up and asks it; its name is compared nowhere.

import type { ZodType } from 'zod';
import type { Environment } from './environment.js';

/** What a scenario of any kind says. */
export interface CommonConfig {
  /** The kind; absent where it is the one that needs no naming. */
  readonly family?: string;
  readonly name: string;
  readonly description: string;
  readonly seed: number;
  /** Worker threads; `auto`: as many as help the job. */
  readonly workers: number | 'auto';
  /** Modules that add kinds, environments, learners: relative paths, or names of packages. */
  readonly plugins?: readonly string[];
}

/** A scenario ready to run; plain JSON, saved with a run as it is. `config` is deeply frozen, with every default filled in. */
export interface ScenarioOf<F extends string = string, C extends CommonConfig = CommonConfig> {
  readonly family: F;
  readonly config: C;
  /** SHA-256 (hex) of the canonical JSON of what identifies `config`, of the files it names, and of its plugins' modules. */
  readonly hash: string;
  /** Folder that relative paths in `config` start from. */
  readonly folder: string;
  /** SHA-256 (hex) of the files that its environment is made of; absent where it names none. */
  readonly environment?: string;
  /** Profile that was applied. */
  readonly profile?: string;
}

/** What a scenario file of one kind may say, and what of it counts. */
export interface ScenarioSections<C extends CommonConfig = never> {
  /** The effective configuration: one profile and all flags applied, defaults filled in. */
  readonly schema: ZodType;
  /** A scenario file: the same, and `profiles`. */
  readonly fileSchema: ZodType;
  /** What no schema can see. @throws a catalogue error naming the value */
  readonly check?: (config: C) => void;
  /** What of a configuration makes it this scenario: all that decides results. `seed` and `workers` are left out already. */
  readonly identity?: (config: Omit<C, 'seed' | 'workers'>) => object;
  /** Absolute paths of files that decide what the scenario means; those that are not there are passed over. */
  readonly files?: (config: C, folder: string) => string[];
  /** As `files`, of those that the environment is made of, which tell it from others in evaluation sets. */
  readonly environmentFiles?: (config: C, folder: string) => Promise<string[]>;
}

/** Values of a kind between memory and JSON, as protocols carry them. Keys are in snake_case, as everything on the wire. */
export interface ValueCodec {
  encodeObservation(observation: unknown): unknown;
  /**
   * An action as it came over the wire. What lies outside the space is the environment's to refuse.
   * @throws REQUEST_INVALID for what is none at all
   */
  decodeAction(action: unknown): unknown;
}

/** How worlds of a kind look from outside: to clients, the protocols they speak, and the page. */
export interface Face {
  /** What an action is: a row of numbers, a line of text, or a turn of a conversation, of words and calls. */
  readonly acts: 'numbers' | 'line' | 'turn';
  /** What a task is: a seed, or one of the domain's by its id. */
  readonly tasks: 'seed' | 'id';
  readonly codec: ValueCodec;
  /** Of worlds that act by lines: the line that a call of one of its tools is. */
  readonly lineOf?: (call: GivenCall) => unknown;
}

/** A call of a tool, unchecked. */
export interface GivenCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A way to play episodes of domains that another kind's scenarios name. */
interface DomainView {
  /** Whether a domain is played so. */
  readonly of: (domain: never) => boolean;
  /** An environment of tools as one of this kind. */
  readonly make: (environment: never) => Environment;
}

/** A kind of world. It is light: whatever reads, computes or draws is behind a loader. What jobs do in it is in `run/jobs.ts`. */
export interface Kind {
  /** What a scenario says as `family`. */
  readonly name: string;
  /** One sentence, for lists and reference pages. */
  readonly summary: string;
  /** Arrays with shape and dtype, or typed state with operations and a rendering. */
  readonly representation: 'numbers' | 'structured';
  /** Absent where it cannot be served. */
  readonly face?: Face;
  /**
   * Absent for a view of another kind's scenarios, which cannot be named as `family`. The layers are those that a scenario is made
   * of, not checked yet: its file, profiles and flags. What they name, the kind may load before it says what they may say.
   */
  readonly scenario?: (layers?: readonly Readonly<Record<string, unknown>>[]) => Promise<ScenarioSections>;
  /** Of which domains of tools it is a view. */
  readonly view?: DomainView;
  /** Of a kind from outside: its jobs by name, each loaded when it is asked for, from the context of a run to the result. */
  readonly jobs?: Readonly<Record<string, () => Promise<(context: never) => Promise<unknown>>>>;
}

// The aspects of fidelity by name: what scenarios ask for, what reports are ordered by, and what the page shows.

/** In the order they are read. */
export const FIDELITY_SECTIONS = [
  'one-step',
  'k-steps',
  'reward-end',
  'calibration',
  'rank',
  'must-fail',
  'noise',
  'horizon',
] as const;
