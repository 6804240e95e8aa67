// What successful calls change: records they add, and fields that read otherwise afterwards.

import type { ToolSpec } from '../../env/tools/domain.js';
import { isName, nextId } from '../../worldmodel/induced/expression.js';
import {
  type Example,
  evaluate,
  explain,
  type Reach,
  type Sighting,
  type StateShape,
  same,
  scopeOf,
  valueIn,
} from './candidates.js';
import { type Draft, weakest } from './drafts.js';

/** What was found, and what was seen that nothing explains. */
export interface Found {
  readonly drafts: readonly Draft[];
  readonly unexplained: readonly string[];
}

export const NOTHING: Found = { drafts: [], unexplained: [] };

export function together(found: readonly Found[]): Found {
  return {
    drafts: found.flatMap(({ drafts }) => drafts),
    unexplained: found.flatMap(({ unexplained }) => unexplained),
  };
}

/** @param sightings  successful calls of the tool */
export function effectsOf(tool: ToolSpec, sightings: readonly Sighting[], shape: StateShape): Found {
  if (tool.kind !== 'write' || sightings.length === 0) return NOTHING;
  const reaches = shape.reaches(
    sightings.map(({ call }) => call.arguments),
    sightings.map(({ before }) => before),
  );
  const candidates = candidatesOf(sightings, reaches, shape);
  const changed = reaches.map((reach) => changesAt(tool, sightings, reach, candidates, shape));
  return together([addition(tool, sightings, candidates), ...changed]);
}

export function candidatesOf(sightings: readonly Sighting[], reaches: readonly Reach[], shape: StateShape): string[] {
  const names = new Set(sightings.flatMap(({ call }) => Object.keys(call.arguments)));
  return [...[...names].filter(isName), ...reaches.flatMap((reach) => shape.fieldsOf(reach))];
}

function addition(tool: ToolSpec, sightings: readonly Sighting[], candidates: readonly string[]): Found {
  const adding = sightings.filter(({ added }) => added !== undefined);
  if (adding.length === 0) return NOTHING;
  const { collection } = adding[0].added!;
  const isAlways = adding.length === sightings.length && adding.every(({ added }) => added!.collection === collection);
  if (!isAlways) return { drafts: [], unexplained: [`${tool.name} adds to ${collection} in some of its calls only.`] };
  const isNext = adding.every(({ added, before }) => nextId(Object.keys(before[collection] ?? {})) === added!.key);
  if (!isNext)
    return {
      drafts: [],
      unexplained: [`The ids that ${tool.name} gives new ${collection} follow from nothing known.`],
    };
  const key = `next(${collection})`;
  const shown = adding.map(({ added, after }) => after[collection][added!.key]);
  const names = Object.keys(shown[0]);
  const explained = names.map((field) => {
    const examples = adding.flatMap(({ call, before }, i): Example[] =>
      field in shown[i] ? [{ at: call.at, scope: scopeOf(before, call.arguments), value: shown[i][field] }] : [],
    );
    return { field, found: explain(examples, [key, ...candidates], field) };
  });
  const missing = explained.filter(({ found }) => found === undefined).map(({ field }) => field);
  if (missing.length > 0)
    return {
      drafts: [],
      unexplained: [`New ${collection} of ${tool.name} have ${missing.join(', ')} from nothing known.`],
    };
  const fields = Object.fromEntries(explained.map(({ field, found }) => [field, found!.text]));
  const proof = weakest(
    explained.map(({ found }) => found!),
    adding.map(({ call }) => call),
  );
  return { drafts: [{ ...proof, kind: 'add', tool: tool.name, collection, key, fields }], unexplained: [] };
}

function changesAt(
  tool: ToolSpec,
  sightings: readonly Sighting[],
  reach: Reach,
  candidates: readonly string[],
  shape: StateShape,
): Found {
  const found = (shape.fields.get(reach.collection) ?? []).map((field): Found => {
    const examples = sightings.flatMap((sighting) => exampleOf(sighting, reach, field));
    const changes = examples.filter(({ before, value }) => !same(before, value));
    if (changes.length === 0) return NOTHING;
    const target = `${reach.text}.${field}`;
    const explained =
      explain(
        examples,
        candidates.filter((text) => text !== target),
        field,
      ) ?? explain(examples, candidates, field);
    if (explained === undefined)
      return { drafts: [], unexplained: [`${tool.name} changes ${target} in a way that nothing known explains.`] };
    const proof = weakest([explained], explained.agree);
    return { drafts: [{ ...proof, kind: 'set', tool: tool.name, target, to: explained.text }], unexplained: [] };
  });
  return together(found);
}

function exampleOf({ call, before, after }: Sighting, { collection, key }: Reach, field: string) {
  const scope = scopeOf(before, call.arguments);
  const id = evaluate(key, scope);
  if (id === undefined || id === null) return [];
  const was = valueIn(before, collection, String(id), field);
  const value = valueIn(after, collection, String(id), field);
  return was === undefined || value === undefined ? [] : [{ at: call.at, scope, before: was, value }];
}
