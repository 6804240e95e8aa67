// When calls fail: for each text of an error, the simplest condition that held in every call it was the answer to and in no call
// that succeeded. One that the text itself speaks of comes first.

import type { ToolSpec } from '../../env/tools/domain.js';
import { isName } from '../../worldmodel/induced/expression.js';
import {
  evaluate,
  type Reach,
  referringConditions,
  type Sighting,
  type StateShape,
  scopeOf,
  templateOf,
} from './candidates.js';
import { evidence } from './drafts.js';
import { candidatesOf, type Found, together } from './effects.js';

/** @param sightings  all calls of the tool */
export function refusalsOf(tool: ToolSpec, sightings: readonly Sighting[], shape: StateShape): Found {
  const failed = sightings.filter(({ call }) => call.isError);
  const succeeded = sightings.filter(({ call }) => !call.isError);
  const reaches = shape.reaches(
    sightings.map(({ call }) => call.arguments),
    sightings.map(({ before }) => before),
  );
  const names = [...new Set(sightings.flatMap(({ call }) => Object.keys(call.arguments)))].filter(isName);
  const values = candidatesOf(sightings, reaches, shape);
  const groups = grouped(failed, values.length === 0 ? names : values);
  return together(
    groups.map(({ template, group }): Found => {
      if (template === undefined)
        return { drafts: [], unexplained: [`${tool.name} fails with "${group[0].call.text}" (${group[0].call.at}).`] };
      const conditions = [
        ...reaches.map(({ text }) => `missing ${text}`),
        ...reaches.flatMap((reach) => references(reach, sightings, shape)),
        ...comparisons(group, values),
      ].filter((text) => separates(text, group, succeeded));
      const [when, ...alternatives] = byText(conditions, template);
      if (when === undefined)
        return {
          drafts: [],
          unexplained: [`${tool.name} fails with "${template}" on a condition that nothing known explains.`],
        };
      const counter = succeeded.filter((sighting) => holds(when, sighting)).map(({ call }) => `${call.at} succeeded`);
      const proof = evidence(
        group.map(({ call }) => call),
        counter,
        alternatives.slice(0, 4),
      );
      return { drafts: [{ ...proof, kind: 'refuse', tool: tool.name, when, error: template }], unexplained: [] };
    }),
  );
}

interface Group {
  readonly template: string | undefined;
  readonly group: readonly Sighting[];
}

/** Errors of one form. */
function grouped(failed: readonly Sighting[], candidates: readonly string[]): Group[] {
  const groups = new Map<string, Sighting[]>();
  for (const sighting of failed) {
    const { call, before } = sighting;
    const isPlain = !/[{}]/.test(call.text);
    const template = isPlain
      ? templateOf([{ text: call.text, scope: scopeOf(before, call.arguments) }], candidates)!
      : call.text;
    groups.set(template, [...(groups.get(template) ?? []), sighting]);
  }
  return [...groups].map(([template, group]) => ({
    template: /[{}]/.test(group[0].call.text) ? undefined : template,
    group,
  }));
}

/** That some record refers to what an argument names, or some record in a certain condition. */
function references({ collection, key }: Reach, sightings: readonly Sighting[], shape: StateShape): string[] {
  return referringConditions(collection, sightings, shape).flatMap((each) => [`some ${each(key)}`, `no ${each(key)}`]);
}

/** Against the values of the failed calls, and of two values with one another. */
function comparisons(group: readonly Sighting[], values: readonly string[]): string[] {
  const [first] = group;
  const constants = values.flatMap((text) => {
    const value = evaluate(text, scopeOf(first.before, first.call.arguments));
    if (value === undefined || typeof value === 'object') return [];
    if (typeof value === 'number') return [`${text} >= ${value}`, `${text} <= ${value}`];
    // That something is named so is no reason.
    return typeof value === 'string' && /\d/.test(value) ? [] : [`${text} == ${JSON.stringify(value)}`];
  });
  const pairs = values.flatMap((a, i) =>
    values.slice(i + 1).flatMap((b) => ['!=', '>', '<'].map((sign) => `${a} ${sign} ${b}`)),
  );
  return [...constants, ...pairs];
}

/** Where a value is not known, it speaks neither for nor against. */
function separates(text: string, failed: readonly Sighting[], succeeded: readonly Sighting[]): boolean {
  return failed.every((sighting) => holds(text, sighting)) && !succeeded.some((sighting) => holds(text, sighting));
}

function holds(text: string, { call, before }: Sighting): boolean {
  return evaluate(text, scopeOf(before, call.arguments)) === true;
}

/** Those first whose words the error has: `status == "cancelled"` for "is already cancelled". */
function byText(conditions: readonly string[], error: string): string[] {
  const words = new Set(
    error
      .toLowerCase()
      .replace(/\{[^{}]*\}/g, ' ')
      .match(/[\p{L}]{3,}/gu) ?? [],
  );
  const score = (text: string) => {
    if (text.startsWith('missing ')) return words.has('not') || words.has('unknown') ? 2.5 : 0;
    const own = text.toLowerCase().match(/[\p{L}]{3,}/gu) ?? [];
    const quoted = text.toLowerCase().match(/"([^"]+)"/)?.[1] ?? '';
    const told = own.filter((word) => words.has(word)).length;
    return (words.has(quoted) ? 2 : 0) + told / 10 - text.length / 1000;
  };
  return [...conditions].sort((a, b) => score(b) - score(a));
}
