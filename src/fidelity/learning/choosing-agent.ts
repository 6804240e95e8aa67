// A learner of tools without a language model. At each moment actions are proposed to it, right and wrong ones; what it learns is
// which to take, from episodes that went well: what was taken in them, and what was proposed beside it and was not
// (filtered imitation). A world that calls wrong episodes right lets them in, and it learns to do as they did.

import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { Rng } from '../../core/rng.js';
import type { ToolSpec, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery } from '../../env/tools/tools-family.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { type Mention, Mentions } from './mentions.js';
import { templateOf, wordsIn } from './named-values.js';

/** What could be done at a moment: a function of the query alone. */
export type Propose = (query: ToolsPolicyQuery) => readonly ToolsAction[];

/** An episode that was lived, and its task. */
export interface Demonstration {
  readonly task: ToolsTask;
  readonly record: Pick<EpisodeRecord, 'messages' | 'steps' | 'return'>;
  /** Of what else is proposed at its moments. */
  readonly seed: number;
}

export class ChoosingAgent implements ToolsPolicy {
  readonly version = 'chooses among proposals';

  constructor(
    private readonly model: ChoiceModel,
    private readonly propose: Propose,
  ) {}

  /** Ties go by the seed, so that one who has learned nothing chooses at random. */
  act(query: ToolsPolicyQuery): { action: ToolsAction; cost: typeof NO_COST } {
    const rng = Rng.fromSeed(query.seed).split('choice', query.step);
    const moment = new Moment(query.messages, query.tools);
    const scored = distinct(this.propose(query)).map((action) => ({
      action,
      score: this.model.score(moment.features(action)),
      turn: rng.uniform(),
    }));
    const [{ action }] = scored.sort((a, b) => b.score - a.score || a.turn - b.turn);
    return { action, cost: NO_COST };
  }
}

/** What is learned from a demonstration: nothing where its return is not 1. */
export function shownChoices(
  { task, record, seed }: Demonstration,
  propose: Propose,
  tools: readonly ToolSpec[],
): readonly Choice[] {
  if (record.return !== 1) return [];
  return record.steps.map(({ message, action }, step) => {
    const messages = record.messages.slice(0, message);
    const moment = new Moment(messages, tools);
    const proposed = distinct([action, ...propose({ messages, tools, task, seed, step })]);
    const [taken, ...others] = proposed.map((one) => moment.features(one));
    return { taken, others };
  });
}

/** The first of those that do the same, in their order. */
function distinct(actions: readonly ToolsAction[]): readonly ToolsAction[] {
  const seen = new Set<string>();
  return actions.filter((action) => {
    const done = doneBy(action);
    const isNew = !seen.has(done);
    seen.add(done);
    return isNew;
  });
}

function doneBy({ content, toolCalls }: ToolsAction): string {
  if (toolCalls === undefined) return `says ${content}`;
  return canonicalJson(toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })));
}

// Which of several proposed actions would be taken in an episode that goes well: conditional logit over the features of the actions
// (McFadden 1974), fitted to what was taken and what was not in episodes that went well, by AdaGrad (Duchi et al. 2011).

export interface Choice {
  /** Features of the action that was taken, each once. */
  readonly taken: readonly string[];
  /** Of each that was proposed beside it. */
  readonly others: readonly (readonly string[])[];
}

const EPOCHS = 15;
const RATE = 0.3;
const SHRINKAGE = 1e-3;

export class ChoiceModel {
  private readonly numbers = new Map<string, number>();
  private readonly weights: Float64Array;
  /** Sums of squared slopes. */
  private readonly squares: Float64Array;
  private readonly slopes: Float64Array;

  /** In the order given. Of no choices: one that finds all actions alike. */
  constructor(choices: readonly Choice[]) {
    const numbered = choices.map(({ taken, others }) => [taken, ...others].map((features) => this.numbered(features)));
    this.weights = new Float64Array(this.numbers.size);
    this.squares = new Float64Array(this.numbers.size);
    this.slopes = new Float64Array(this.numbers.size);
    for (let epoch = 0; epoch < EPOCHS; epoch++) for (const actions of numbered) this.learn(actions);
  }

  /** Larger for what is rather taken; compared among actions at one moment alone. */
  score(features: readonly string[]): number {
    return features.reduce((sum, feature) => sum + (this.weights[this.numbers.get(feature) ?? -1] ?? 0), 0);
  }

  private numbered(features: readonly string[]): Uint32Array {
    return Uint32Array.from(features, (feature) => {
      const number = this.numbers.get(feature) ?? this.numbers.size;
      this.numbers.set(feature, number);
      return number;
    });
  }

  /** @param actions features of each, the one that was taken first */
  private learn(actions: readonly Uint32Array[]): void {
    const scores = actions.map((features) => features.reduce((sum, feature) => sum + this.weights[feature], 0));
    const largest = Math.max(...scores);
    const odds = scores.map((score) => Math.exp(score - largest));
    const total = odds.reduce((sum, value) => sum + value, 0);
    actions.forEach((features, i) => {
      const error = odds[i] / total - (i === 0 ? 1 : 0);
      for (const feature of features) this.slopes[feature] += error;
    });
    for (const features of actions) for (const feature of features) this.step(feature);
  }

  /** Once for each feature: its slope is used up then. */
  private step(feature: number): void {
    const slope = this.slopes[feature];
    if (slope === 0) return;
    this.slopes[feature] = 0;
    const shrunk = slope + SHRINKAGE * this.weights[feature];
    this.squares[feature] += shrunk * shrunk;
    this.weights[feature] -= (RATE * shrunk) / Math.sqrt(this.squares[feature] + 1e-8);
  }
}

// An action as a learner sees it: which tool after which, and how the values it is called with had been named before. Nothing of
// whom it is about, so that what is learnt in one task holds in another.

/** Calls after which how many there were says nothing more. */
const MOST_CALLS = 6;

/** A moment of a conversation, at which several actions are looked at. */
class Moment {
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
