// What of a scenario can be served: an environment by name, with all that a client may know of it, and one way to make one more of it,
// here or in another thread. Real or simulated, numbers or tools: a server cannot tell them apart.

import type { EnvFamily, Environment, Space } from '../core/environment.js';
import { threadPlugins } from '../core/plugins.js';
import type { EnvSpec } from '../env/environments.js';
import type { ToolSpec, ToolsDomain } from '../env/tools/domain.js';
import type { VectorDynamics } from '../worldmodel/dynamics.js';
import type { DeviceFlags } from './job.js';
import { worldOf } from './jobs.js';
import type { AnyScenario } from './scenario.js';

/** A task as clients may see it: never its verifier, reference or hidden goal. */
export interface TaskCard {
  readonly id: string;
  readonly split: 'train' | 'validation' | 'test';
  readonly family?: string;
  readonly tags?: readonly string[];
  /** Family `vector`: the seed that it is. */
  readonly seed?: number;
}

export interface Servable {
  readonly name: string;
  readonly family: EnvFamily;
  readonly description: string;
  /** Who answers steps: the real environment, or a world model. */
  readonly source: 'real' | 'dream';
  /** Changes whenever answers may: scenario, dynamics, backends. */
  readonly version: string;
  /** Tools of the domain; none in family `vector`. */
  readonly tools: readonly ToolSpec[];
  /** What an agent is told first; empty in family `vector`. */
  readonly policy: string;
  /** In family `vector`: seeds. */
  readonly tasks: readonly TaskCard[];
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly maxEpisodeSteps?: number;
  /** Families of typed state. For the operator alone: it holds what is hidden from clients. */
  readonly domain?: ToolsDomain;
  /** Family `vector`: the real environment that it is, or is a dream of. */
  readonly spec?: EnvSpec;
  /** What another thread makes it from; absent: it lives in this one. */
  readonly blueprint?: Blueprint;
  /** One more of it, in this thread. */
  make(): Promise<Environment>;
  /** What its environments in other threads ask of this one. @throws what the asking environment is to throw */
  answer?(request: unknown, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

/** What another thread makes environments from. Structured-clonable; what else it holds is between its family's `open` and `make`. */
export interface Blueprint {
  readonly kind: string;
  /**
   * Whether its environments ask the thread that serves (`Servable.answer`), e.g. a language model. Steps are then not done
   * again lightly: the state after each of them is kept.
   */
  readonly asks?: boolean;
  /** Whether its environments run rules of users, which may take long: they then have threads apart from all others. */
  readonly runsRules?: boolean;
}

/** What a thread gives to the code that makes environments in it. */
export interface MakerThread {
  /** Puts what batches steps of single rows between dreams and the model they share. */
  readonly batched: (model: VectorDynamics) => VectorDynamics;
  /** Asks `Servable.answer` in the thread that serves. @throws what that throws; what `signal` is aborted with, at once */
  readonly ask: (request: unknown, signal?: AbortSignal) => Promise<unknown>;
}

/** Makes any number of environments of one blueprint; what they share is closed by `close`. */
export interface EnvironmentMaker<E extends Environment = Environment> {
  make(): Promise<E>;
  close(): Promise<void>;
}

/** @throws as the family's maker; SCENARIO_UNFIT where it has none */
export async function environmentMaker(blueprint: Blueprint, thread: MakerThread): Promise<EnvironmentMaker> {
  await threadPlugins();
  const { maker } = await worldOf(blueprint.kind);
  return maker(blueprint as never, thread);
}

export interface ServableOptions {
  /** Serve the real environment even where there is a dream of it. */
  readonly real?: boolean;
  /** A world model, or a run that holds one: serves the dream of it. Family `vector`. */
  readonly model?: string;
  /** What the model's dream is computed on; `auto` unless given. */
  readonly device?: DeviceFlags;
  /** Folder for what is kept while serving: replies of language models, experience. Exists. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

/**
 * Opens what `scenario` describes.
 * @throws as its parts do; SCENARIO_UNFIT for a kind that cannot be served; TOOL_WITHOUT_RULE for the real environment of a
 * domain without rules; INPUT_MISSING
 */
export async function openServable(scenario: AnyScenario, options: ServableOptions): Promise<Servable> {
  const { open } = await worldOf(scenario.family, scenario.config.name);
  return open(scenario as never, options);
}
