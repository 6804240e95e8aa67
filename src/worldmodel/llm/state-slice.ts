// The part of a state that matters for one call: entities that the call names or describes, those named in what was said
// and shown, and what these point to. A small state is shown whole. The slice has the shape of the state itself, so that
// paths into it are paths into the state; what was left out is counted.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { estimateTokens } from '../../llm/completion.js';
import { wordsIn, wordsOf } from '../tools/tokens.js';

export interface SliceQuery {
  readonly state: JsonObject;
  readonly call: { readonly name: string; readonly arguments: JsonObject };
  /** What was said and shown, newest last; nearer the end counts for more. */
  readonly texts: readonly string[];
  readonly tokens: number;
  /** Nothing takes more than its share, not even what the call names, and of collections no more is told than needed. */
  readonly isStrict?: boolean;
}

export interface StateSlice {
  /** Whether `state` is the whole state. */
  readonly complete: boolean;
  readonly state: JsonObject;
  /** Collections that are cut, by path. */
  readonly collections: { readonly [path: string]: CutCollection };
}

export interface CutCollection {
  readonly size: number;
  readonly shown: number;
  /** Some of its keys, for their form. */
  readonly keys: readonly string[];
  /** Keys that the call names and that exist, but are too large to be shown. */
  readonly hidden: readonly string[];
}

/** Entries from which an object is a collection, to be shown in part; */
const SMALL = 12;
/** a smaller one of entities is one too if it would take so much of all tokens. */
const LARGE_SHARE = 1 / 4;
const SAMPLE_KEYS = 5;
const STRICT_SAMPLE_KEYS = 1;

/** What an entity is worth showing for; 100 for each factor of e by which the call's words are rarer in it, at most 900. */
const NAMED_BY_CALL = 1_000;
const DESCRIBED_AT_MOST = 900;
const SAID_AT_MOST = 90;
/** A word in more than every second entity of a collection tells them not apart. */
const RARE = 2;

/** Entities that are tried at most, and that may point to others. */
const CANDIDATES = 300;
const LINKING = 40;
/** With fewer tokens left nothing more is tried. */
const LEAST_TOKENS = 40;

export function sliceState(query: SliceQuery): StateSlice {
  const lengthOf = measure();
  if (lengthOf(query.state) / 4 <= query.tokens) return { complete: true, state: query.state, collections: {} };
  return new Slicing({ ...query, lengthOf }).result();
}

interface MeasuredQuery extends SliceQuery {
  /** Characters of a part's JSON, about. */
  readonly lengthOf: (part: Json) => number;
}

interface Entity {
  readonly collection: string;
  readonly key: string;
  readonly value: Json;
}

class Slicing {
  private readonly entities: readonly Entity[];
  private readonly byKey = new Map<string, Entity[]>();
  private readonly asked: ReadonlySet<string>;
  private readonly said: ReadonlySet<string>;
  private readonly scores = new Map<Entity, number>();

  constructor(private readonly query: MeasuredQuery) {
    this.entities = entitiesOf(query);
    for (const entity of this.entities) {
      const same = this.byKey.get(entity.key);
      if (same === undefined) this.byKey.set(entity.key, [entity]);
      else same.push(entity);
    }
    this.asked = wordsIn(Object.values(query.call.arguments));
    this.said = new Set(query.texts.flatMap(wordsOf));
  }

  result(): StateSlice {
    this.score();
    const { isStrict = false, tokens: given } = this.query;
    const { slice, collections, left } = frame(this.query);
    const counted = (value: object) => (isStrict ? estimateTokens(JSON.stringify(value)) : 0);
    let remaining = left - counted(collections);
    for (const [entity, score] of this.best(CANDIDATES)) {
      if (remaining < LEAST_TOKENS && score < NAMED_BY_CALL) break;
      const { collection, key } = entity;
      const isNamed = score >= NAMED_BY_CALL;
      const cuts: Record<string, CutCollection> = {};
      const shown = this.shownOf(entity, isNamed, remaining, cuts);
      const tokens = estimateTokens(JSON.stringify(shown)) + 8;
      // What the call names is shown even if it takes more than its share: up to as much again.
      if (tokens > remaining + (isNamed && !isStrict ? given : 0)) {
        if (isNamed) collections[`/${collection}`].hidden.push(key);
        continue;
      }
      remaining -= tokens + counted(cuts);
      slice[collection][key] = shown;
      collections[`/${collection}`].shown += 1;
      Object.assign(collections, cuts);
    }
    return { complete: false, state: slice, collections };
  }

  private score(): void {
    const { texts } = this.query;
    for (const word of this.asked) this.raiseAll(word, NAMED_BY_CALL);
    this.scoreDescribed();
    texts.forEach((text, i) => {
      const worth = SAID_AT_MOST * (0.5 + (i + 1) / (2 * texts.length));
      for (const word of wordsOf(text)) this.raiseAll(word, worth);
    });
    for (const [entity, score] of this.best(LINKING))
      for (const word of wordsIn(entity.value)) this.raiseAll(word, score / 4);
  }

  /** The highest scores; equal ones in the state's order. */
  private best(count: number): [Entity, number][] {
    return [...this.scores].sort(([, a], [, b]) => b - a).slice(0, count);
  }

  private raiseAll(key: string, score: number): void {
    for (const entity of this.byKey.get(key) ?? []) this.raise(entity, score);
  }

  private raise(entity: Entity, score: number): void {
    this.scores.set(entity, Math.max(this.scores.get(entity) ?? 0, score));
  }

  /** Entities that hold values of the call's arguments (a name, a city): the rarer within their collection, the better. */
  private scoreDescribed(): void {
    const words = [...this.asked].filter((word) => word.length > 2);
    const sizes = countBy(this.entities);
    const found = new Map<Entity, number>();
    for (const word of words) {
      const holders = this.entities.filter((entity) => wordsIn(entity.value).has(word));
      const held = countBy(holders);
      for (const holder of holders) {
        const rarity = sizes.get(holder.collection)! / held.get(holder.collection)!;
        if (rarity > RARE) found.set(holder, (found.get(holder) ?? 0) + 100 * Math.log(rarity));
      }
    }
    for (const [entity, score] of found) {
      const isSpokenOf = this.query.call.name.toLowerCase().includes(singular(entity.collection.toLowerCase()));
      this.raise(entity, Math.min(DESCRIBED_AT_MOST, isSpokenOf ? 2 * score : score));
    }
  }

  /** An entity's own collections are cut to entries that were named; those of one that the call names only if need be. */
  private shownOf({ collection, key, value }: Entity, isNamed: boolean, tokens: number, cuts: Cuts): Json {
    const path = `/${collection}/${key}`;
    const samples = samplesOf(this.query);
    const isCheap = this.query.lengthOf(value) / 4 <= tokens / 2;
    if (isNamed && isCheap)
      return pruned(value, path, { named: this.asked, otherwise: Number.POSITIVE_INFINITY, samples }, cuts);
    return pruned(value, path, { named: new Set([...this.asked, ...this.said]), otherwise: 2, samples }, cuts);
  }
}

type Cuts = Record<string, CutCollection>;

/** The parts that are no collections, whole, and an empty place for each that is one. */
function frame(query: MeasuredQuery) {
  const { state, tokens, lengthOf } = query;
  const collections: Record<string, CutCollection & { shown: number; hidden: string[] }> = {};
  const slice: Record<string, Record<string, Json>> = {};
  let left = tokens;
  for (const [key, part] of Object.entries(state)) {
    if (isCollection(part, query)) {
      collections[`/${key}`] = {
        size: Object.keys(part).length,
        shown: 0,
        keys: sampleOf(part, samplesOf(query)),
        hidden: [],
      };
      slice[key] = {};
    } else {
      slice[key] = part as unknown as Record<string, Json>;
      left -= lengthOf(part) / 4;
    }
  }
  return { slice, collections, left };
}

function isCollection(value: Json, { tokens, lengthOf }: MeasuredQuery): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.keys(value).length > SMALL) return true;
  if (Array.isArray(value) || lengthOf(value) / 4 <= tokens * LARGE_SHARE) return false;
  return Object.values(value).every((part) => typeof part === 'object' && part !== null);
}

function entitiesOf(query: MeasuredQuery): Entity[] {
  return Object.entries(query.state).flatMap(([collection, part]) =>
    isCollection(part, query) ? Object.entries(part).map(([key, value]) => ({ collection, key, value })) : [],
  );
}

function countBy(entities: readonly Entity[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { collection } of entities) counts.set(collection, (counts.get(collection) ?? 0) + 1);
  return counts;
}

/** Entries with a name in `named` of every large map within; if none has, the first `otherwise`. */
function pruned(
  value: Json,
  path: string,
  keep: { readonly named: ReadonlySet<string>; readonly otherwise: number; readonly samples: number },
  cuts: Cuts,
): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value as JsonObject);
  const isMap = entries.length > SMALL && entries.every(([, part]) => typeof part === 'object' && part !== null);
  const named = entries.filter(([key]) => keep.named.has(key));
  const kept = !isMap ? entries : named.length > 0 ? named : entries.slice(0, keep.otherwise);
  if (kept.length < entries.length)
    cuts[path] = {
      size: entries.length,
      shown: kept.length,
      keys: sampleOf(value as JsonObject, keep.samples),
      hidden: [],
    };
  return Object.fromEntries(kept.map(([key, part]) => [key, pruned(part, `${path}/${key}`, keep, cuts)]));
}

/** A collection's name as its entries are called. */
function singular(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

function samplesOf({ isStrict = false }: SliceQuery): number {
  return isStrict ? STRICT_SAMPLE_KEYS : SAMPLE_KEYS;
}

function sampleOf(collection: JsonObject, count: number): string[] {
  return Object.keys(collection).slice(0, count);
}

const ofFrozen = new WeakMap<object, number>();

/**
 * Characters of a part's JSON, about. Each part has one length for as long as this is used, and frozen ones for good, as
 * states share them: a part met again at another depth is not measured anew.
 */
function measure(): (part: Json) => number {
  const ofOthers = new WeakMap<object, number>();
  return (part) => jsonLength(part, 0);

  function jsonLength(value: Json, depth: number): number {
    if (typeof value !== 'object' || value === null) return String(value).length + 2;
    const known = Object.isFrozen(value) ? ofFrozen : ofOthers;
    const before = known.get(value);
    if (before !== undefined) return before;
    const length = depth === 2 ? JSON.stringify(value).length : sumOfLengths(value as JsonObject, depth);
    known.set(value, length);
    return length;
  }

  function sumOfLengths(value: JsonObject, depth: number): number {
    return Object.entries(value).reduce((sum, [key, part]) => sum + key.length + 4 + jsonLength(part, depth + 1), 2);
  }
}
