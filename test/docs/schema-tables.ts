// The tables of docs/scenarios.md and docs/tools.md, written from the scenario schemas: one a section, and one for each kind
// it can be.

import type { z } from 'zod';
import { expectation, inputSchemaOf, type JsonSchema } from '../../src/run/schema-check.js';

/** The sections at the top of the scenario that is being written, whose tables are not repeated where they appear again. */
let topSections: Readonly<Record<string, JsonSchema>> = {};

/** Everything between the markers of a page about scenarios. */
export function scenarioTables(schema: z.ZodType): string {
  const root = inputSchemaOf(schema);
  const properties = Object.entries(root.properties ?? {});
  const isSection = ([, property]: [string, JsonSchema]) => kindsOf(property).some(hasKeys);
  topSections = root.properties ?? {};
  const top = table('', Object.fromEntries(properties.filter((entry) => !isSection(entry))));
  const sections = properties.filter(isSection).map(([name, property]) => section(name, property, '##'));
  const expression = Object.values(root.$defs ?? {}).find(({ properties: keys }) => keys?.qpos !== undefined);
  const language = expression === undefined ? [] : [`## Expressions of \`env\`\n\n${operators(expression)}`];
  return [`## At the top\n\n${top}`, ...sections, ...language].join('\n\n');
}

/** Keys of a schema that say nothing of what they mean, as paths. */
export function silentKeys(schema: z.ZodType): string[] {
  return silentWithin(inputSchemaOf(schema), '');
}

function silentWithin(schema: JsonSchema, path: string): string[] {
  return kindsOf(schema).flatMap((kind) =>
    Object.entries(kind.properties ?? {}).flatMap(([key, property]) => {
      const here = path === '' ? key : `${path}.${key}`;
      const items = choosableItems(property);
      const within = items === undefined ? silentWithin(property, here) : silentWithin(items, `${here}[]`);
      return [...(sectionMeaning(property) === '' ? [here] : []), ...within];
    }),
  );
}

function section(name: string, schema: JsonSchema, level: string): string {
  const kinds = kindsOf(schema);
  const unset = schema.default === null ? ' Default: `null`.' : '';
  const intro = `${level} \`${name}\`\n\n${sectionMeaning(schema)}${unset}`.trimEnd();
  if (kinds.length === 1) return `${intro}\n\n${body(name, kinds[0], level)}`;
  const parts = kinds.map((kind) => {
    const [key, chooser] = chooserOf(kind)!;
    const rest = Object.fromEntries(Object.entries(kind.properties ?? {}).filter(([other]) => other !== key));
    const head = `${level}# \`${name}\` with \`${key}: ${chooser.const}\`\n\n${meaning(chooser)}`.trimEnd();
    return Object.keys(rest).length === 0
      ? head
      : `${head}\n\n${body(name, { ...kind, properties: rest }, `${level}#`)}`;
  });
  return [intro, ...parts].join('\n\n');
}

/** A table of the plain keys, then a section for each key that has keys of its own, also as elements of a list. */
function body(path: string, schema: JsonSchema, level: string): string {
  const entries = Object.entries(schema.properties ?? {});
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (path !== name && repeats(schema, topSections[name])) {
    const keys = entries.map(([key]) => `\`${key}\``).join(', ');
    return `As in [\`${name}\`](#${name}), with no defaults: ${keys}.`;
  }
  const isNested = ([, property]: [string, JsonSchema]) => kindsOf(property).every(hasKeys);
  const nested = entries.filter(isNested).map(([key, property]) => section(`${path}.${key}`, property, `${level}#`));
  const lists = entries.flatMap(([key, property]) => {
    const items = choosableItems(property);
    return items === undefined ? [] : [section(`${path}.${key}[]`, items, `${level}#`)];
  });
  const plain = Object.fromEntries(entries.filter((entry) => !isNested(entry)));
  return [...(Object.keys(plain).length > 0 ? [table(path, plain)] : []), ...nested, ...lists].join('\n\n');
}

/** Whether all keys of a section mean what those of an earlier one do. */
function repeats({ properties = {} }: JsonSchema, earlier: JsonSchema | undefined): boolean {
  const known = earlier === undefined ? [] : kindsOf(earlier).map((kind) => kind.properties ?? {});
  const entries = Object.entries(properties);
  return entries.every(([key, { description }]) => known.some((keys) => keys[key]?.description === description));
}

function table(path: string, properties: Readonly<Record<string, JsonSchema>>): string {
  const rows = Object.entries(properties).map(([key, property]) => {
    const name = path === '' ? key : `${path}.${key}`;
    const value = property.default === undefined ? '' : `\`${JSON.stringify(property.default)}\``;
    return `| \`${name}\` | ${value} | ${cell(accepts(property))} | ${cell(meaning(property))} |`;
  });
  return ['| key | default | accepts | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function operators(expression: JsonSchema): string {
  const rows = Object.entries(expression.properties ?? {}).map(
    ([key, property]) => `| \`${key}\` | ${cell(meaning(property))} |`,
  );
  return ['| operator | value |', '| --- | --- |', ...rows].join('\n');
}

/** Shapes too deep for a cell are named. */
function accepts(property: JsonSchema): string {
  if (choosableItems(property) !== undefined) return 'array, see below';
  const text = expectation(property);
  return text.length > 120 ? String(property.type ?? 'see below') : text;
}

function meaning(property: JsonSchema): string {
  return property.description ?? '';
}

/** What a section is for: said by itself, or, where it can be of one kind alone, by that kind. */
function sectionMeaning(schema: JsonSchema): string {
  const [kind, ...others] = kindsOf(schema);
  const ofKind = others.length > 0 ? '' : (chooserOf(kind)?.[1].description ?? '');
  return schema.description ?? ofKind;
}

/** The objects that a value can be, null left aside; itself where it is nothing of the sort. */
function kindsOf(schema: JsonSchema): readonly JsonSchema[] {
  const choices = (schema.oneOf ?? schema.anyOf)?.filter(({ type }) => type !== 'null').flatMap(kindsOf);
  return choices?.every(hasKeys) ? choices : [schema];
}

/** What the elements of a list are, where they are objects of several kinds. */
function choosableItems({ items }: JsonSchema): JsonSchema | undefined {
  if (typeof items !== 'object') return undefined;
  const kinds = kindsOf(items);
  return kinds.length > 1 && kinds.every((kind) => chooserOf(kind) !== undefined) ? items : undefined;
}

/** The key that says of which kind an object is. */
function chooserOf({ properties = {} }: JsonSchema): [string, JsonSchema] | undefined {
  return Object.entries(properties).find(([, property]) => property.const !== undefined);
}

function hasKeys({ properties }: JsonSchema): boolean {
  return properties !== undefined && Object.keys(properties).length > 0;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
