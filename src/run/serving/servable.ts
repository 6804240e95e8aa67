// What of a scenario can be served: an environment by name, with all that a client may know of it, and a way to make
// one more of it. Real or dreamt, numbers or tools: whoever serves it cannot tell.

import type { EnvFamily, Environment, Space } from '../../core/environment.js';
import type { EnvSpec } from '../../env/env-spec.js';
import type { ToolSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { Blueprint } from './blueprint.js';

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
  /** Changes whenever answers may: scenario, dynamics, whoever answers. */
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
