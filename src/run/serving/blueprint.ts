// What a server needs to make an environment in a thread of its own: data, and who knows how. The kind of world has the maker
// (`Kind.hosted`); servers and their threads look it up by the blueprint's kind and know nothing else of it.

import type { Environment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { threadPlugins } from '../../core/plugins.js';
import { kinds } from '../../kinds/registry.js';
import type { VectorDynamics } from '../../worldmodel/dynamics.js';

/** Structured-clonable; what else it holds is between a kind's `open` and its maker. */
export interface Blueprint {
  /** Name of the kind whose maker makes environments of it. */
  readonly kind: string;
  /**
   * Whether its environments ask the thread that serves (`Servable.answer`), e.g. a language model. Steps are then not done
   * again lightly: the state after each of them is kept.
   */
  readonly asks?: boolean;
}

/** What a thread gives to whoever makes environments in it. */
export interface MakerThread {
  /** Puts what batches steps of single rows between dreams and the model they share. */
  readonly batched: (model: VectorDynamics) => VectorDynamics;
  /**
   * Asks `Servable.answer` in the thread that serves. @throws what that throws; what `signal` is aborted with, at once
   */
  readonly ask: (request: unknown, signal?: AbortSignal) => Promise<unknown>;
}

/** Makes any number of environments of one blueprint; what they share is closed by `close`. */
export interface EnvironmentMaker<E extends Environment = Environment> {
  make(): Promise<E>;
  close(): Promise<void>;
}

/** What a kind of world has as `hosted.maker`. */
export type MakerOf<B extends Blueprint = Blueprint> = (blueprint: B, thread: MakerThread) => Promise<EnvironmentMaker>;

/** @throws as the kind's maker; NAME_UNKNOWN, SCENARIO_UNFIT where there is no such kind or it has no maker */
export async function environmentMaker(blueprint: Blueprint, thread: MakerThread): Promise<EnvironmentMaker> {
  await threadPlugins();
  return ((await hosting(blueprint).maker()) as unknown as MakerOf)(blueprint, thread);
}

/** Whether environments of it run rules of users, which may take long: they then have threads apart from all others. */
export function runsRules(blueprint: Blueprint): boolean {
  return hosting(blueprint).runsRules;
}

function hosting({ kind }: Blueprint) {
  const { hosted, name } = kinds.get(kind);
  if (hosted !== undefined) return hosted;
  const able = kinds.list().filter((one) => one.hosted !== undefined);
  throw reverieError('SCENARIO_UNFIT', {
    problem: `Scenario "${name}" is of family ${name}; this is for scenarios of family ${able.map((one) => one.name).join(' or ')}.`,
    hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
  });
}
