// What else could be done in an expert's state: one of what the world lists as possible there, where it does; else the expert's call with
// one thing changed, or another call that fits its tool's schema, with ids that were seen or that the state holds.

import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { Rng } from '../../core/rng.js';
import type { ToolSpec } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Admissible, ToolsAction } from '../../env/tools/tools-family.js';
import { sampleArguments, seenWords } from '../episodes/agents/random-agent.js';
import { Entities } from '../tasks/entities.js';
import { argumentCheck } from '../tasks/task-play.js';

export interface ForkPoint {
  readonly tools: readonly ToolSpec[];
  readonly state: JsonObject;
  readonly messages: readonly Message[];
  readonly expert: ToolsAction;
  /** What the world lists as possible here; absent where it lists nothing. */
  readonly admissible?: Admissible;
}

const TRIES = 12;
/** Share of ids that are taken from the state where the conversation has none of their kind. */
const FROM_STATE = 0.5;

/** An action that `taken` does not hold yet; undefined where none was found. */
export function sampledAlternative(point: ForkPoint, rng: Rng, taken: ReadonlySet<string>): ToolsAction | undefined {
  if (point.admissible !== undefined) return listedAlternative(point.admissible, rng, taken);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const stream = rng.split(attempt);
    const call = stream.uniform() < 0.5 ? perturbed(point, stream) : sampled(point, stream);
    if (call === undefined) continue;
    const action: ToolsAction = { content: null, toolCalls: [call] };
    if (!taken.has(actionKey(action))) return action;
  }
  return undefined;
}

/** Each that was not tried yet is as likely as any other. */
function listedAlternative(
  { lines, callOf }: Admissible,
  rng: Rng,
  taken: ReadonlySet<string>,
): ToolsAction | undefined {
  const others = lines
    .map((line): ToolsAction => ({ content: null, toolCalls: [{ id: 'alternative', ...callOf(line) }] }))
    .filter((action) => !taken.has(actionKey(action)));
  return others.length === 0 ? undefined : others[rng.int(others.length)];
}

/** What makes two actions the same: what is said, and the calls without their ids. */
export function actionKey({ content, toolCalls }: ToolsAction): string {
  return canonicalJson([content?.trim() ?? '', (toolCalls ?? []).map(({ name, arguments: given }) => [name, given])]);
}

function sampled(point: ForkPoint, rng: Rng): ToolCall | undefined {
  const tool = point.tools[rng.int(point.tools.length)];
  const words = seenWords(point.messages);
  const given = sampleArguments(tool, words, rng);
  const filled = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, idFor(point, key, value, rng)]));
  return checked(tool, filled);
}

/** The expert's call with one argument exchanged for another of its kind. */
function perturbed(point: ForkPoint, rng: Rng): ToolCall | undefined {
  const [call] = point.expert.toolCalls ?? [];
  const tool = point.tools.find(({ name }) => name === call?.name);
  const keys = Object.keys(call?.arguments ?? {});
  if (tool === undefined || keys.length === 0) return undefined;
  const key = keys[rng.int(keys.length)];
  const schema = { type: 'object', properties: tool.parameters.properties, required: [key] } as JsonObject;
  const other = sampleArguments({ ...tool, parameters: schema }, seenWords(point.messages), rng)[key];
  return checked(tool, { ...call.arguments, [key]: idFor(point, key, other, rng) });
}

/** Sometimes an id of the collection that a parameter's name speaks of, e.g. of `orders` for `order_id`. */
function idFor({ state }: ForkPoint, key: string, value: Json, rng: Rng): Json {
  const stem = key.match(/^(.+?)_?id$/i)?.[1].toLowerCase();
  if (stem === undefined || typeof value !== 'string' || rng.uniform() >= FROM_STATE) return value;
  const collection = [...new Entities(state).collections].find(([name]) => name.toLowerCase().startsWith(stem));
  const ids = [...(collection?.[1].keys() ?? [])];
  return ids.length === 0 ? value : ids[rng.int(ids.length)];
}

function checked(tool: ToolSpec, given: JsonObject): ToolCall | undefined {
  return argumentCheck(tool)(given).length === 0 ? { id: 'alternative', name: tool.name, arguments: given } : undefined;
}
