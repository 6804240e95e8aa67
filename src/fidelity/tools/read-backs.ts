// What is left of a change when it is read: reads that answer otherwise after a call than before it, and whether a model
// answers them as is true. The only test of memory for models that keep no state.

import type { JsonObject } from '../../core/json.js';
import {
  applyOperations,
  type CallQuery,
  type CallSpec,
  type Message,
  type Operation,
  type Prediction,
  rulesResponder,
  type ToolsDomain,
} from '../../env/index.js';
import { comparableObservation } from '../../worldmodel/index.js';

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

export interface ReadBackQuery {
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
