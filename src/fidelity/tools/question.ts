// What a model of tools is asked: a call out of a real episode, in the true state after the true conversation, with what is
// true of it.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import type { Json, JsonObject } from '../../core/json.js';
import { Rng } from '../../core/rng.js';
import {
  applyOperations,
  type CallQuery,
  type Operation,
  type Prediction,
  rulesResponder,
  stateHash,
  type ToolsDomain,
} from '../../env/index.js';
import { type ReadBack, readBacksOf } from './read-backs.js';

export interface TrueAnswer {
  readonly observation: string;
  readonly isError: boolean;
  /** Absent where the state after the call is not known. */
  readonly operations?: readonly Operation[];
}

export interface ToolsQuestion {
  /** 12 hex digits of task, conversation and call. */
  readonly id: string;
  /** In the true state, after the true conversation. Its seed is replaced when it is asked. */
  readonly query: CallQuery;
  readonly truth: TrueAnswer;
  /** The true state afterwards; absent where it is not known. */
  readonly after?: JsonObject;
  /** Reads that show what changed, one a tool. */
  readonly readBacks: readonly ReadBack[];
}

/** Numbers of simultaneous changes that are told apart. */
export const CHANGE_GROUPS = ['0', '1', '2-3', '4+'] as const;
export type ChangeGroup = (typeof CHANGE_GROUPS)[number];

/** Undefined where it is not known what changed. */
export function changeGroup({ truth: { operations } }: Pick<ToolsQuestion, 'truth'>): ChangeGroup | undefined {
  if (operations === undefined) return undefined;
  if (operations.length > 3) return '4+';
  return operations.length > 1 ? '2-3' : operations.length === 1 ? '1' : '0';
}

/** @throws TOOL_WITHOUT_RULE if the domain's rules do not know the call */
export function questionOf(domain: ToolsDomain, query: CallQuery): ToolsQuestion {
  const truth = rulesResponder(domain).answer(query) as Prediction;
  const after = applyOperations(query.state, truth.operations);
  return { id: questionId(query), query, truth, after, readBacks: readBacksOf(domain, query, truth, after) };
}

export function questionId(query: CallQuery): string {
  return createHash('sha256').update(questionKey(query)).digest('hex').slice(0, 12);
}

/** The same for calls that are the same question, whatever their seed. */
function questionKey({ task, messages, call, state }: CallQuery): string {
  return canonicalJson([task.id, stateHash(state), messages.slice(1) as unknown as Json, call as unknown as Json]);
}

export interface DrawOptions {
  readonly count: number;
  readonly seed: number;
}

/** Rounds that bring nothing new before drawing ends with fewer than were wanted. */
const IDLE_ROUNDS = 3;

/**
 * `count` different calls in an order drawn by seed, or fewer where there are no more.
 * @param callsOf calls of one round of real episodes, over all tasks: a function of the round alone
 */
export async function drawQuestions(
  domain: ToolsDomain,
  callsOf: (round: number) => Promise<readonly CallQuery[]>,
  { count, seed }: DrawOptions,
): Promise<ToolsQuestion[]> {
  const found = new Map<string, CallQuery>();
  for (let round = 0, idle = 0; found.size < count && idle < IDLE_ROUNDS; round++) {
    const before = found.size;
    for (const query of await callsOf(round)) {
      const key = questionKey(query);
      if (!found.has(key)) found.set(key, query);
    }
    idle = found.size === before ? idle + 1 : 0;
  }
  const drawn = shuffled([...found.values()], Rng.fromSeed(seed).split('questions')).slice(0, count);
  return drawn.map((query) => questionOf(domain, query));
}

export function shuffled<T>(items: readonly T[], rng: Rng): T[] {
  return items
    .map((item) => ({ item, at: rng.uniform() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
