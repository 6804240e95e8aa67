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

const PARTS = ['environment', 'tasks', 'seeds', 'policies', 'settings'] as const;

/** One sentence a part: what it is here and what it was there. */
export function setDifferences(own: EvaluationSetParts, other: Partial<EvaluationSetParts>): string[] {
  return PARTS.flatMap((part) => {
    const [here, there] = [own[part] as Json, other[part] as Json | undefined];
    if (there === undefined || canonicalJson(here) === canonicalJson(there)) return [];
    return [part === 'tasks' ? tasksDiffer(own.tasks, other.tasks!) : differing(part, here, there)];
  });
}

function tasksDiffer(here: readonly string[], there: readonly string[]): string {
  const added = here.filter((id) => !there.includes(id));
  const missing = there.filter((id) => !here.includes(id));
  if (added.length + missing.length === 0) return 'tasks: the same in another order';
  const told = [
    ...(missing.length > 0 ? [`without ${listed(missing)}`] : []),
    ...(added.length > 0 ? [`with ${listed(added)} beside them`] : []),
  ];
  return `tasks: ${told.join(', ')}`;
}

/** Of objects the keys that differ. */
function differing(part: string, here: Json, there: Json): string {
  if (!isPlain(here) || !isPlain(there)) return `${part}: ${shown(here)} here, ${shown(there)} there`;
  const keys = [...new Set([...Object.keys(here), ...Object.keys(there)])];
  const own = keys.filter((key) => canonicalJson(here[key] ?? null) !== canonicalJson(there[key] ?? null));
  return own.map((key) => `${part}.${key}: ${shown(here[key])} here, ${shown(there[key])} there`).join('; ');
}

function isPlain(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const SHOWN_TASKS = 5;
const SHOWN_CHARACTERS = 60;

function listed(ids: readonly string[]): string {
  const more = ids.length - SHOWN_TASKS;
  return `${ids.slice(0, SHOWN_TASKS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : typeof value === 'string' ? value : canonicalJson(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 3)}...` : text;
}
