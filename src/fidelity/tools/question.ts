// What a model of tools is asked: a call out of a real episode, in the true state after the true conversation, with what is
// true of it.

import { createHash } from 'node:crypto';
import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { CallSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import { exactPrediction, type Operation, type Prediction, refusalOf } from '../../env/tools/prediction.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { comparableObservation } from '../../worldmodel/tools/checks.js';

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

/** A call of a real episode, and what came of it. */
export interface RealCall {
  readonly query: CallQuery;
  readonly truth: Prediction;
}

/** The real environment, with what it is asked and answers kept. Tools that its rules do not know are refused, and are nothing to ask about. */
export function recordingRules(domain: ToolsDomain, calls: RealCall[]): Responder {
  const real = rulesResponder(domain);
  return {
    ...real,
    answer: (query) => {
      const { name } = query.call;
      if (domain.rules?.tools.has(name)) {
        const truth = real.answer(query) as Prediction;
        calls.push({ query, truth });
        return truth;
      }
      const refusal = refusalOf([`${name} cannot be used here`]);
      return exactPrediction(refusal, { backend: 'real', modelVersion: real.version, why: ['no rule'] });
    },
  };
}

/** @param truth  what the domain's rules say. @throws TOOL_WITHOUT_RULE if they do not know the call */
export function questionOf(
  domain: ToolsDomain,
  query: CallQuery,
  truth = rulesResponder(domain).answer(query) as Prediction,
): ToolsQuestion {
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
  callsOf: (round: number) => Promise<readonly RealCall[]>,
  { count, seed }: DrawOptions,
): Promise<ToolsQuestion[]> {
  const found = new Map<string, RealCall>();
  for (let round = 0, idle = 0; found.size < count && idle < IDLE_ROUNDS; round++) {
    const before = found.size;
    for (const call of await callsOf(round)) {
      const key = questionKey(call.query);
      if (!found.has(key)) found.set(key, call);
    }
    idle = found.size === before ? idle + 1 : 0;
  }
  const drawn = shuffled([...found.values()], Rng.fromSeed(seed).split('questions')).slice(0, count);
  return drawn.map(({ query, truth }) => questionOf(domain, query, truth));
}

export function shuffled<T>(items: readonly T[], rng: Rng): T[] {
  return items
    .map((item) => ({ item, at: rng.uniform() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

// What is left of a change when it is read: reads that answer otherwise after a call than before it, and whether a model
// answers them as is true. The only test of memory for models that keep no state.

/** A read that answers otherwise after a call than before. */
export interface ReadBack {
  readonly call: CallSpec;
  /** What it truly answers afterwards. */
  readonly observation: string;
}

type Changes = { readonly operations: readonly Operation[] };

/** The shortest of each read tool with one required argument at most; none where nothing changed or no read shows it. */
export function readBacksOf(
  domain: ToolsDomain,
  query: CallQuery,
  { operations }: Changes,
  after: JsonObject,
): ReadBack[] {
  if (operations.length === 0) return [];
  const answer = (state: JsonObject, call: CallSpec) =>
    rulesResponder(domain).answer({ ...query, state, call: { id: 'read-back', ...call } }) as Prediction;
  const values = namedValues(query.call, operations, after);
  return domain.tools
    .filter(({ kind, name }) => kind === 'read' && domain.rules?.tools.has(name))
    .flatMap((tool) => {
      const { properties = {}, required = [] } = tool.parameters as { properties?: JsonObject; required?: string[] };
      const names = Object.keys(properties).filter((name) => required.every((needed) => needed === name));
      const calls = names.flatMap((name) =>
        values.map((value): CallSpec => ({ name: tool.name, arguments: { [name]: value } })),
      );
      const shown = calls.flatMap((call): ReadBack[] => {
        const { observation, isError } = answer(after, call);
        return isError || answer(query.state, call).observation === observation ? [] : [{ call, observation }];
      });
      return shown.sort((a, b) => a.observation.length - b.observation.length).slice(0, 1);
    });
}

/** What changed, by every name it has in call, paths and changed entities. */
function namedValues(call: CallSpec, operations: readonly Operation[], after: JsonObject): string[] {
  const paths = operations.map(({ path }) => path.split('/').slice(1));
  const entities = paths.map(([collection, key]) => (after[collection] as JsonObject | undefined)?.[key]);
  const texts = [call.arguments, ...entities].flatMap((entity) =>
    typeof entity === 'object' && entity !== null ? Object.values(entity as JsonObject) : [],
  );
  return [...new Set([...paths.map(([, key]) => key), ...texts])].filter(
    (value): value is string => typeof value === 'string',
  );
}

interface ReadBackQuery {
  /** As the question was asked. */
  readonly query: CallQuery;
  readonly prediction: Prediction;
  readonly readBacks: readonly ReadBack[];
  /** Undefined where no answer came. */
  readonly answer: (query: CallQuery) => Promise<Prediction | undefined>;
}

/** Whether all reads are answered as is true, in the model's own state and conversation; undefined where there is none. */
export async function isReadBackRight(asked: ReadBackQuery): Promise<boolean | undefined> {
  const { query, prediction, readBacks, answer } = asked;
  if (readBacks.length === 0) return undefined;
  const { observation, isError, operations } = prediction;
  const { id: toolCallId, name } = query.call;
  const told: Message = { role: 'tool', toolCallId, name, content: observation, isError };
  const state = applyOperations(query.state, operations);
  for (const [i, read] of readBacks.entries()) {
    const call = { id: `read_back_${i}`, ...read.call };
    const messages: Message[] = [...query.messages, told, { role: 'assistant', content: null, toolCalls: [call] }];
    const found = await answer({ ...query, state, messages, call, step: query.step + 1 });
    if (found === undefined || !isSameObservation(found.observation, read.observation)) return false;
  }
  return true;
}

/** JSON is compared as JSON, other text but for white space. */
export function isSameObservation(a: string, b: string): boolean {
  return a === b || comparableObservation(a) === comparableObservation(b);
}
