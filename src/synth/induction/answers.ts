// What tools answer when a call succeeds: one record's fields, a text, or a list of records that fit the arguments.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { ToolSpec } from '../../env/tools/domain.js';
import type { InducedRule } from '../../env/tools/induced-schema.js';
import { isName, type Scope } from '../../worldmodel/induced/expression.js';
import {
  type Explanation,
  evaluate,
  explain,
  isEnumerated,
  type Records,
  referringConditions,
  type Sighting,
  type StateShape,
  same,
  scopeOf,
  templateOf,
  valueIn,
} from './candidates.js';
import { evidence, weakest } from './drafts.js';
import { candidatesOf, type Found } from './effects.js';
import { listIn, recordsOf } from './observed.js';

/** State after the call as accepted rules would make it. */
export type After = (sighting: Sighting) => Scope;

/**
 * @param sightings  successful calls of the tool
 * @param effects    rules of what the tool changes; the answer is right only with all of them
 */
export function answerOf(
  tool: ToolSpec,
  sightings: readonly Sighting[],
  effects: readonly InducedRule[],
  shape: StateShape,
  after: After,
): Found {
  if (sightings.length === 0) return { drafts: [], unexplained: [`No log has a successful call of ${tool.name}.`] };
  const lists = sightings.flatMap(({ call }) => (call.answer === undefined ? [] : (listIn(call.answer) ?? [])));
  if (lists.length === sightings.length) return listOf(tool, sightings, shape);
  const isRecord = sightings.every(({ call }) => isJsonObject(call.answer as Json | undefined));
  const parts = { tool, sightings, effects, shape, after };
  return isRecord ? recordOf(parts) : textOf(parts);
}

interface Parts {
  readonly tool: ToolSpec;
  readonly sightings: readonly Sighting[];
  readonly effects: readonly InducedRule[];
  readonly shape: StateShape;
  readonly after: After;
}

function recordOf({ tool, sightings, effects, shape, after }: Parts): Found {
  const answers = sightings.map(({ call }) => call.answer as JsonObject);
  const names = Object.keys(answers[0]);
  if (!answers.every((answer) => same(Object.keys(answer), names)))
    return { drafts: [], unexplained: [`Answers of ${tool.name} have different fields from call to call.`] };
  const candidates = candidatesFor({ tool, sightings, effects, shape, after });
  const explained = names.map((field) => {
    const examples = sightings.map((sighting, i) => ({
      at: sighting.call.at,
      scope: after(sighting),
      value: answers[i][field],
    }));
    return { field, found: explain(examples, candidates, field) };
  });
  const missing = explained.filter(({ found }) => found === undefined).map(({ field }) => field);
  if (missing.length > 0)
    return { drafts: [], unexplained: [`${tool.name} answers ${missing.join(', ')} from nothing known.`] };
  const fields = Object.fromEntries(explained.map(({ field, found }) => [field, found!.text]));
  const proof = weakest(
    explained.map(({ found }) => found as Explanation),
    sightings.map(({ call }) => call),
  );
  const common = conditions(tool, sightings, effects, shape);
  return { drafts: [{ ...proof, kind: 'answer', tool: tool.name, ...common, fields }], unexplained: [] };
}

function textOf(parts: Parts): Found {
  const { tool, sightings, effects, shape, after } = parts;
  const texts = sightings.map((sighting) => ({ text: sighting.call.text, scope: after(sighting) }));
  const text = texts.some((each) => /[{}]/.test(each.text)) ? undefined : templateOf(texts, candidatesFor(parts));
  if (text === undefined) return { drafts: [], unexplained: [`Answers of ${tool.name} are texts of different forms.`] };
  const common = conditions(tool, sightings, effects, shape);
  const proof = evidence(sightings.map(({ call }) => call));
  return { drafts: [{ ...proof, kind: 'sentence', tool: tool.name, ...common, text }], unexplained: [] };
}

function candidatesFor({ sightings, effects, shape, after }: Parts): string[] {
  const reaches = shape.reaches(
    sightings.map(({ call }) => call.arguments),
    sightings.map((sighting) => after(sighting).state as Records),
  );
  const added = effects.find((rule) => rule.kind === 'add');
  const fresh =
    added === undefined ? [] : Object.keys(added.fields).map((field) => `${added.collection}[new].${field}`);
  return [...fresh, ...candidatesOf(sightings, reaches, shape)];
}

/** Under which circumstances calls were seen: beyond these nothing is known of the tool. */
function conditions(
  tool: ToolSpec,
  sightings: readonly Sighting[],
  effects: readonly InducedRule[],
  shape: StateShape,
) {
  const needs = effects.map(({ id }) => id);
  const known = tool.kind === 'write' ? knownValues(sightings, shape) : {};
  return { given: argumentSets(sightings), known, needs };
}

function argumentSets(sightings: readonly Sighting[]): string[][] {
  const sets = new Map<string, string[]>();
  for (const { call } of sightings) {
    const names = Object.keys(call.arguments).sort();
    sets.set(names.join(' '), names);
  }
  return [...sets.values()];
}

/** Values of fields with few values (a status), of the records that arguments name. */
function knownValues(sightings: readonly Sighting[], shape: StateShape): Record<string, Json[]> {
  const reaches = shape.reaches(
    sightings.map(({ call }) => call.arguments),
    sightings.map(({ before }) => before),
  );
  const direct = reaches.filter(({ key }) => isName(key));
  const found = direct.flatMap((reach) =>
    (shape.fields.get(reach.collection) ?? []).flatMap((field): [string, Json[]][] => {
      if (!isEnumerated(sightings, reach.collection, field)) return [];
      const text = `${reach.text}.${field}`;
      const values = sightings.map(({ call, before }) => evaluate(text, scopeOf(before, call.arguments)));
      if (values.some((value) => value === undefined)) return [];
      return [[text, [...new Set(values as Json[])].sort()]];
    }),
  );
  return Object.fromEntries(found);
}

// Lists: which records are in one, in which order, with which fields.

function listOf(tool: ToolSpec, sightings: readonly Sighting[], shape: StateShape): Found {
  const items = sightings.map(({ call }) => recordsOf(call));
  const first = items.flat()[0];
  if (first === undefined)
    return { drafts: [], unexplained: [`${tool.name} never listed anything: what it lists is not known.`] };
  const { collection } = first;
  const fields = Object.keys(first.fields);
  if (!items.flat().every((item) => item.collection === collection && same(Object.keys(item.fields), fields)))
    return { drafts: [], unexplained: [`${tool.name} lists things of different forms.`] };
  const where = filterOf(
    sightings,
    items.map((each) => each.map(({ key }) => key)),
    collection,
    shape,
  );
  const order = orderOf(
    items.map((each) => each.map((item) => item.fields)),
    fields,
  );
  if (where === undefined || order === undefined) {
    const what =
      where === undefined ? `which ${collection} ${tool.name} lists` : `the order in which ${tool.name} lists`;
    return { drafts: [], unexplained: [`Nothing known explains ${what}.`] };
  }
  const { within } = listIn(sightings[0].call.answer!)!;
  return {
    drafts: [
      {
        ...evidence(
          sightings.map(({ call }) => call),
          [],
          where.alternatives,
        ),
        kind: 'list',
        tool: tool.name,
        given: argumentSets(sightings),
        known: askedValues(sightings),
        collection,
        where: [...where.conditions],
        order: `each.${order}`,
        fields,
        ...(within === undefined ? {} : { within }),
      },
    ],
    unexplained: [],
  };
}

/** What lists were asked for: of other values the logs do not show what there is. */
function askedValues(sightings: readonly Sighting[]): Record<string, Json[]> {
  const names = [...new Set(sightings.flatMap(({ call }) => Object.keys(call.arguments)))].filter(isName);
  const always = names.filter((name) => sightings.every(({ call }) => name in call.arguments));
  return Object.fromEntries(
    always.map((name) => [name, [...new Set(sightings.map(({ call }) => call.arguments[name]))].sort()]),
  );
}

/** Conditions one for each argument, and what all that was ever listed has in common, that together give every list. */
function filterOf(
  sightings: readonly Sighting[],
  lists: readonly (readonly string[])[],
  collection: string,
  shape: StateShape,
): { conditions: readonly string[]; alternatives: readonly string[] } | undefined {
  const names = [...new Set(sightings.flatMap(({ call }) => Object.keys(call.arguments)))].filter(isName);
  const fields = shape.fields.get(collection) ?? [];
  const perArgument = names.map((name) =>
    ['==', '<=', '>=']
      .flatMap((operator) => fields.map((field) => `each.${field} ${operator} ${name}`))
      .sort((a, b) => Number(b.includes(`each.${name} `)) - Number(a.includes(`each.${name} `)))
      .filter((text) => sightings.every((sighting, i) => holdsForAll(text, sighting, lists[i], collection))),
  );
  if (perArgument.some((choices) => choices.length === 0)) return undefined;
  const key = fields.find((field) => shape.isKey(collection, field));
  const referring =
    key === undefined
      ? []
      : referringConditions(collection, sightings, shape).flatMap((each) =>
          ['no', 'some'].map((quantity) => `${quantity} ${each(`each.${key}`)}`),
        );
  const common = [...commonValues(sightings, lists, collection, fields), ...referring];
  const fitting = combinations(perArgument)
    .flatMap((chosen) => [chosen, ...common.map((text) => [...chosen, text])])
    .filter((chosen) => sightings.every((sighting, i) => givesList(chosen, sighting, lists[i], collection)));
  if (fitting.length === 0) return undefined;
  const alternatives = fitting.slice(1, 5).map((chosen) => chosen.join(' and ') || 'all');
  return { conditions: fitting[0], alternatives };
}

function recordsBefore({ before }: Sighting, collection: string): [string, JsonObject][] {
  return Object.entries(before[collection] ?? {});
}

function holds(text: string, { call, before }: Sighting, each: JsonObject): boolean | undefined {
  const asked = / (\w+)$/.exec(text)?.[1];
  if (asked !== undefined && isName(asked) && !(asked in call.arguments)) return true;
  return evaluate(text, { ...scopeOf(before, call.arguments), each }) as boolean | undefined;
}

function holdsForAll(text: string, sighting: Sighting, list: readonly string[], collection: string): boolean {
  return recordsBefore(sighting, collection).every(
    ([key, each]) => !list.includes(key) || holds(text, sighting, each) !== false,
  );
}

function givesList(texts: readonly string[], sighting: Sighting, list: readonly string[], collection: string): boolean {
  return recordsBefore(sighting, collection).every(([key, each]) => {
    const isIn = texts.every((text) => holds(text, sighting, each) === true);
    return isIn === list.includes(key);
  });
}

/** `each.free == true`: what everything listed has. */
function commonValues(
  sightings: readonly Sighting[],
  lists: readonly (readonly string[])[],
  collection: string,
  fields: readonly string[],
): string[] {
  return fields.flatMap((field) => {
    const values = sightings.flatMap(({ before }, i) => lists[i].map((key) => valueIn(before, collection, key, field)));
    const [first] = values;
    if (first === undefined || !values.every((value) => same(value, first))) return [];
    return ['string', 'boolean'].includes(typeof first) ? [`each.${field} == ${JSON.stringify(first)}`] : [];
  });
}

function combinations(choices: readonly (readonly string[])[]): string[][] {
  return choices.reduce<string[][]>(
    (all, each) => all.flatMap((chosen) => each.slice(0, 6).map((text) => [...chosen, text])),
    [[]],
  );
}

/** The first field by which every list ascends. */
function orderOf(lists: readonly (readonly JsonObject[])[], fields: readonly string[]): string | undefined {
  return fields.find((field) =>
    lists.every((list) =>
      list.every((item, i) => {
        const [a, b] = [i === 0 ? undefined : list[i - 1][field], item[field]];
        if (typeof b !== 'string' && typeof b !== 'number') return false;
        return a === undefined || (typeof a === typeof b && a! < b);
      }),
    ),
  );
}
