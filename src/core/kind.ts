// What a kind of world is: one object that says all that differs between worlds of numbers, of tool calls, of text. Whoever
// handles scenarios, jobs and servers looks the kind up and asks it; nobody compares its name.

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
}

/** How one job (`train`, `synth`, ...) is done in worlds of a kind. */
export interface KindJob {
  /** The job, loaded when it is asked for: from its context to its result, as `Job` of the run room has it. */
  readonly load: () => Promise<(context: never) => Promise<unknown>>;
  /** What people are told of its result, a `ResultView` of the run room; absent: its plain values. */
  readonly text?: () => Promise<(result: never) => unknown>;
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

/** A way to live the episodes of domains that another kind's scenarios name. */
export interface DomainView {
  /** Whether a domain is lived so. */
  readonly of: (domain: never) => boolean;
  /** An environment of tools as one of this kind. */
  readonly make: (environment: never) => Environment;
}

/** How environments of a kind are made in threads of a server. */
export interface Hosted {
  /** Loads what makes them from a `Blueprint`: a `MakerOf` of the run room. */
  readonly maker: () => Promise<(blueprint: never, thread: never) => Promise<unknown>>;
  /** Whether they run rules of users, which may take long: each such world then has threads of its own. */
  readonly runsRules: boolean;
}

/**
 * A kind of world. It is light: whatever reads, computes or draws is behind a loader. The loaders' own types are those of the
 * rooms that call them, as this room knows none of them.
 */
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
   * Absent for a face of another kind's scenarios, which cannot be named as `family`. The layers are those that a scenario is made
   * of, not checked yet: its file, profiles and flags. What they name, the kind may load before it says what they may say.
   */
  readonly scenario?: (layers?: readonly Readonly<Record<string, unknown>>[]) => Promise<ScenarioSections>;
  /** Of a face: which domains it is one of. */
  readonly view?: DomainView;
  /** By the job's name; what is not there cannot be done in it. */
  readonly jobs: Readonly<Record<string, KindJob>>;
  /** Makes what a server serves of a scenario: an `OpenServable` of the run room. */
  readonly open?: () => Promise<(scenario: never, options: never) => Promise<unknown>>;
  /** How a server makes environments of it in threads; absent: they live on the loop that serves. */
  readonly hosted?: Hosted;
  /** Tries the contract of the real environment of a scenario: `reverie check-env`. */
  readonly checkEnvironment?: () => Promise<(scenario: never) => Promise<unknown>>;
  /** What learned dynamics a job computes with, for the choice of a device; absent: it computes with none. */
  readonly device?: () => Promise<(job: string, scenario: never, inputs: never) => unknown>;
  /** Whether rows of `synth` can be lived over a queue, and what stands against it in a configuration; absent: they cannot. */
  readonly queue?: (config: never) => { readonly setting: string; readonly problem: string } | undefined;
}

// The aspects of fidelity by name: what scenarios ask for, what reports are ordered by, and what the page shows.

/** In the order they are read. */
export const FIDELITY_SECTIONS = [
  'one-step',
  'elements',
  'k-steps',
  'reward-end',
  'calibration',
  'rank',
  'distribution',
  'must-fail',
  'learning',
  'horizon',
] as const;
export type FidelitySectionId = (typeof FIDELITY_SECTIONS)[number];
