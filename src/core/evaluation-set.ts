// The evaluation set of a figure: which tasks in which order, which seeds, which environment and which policies it was measured on. Two
// figures may be compared where their sets have one hash, whatever machine they come from; nothing in one names a place.

import { canonicalJson, type Json, sha256 } from './canonical-json.js';

export interface EvaluationSetParts {
  /** Version of the environment: rules, data, constants of a body, the packages it runs on. */
  readonly environment: Json;
  /** Ids in the order they are taken in; empty in a world without tasks. */
  readonly tasks: readonly string[];
  readonly seeds: readonly number[];
  /** Versions of agents, users and backends, by role. */
  readonly policies: Readonly<Record<string, string>>;
  /** What else decides what is measured: episodes, limits, questions. */
  readonly settings: Json;
}

export interface EvaluationSet extends EvaluationSetParts {
  /** First 16 hex digits of the SHA-256 of the rest. */
  readonly hash: string;
}

export function evaluationSetOf(parts: EvaluationSetParts): EvaluationSet {
  return { hash: sha256(canonicalJson(parts)).slice(0, 16), ...parts };
}
