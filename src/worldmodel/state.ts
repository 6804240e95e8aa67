// Keeps a typed state honest: what a backend proposes for a call is believed only if the state can do it, stays what its
// schema and its invariants say, and nothing is spoken of that does not exist.

import type { Json, JsonObject } from '../core/canonical-json.js';
import { ReverieError } from '../core/errors.js';
import { applyOperations } from '../env/state/operations.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import type { Message, ToolCall } from '../env/tools/message.js';
import type { Operation } from '../env/tools/prediction.js';
import { heldRules } from './induced/held-rules.js';
import type { RawProposal, Trust } from './tools/backend-model.js';
import { idPatternOf } from './tools/id-pattern.js';
import { unknownIds } from './tools/provenance.js';
import { schemaCheckOf } from './tools/schema-check.js';
import { toolOf } from './tools/tool-of.js';

export interface ProposalLimits {
  readonly maxOperations: number;
  readonly maxObservationChars: number;
  /** Levels of a value that an operation brings. */
  readonly maxDepth: number;
}

export const PROPOSAL_LIMITS: ProposalLimits = { maxOperations: 200, maxObservationChars: 100_000, maxDepth: 32 };

export interface ProposalQuery {
  readonly domain: ToolsDomain;
  readonly state: JsonObject;
  readonly call: Pick<ToolCall, 'name' | 'arguments'>;
  /** The conversation: ids said there may be spoken of. */
  readonly messages: readonly Message[];
  readonly proposal: Pick<RawProposal, 'operations' | 'observation' | 'isError' | 'confidence' | 'claim'>;
  /** `proposal` if absent. */
  readonly trust?: Trust;
  readonly limits?: ProposalLimits;
  /** Whether made-up ids are a fault; with regular expressions of ids that the state does not show. */
  readonly provenance?: { readonly check: boolean; readonly patterns?: readonly string[] };
  /** Whether a success must show what it says it did; default true. */
  readonly outcome?: boolean;
}

export type CheckedProposal =
  | {
      readonly operations: readonly Operation[];
      readonly after: JsonObject;
      /** What the agent is shown: as the domain draws it from the state, where it does. */
      readonly observation: string;
      readonly problems?: undefined;
    }
  | { readonly problems: readonly string[] };

/** The state after the proposal, or everything that is wrong with it: sentences that a model can repair it by. */
export function checkProposal(query: ProposalQuery): CheckedProposal {
  const { state, proposal, trust = 'proposal', limits = PROPOSAL_LIMITS } = query;
  const oversize = sizeProblems(proposal, limits);
  if (oversize.length > 0) return { problems: oversize };
  if (trust === 'text') return textOutcome(state, proposal);
  const applied = afterOperations(state, proposal.operations);
  if (typeof applied === 'string') return { problems: [applied, ...callProblems(query)] };
  const problems = [
    ...callProblems(query),
    ...stateProblems(query, applied),
    ...unmetProblems(query, applied),
    ...idProblems(query),
  ];
  if (problems.length > 0) return { problems };
  const { operations } = proposal;
  const isTested = operations.some(({ op }) => op === 'test');
  const kept = isTested ? operations.filter(({ op }) => op !== 'test') : operations;
  return { operations: kept, after: applied, observation: shownOf(query, applied) };
}

function textOutcome(state: JsonObject, { operations, observation }: ProposalQuery['proposal']): CheckedProposal {
  if (operations.length > 0) return { problems: ['A plain text model has no state.'] };
  return { operations, after: state, observation };
}

/** Errors are told in the words of who answers. */
function shownOf({ domain, proposal }: ProposalQuery, after: JsonObject): string {
  return proposal.isError ? proposal.observation : (domain.rendering?.(after) ?? proposal.observation);
}

function sizeProblems({ operations, observation, confidence }: ProposalQuery['proposal'], limits: ProposalLimits) {
  const problems: string[] = [];
  if (!(confidence >= 0 && confidence <= 1)) problems.push(`confidence is ${confidence}; it must lie in [0, 1].`);
  if (operations.length > limits.maxOperations)
    problems.push(`There are ${operations.length} operations; at most ${limits.maxOperations} are allowed.`);
  if (observation.length > limits.maxObservationChars)
    problems.push(`The observation has ${observation.length} characters; at most ${limits.maxObservationChars}.`);
  const deep = operations.find((operation) => 'value' in operation && isDeeper(operation.value, limits.maxDepth));
  if (deep !== undefined) problems.push(`The value at "${deep.path}" is nested deeper than ${limits.maxDepth} levels.`);
  return problems;
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || (Object.values(value) as Json[]).some((part) => isDeeper(part, levels - 1));
}

function afterOperations(state: JsonObject, operations: readonly Operation[]): JsonObject | string {
  try {
    return applyOperations(state, operations);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return error.message;
    throw error;
  }
}

/** What the call itself forbids: changes by reads and by errors, success where it must fail. */
function callProblems({ domain, state, call, proposal, trust }: ProposalQuery): string[] {
  const changes = proposal.operations.some(({ op }) => op !== 'test');
  const problems: string[] = [];
  const spec = toolOf(domain, call.name);
  if (changes && spec?.kind !== 'write')
    problems.push(`Tool ${call.name} is of kind ${spec?.kind ?? 'unknown'}: it must not change the state.`);
  if (changes && proposal.isError) problems.push('A call that fails must not change the state.');
  if (proposal.isError || trust === 'exact') return problems;
  const reasons = [
    ...(domain.rules?.preconditions(state, call as ToolCall) ?? []),
    ...heldRules(domain.induced).preconditions(state, call),
  ];
  return [...problems, ...reasons.map((reason) => `The call must fail here, with an error: ${reason}`)];
}

function stateProblems({ domain, state }: ProposalQuery, after: JsonObject): string[] {
  if (after === state) return [];
  const faults = schemaCheckOf(
    domain.stateSchema,
    `the state of domain "${domain.id}"`,
  )(changedPart(state, after, domain.stateSchema));
  const broken = [
    ...(domain.rules?.invariants(state, after) ?? []),
    ...heldRules(domain.induced).invariants(state, after),
  ];
  return [
    ...faults.map((fault) => `The state would not fit its schema: ${fault}.`),
    ...broken.map((reason) => `The state would break a rule: ${reason}`),
  ];
}

/** What a call that is said to have succeeded must show: what calls like it do, and what the proposal claims of this one. */
function unmetProblems(query: ProposalQuery, after: JsonObject): string[] {
  const { domain, state, call, proposal, trust, outcome = true } = query;
  if (trust === 'exact' || proposal.isError || !outcome) return [];
  const unmet = domain.rules?.unmet?.(after, call) ?? [];
  const { claim } = proposal;
  const unshown = claim === undefined ? [] : (domain.rules?.unshown?.(state, after, claim) ?? []);
  return [
    ...unmet.map((reason) => `The call is said to have succeeded, but ${reason}.`),
    ...unshown.map((reason) => `The changes are not what they are said to be: ${reason}.`),
  ];
}

function idProblems({ proposal, trust, provenance, ...query }: ProposalQuery): string[] {
  if (trust === 'exact' || provenance?.check === false) return [];
  const { operations, observation } = proposal;
  const unknown = unknownIds({ ...query, operations, observation }, idPatternOf(query.domain, provenance?.patterns));
  if (unknown.length === 0) return [];
  return [`These ids are in neither state, call nor conversation, and nothing creates them: ${unknown.join(', ')}.`];
}

// The part of a state that a check must look at again: entities that are the same object as before were found right
// before. Leaves a 3 MB state of 3,000 entities with the few that changed, where its schema allows to judge them alone.

/** Keywords of a collection's schema that speak of its entries one by one. */
const ENTRYWISE = new Set(['type', 'additionalProperties', 'title', 'description', '$comment', 'default']);
/** Keywords of the state's schema that speak of its parts one by one. */
const PARTWISE = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'title', 'description', '$schema', '$id', '$comment'],
  ...['$defs', 'definitions'],
]);

/** `after` without what is known to be right, as its schema judges entry by entry. */
function changedPart(before: JsonObject, after: JsonObject, schema: JsonObject): JsonObject {
  if (!isOnlyOf(schema, PARTWISE)) return after;
  const parts = (schema.properties ?? {}) as JsonObject;
  const entries = Object.entries(after).map(([key, part]) => [key, changedEntries(before[key], part, parts[key])]);
  return Object.fromEntries(entries);
}

function changedEntries(before: Json | undefined, after: Json, schema: Json | undefined): Json {
  if (!isObject(before) || !isObject(after) || !isObject(schema) || !isOnlyOf(schema, ENTRYWISE)) return after;
  // Of a list nothing is left out, as faults are named by the place of an entry.
  if (Array.isArray(before) || Array.isArray(after)) return after;
  return Object.fromEntries(Object.entries(after).filter(([key, entry]) => entry !== before[key]));
}

function isOnlyOf(schema: JsonObject, keywords: ReadonlySet<string>): boolean {
  return Object.keys(schema).every((keyword) => keywords.has(keyword));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
