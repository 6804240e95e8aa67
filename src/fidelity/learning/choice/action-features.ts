// An action as a learner sees it: which tool after which, and how the values it is called with had been named before. Nothing of
// whom it is about, so that what is learnt in one task holds in another.

import { canonicalJson } from '../../../canonical-json.js';
import type { Message, ToolCall, ToolSpec, ToolsAction } from '../../../env/index.js';
import type { Json, JsonObject } from '../../../json.js';
import { type Mention, Mentions, wordsIn } from './mentions.js';
import { templateOf } from './text-template.js';

/** Calls after which how many there were says nothing more. */
const MOST_CALLS = 6;

/** A moment of a conversation, at which several actions are looked at. */
export class Moment {
  readonly mentions: Mentions;
  readonly made: readonly ToolCall[];
  readonly last: Message | undefined;

  constructor(
    messages: readonly Message[],
    private readonly tools: readonly ToolSpec[],
  ) {
    this.mentions = new Mentions(messages);
    this.made = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    this.last = messages.at(-1);
  }

  /** Each once. */
  features({ content, toolCalls = [] }: ToolsAction): string[] {
    const found = new Set(toolCalls.length === 0 ? sayingFeatures(content ?? '', this) : []);
    for (const call of toolCalls) for (const feature of callFeatures(call, this)) found.add(feature);
    return [...found];
  }

  toolOf({ name }: Pick<ToolCall, 'name'>): ToolSpec | undefined {
    return this.tools.find((tool) => tool.name === name);
  }
}

function sayingFeatures(text: string, moment: Moment): string[] {
  const { made, mentions } = moment;
  const last = made.at(-1);
  const kind = /please tell/i.test(text) ? 'asks' : 'says';
  const hasChanged = made.some((call) => moment.toolOf(call)?.kind === 'write');
  const { frame, parts } = templateOf(text);
  return [
    kind,
    `${kind} after ${last?.name ?? 'nothing'}`,
    `${kind} after ${Math.min(made.length, MOST_CALLS)} calls`,
    `${kind} after ${hasChanged ? 'a' : 'no'} change`,
    `${kind} to ${moment.last?.role ?? 'nobody'}`,
    `${kind} ${frame}`,
    ...(last === undefined ? [] : [`${kind} after ${frameOf(last)}`]),
    // Whether something is said to be done, and whether anything is.
    ...wordsIn(text).map((word) => `${kind} ${word} after ${hasChanged ? 'a' : 'no'} change`),
    ...parts.map((part) => `${kind} what is ${mentions.of(part) === undefined ? 'un' : ''}known`),
  ];
}

function callFeatures(call: ToolCall, moment: Moment): string[] {
  const { made, mentions, last: heard } = moment;
  const { name, arguments: given } = call;
  const tool = moment.toolOf(call);
  const last = made.at(-1);
  const isRepeated = made.some((one) => one.name === name && canonicalJson(one.arguments) === canonicalJson(given));
  const before = new Set(made.map((one) => one.name));
  return [
    name,
    `${name} after ${last?.name ?? 'nothing'}`,
    `${frameOf(call)} after ${last === undefined ? 'nothing' : frameOf(last)}`,
    `${tool?.kind ?? 'unknown'} after ${Math.min(made.length, MOST_CALLS)} calls`,
    ...[...before].map((one) => `${name} with ${one}`),
    ...(isTwice(given) ? ['a value twice'] : []),
    ...(isRepeated ? ['again', `${name} again`] : []),
    ...(heard?.role === 'tool' && heard.isError === true ? [`${name} after an error`] : []),
    ...valueFeatures(given, name, mentions, tool?.parameters),
  ];
}

/** Values that a schema lists are part of what is done; others are told apart by how they were named. */
function valueFeatures(value: Json, path: string, mentions: Mentions, schema: JsonObject | undefined): string[] {
  if (Array.isArray(value)) {
    const items = schema?.items as JsonObject | undefined;
    return value.flatMap((part) => valueFeatures(part, `${path}/*`, mentions, items));
  }
  if (value !== null && typeof value === 'object') {
    const properties = (schema?.properties ?? {}) as Record<string, JsonObject | undefined>;
    return Object.entries(value).flatMap(([key, part]) =>
      valueFeatures(part, `${path}/${key}`, mentions, properties[key]),
    );
  }
  if (schema?.enum !== undefined || typeof value === 'boolean') return [`${path} is ${value}`];
  const mention = mentions.of(value);
  if (mention !== undefined) return namedFeatures(mention, path);
  return typeof value === 'string' ? textFeatures(value, path, mentions) : [`${path} unnamed`];
}

function textFeatures(text: string, path: string, mentions: Mentions): string[] {
  const { frame, parts } = templateOf(text);
  const features = parts.flatMap((part, i) => {
    const mention = mentions.of(part);
    return mention === undefined
      ? ['unnamed', `${path} ${frame} ${i} unnamed`]
      : namedFeatures(mention, `${path} ${frame} ${i}`);
  });
  return [`${path} ${frame}`, ...features];
}

function namedFeatures({ features }: Mention, path: string): string[] {
  return [...features].flatMap((feature) => [`${path} ${feature}`, ...(isCommon(feature) ? [`any ${feature}`] : [])]);
}

/** Ways of being named that mean the same whatever the tool. */
function isCommon(feature: string): boolean {
  return /^(asked|used|now|near|where):/.test(feature);
}

function isTwice(given: JsonObject): boolean {
  const values = Object.values(given).filter((value) => typeof value === 'string');
  return new Set(values).size < values.length;
}

/** A call without whom it is about: its name, and what words its arguments have. */
function frameOf({ name, arguments: given }: Pick<ToolCall, 'name' | 'arguments'>): string {
  return `${name} ${templateOf(canonicalJson(given)).frame}`;
}
