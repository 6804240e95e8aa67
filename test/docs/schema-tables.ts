// The tables of docs/scenarios.md and docs/tools.md, written from the scenario schemas: one a section, and one for each kind
// it can be. A key that means what it means in an earlier table is named there and not described again.

import type { z } from 'zod';
import { inputSchemaOf, type JsonSchema } from '../../src/run/schema-check.js';

type Properties = Readonly<Record<string, JsonSchema>>;

/** The sections at the top of the scenario that is being written, whose tables are not repeated where they appear again. */
let topSections: Properties = {};

/** Everything between the markers of a page about scenarios. */
export function scenarioTables(schema: z.ZodType): string {
  const root = inputSchemaOf(schema);
  const properties = Object.entries(root.properties ?? {});
  const isSection = ([, property]: [string, JsonSchema]) => kindsOf(property).some(hasKeys);
  topSections = root.properties ?? {};
  const top = table('', Object.fromEntries(properties.filter((entry) => !isSection(entry))));
  const sections = properties.filter(isSection).map(([name, property]) => section(name, property, '##'));
  return [`## At the top\n\n${top}`, ...sections].join('\n\n');
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
  const top = topSections[name.slice(name.lastIndexOf('.') + 1)];
  if (name.includes('.') && top !== undefined && kinds.length > 1 && kinds.length === kindsOf(top).length) {
    return `${intro} As [\`${anchor(name)}\`](#${anchor(name)}).`;
  }
  if (kinds.length === 1) return `${intro}\n\n${body(name, kinds[0], level)}`;
  const parts = kinds.map((kind, i) => {
    const [key, chooser] = chooserOf(kind)!;
    const rest = Object.entries(kind.properties ?? {}).filter(([other]) => other !== key);
    const head = `${level}# \`${name}\` with \`${key}: ${chooser.const}\`\n\n${meaning(chooser)}`.trimEnd();
    const earlier = kinds.slice(0, i);
    const known = rest.filter(([other, property]) => knownIn(earlier, other, property));
    const own = Object.fromEntries(rest.filter((entry) => !known.includes(entry)));
    const text = Object.keys(own).length === 0 ? '' : body(name, { ...kind, properties: own }, `${level}#`);
    return [head, text, ...(known.length > 0 ? [`As above: ${named(known)}.`] : [])].filter(Boolean).join('\n\n');
  });
  return [intro, ...parts].join('\n\n');
}

/** A table of the plain keys, then a section for each key that has keys of its own, also as elements of a list. */
function body(path: string, schema: JsonSchema, level: string): string {
  const all = Object.entries(schema.properties ?? {});
  const top = path.includes('.') ? topSections[topNameOf(path, all)] : undefined;
  const known = top === undefined ? [] : all.filter(([key, property]) => knownIn(kindsOf(top), key, property));
  const entries = all.filter((entry) => !known.includes(entry));
  const name = topNameOf(path, all);
  const asTop = known.length > 0 ? [`As in [\`${name}\`](#${name}), with no defaults: ${names(known)}.`] : [];
  const isNested = ([, property]: [string, JsonSchema]) => kindsOf(property).every(hasKeys);
  const nested = entries.filter(isNested).map(([key, property]) => section(`${path}.${key}`, property, `${level}#`));
  const lists = entries.flatMap(([key, property]) => {
    const items = choosableItems(property);
    return items === undefined ? [] : [section(`${path}.${key}[]`, items, `${level}#`)];
  });
  const plain = Object.fromEntries(entries.filter((entry) => !isNested(entry)));
  return [...(Object.keys(plain).length > 0 ? [table(path, plain)] : []), ...asTop, ...nested, ...lists].join('\n\n');
}

/** The section at the top that a nested section repeats: that of its own name, or the one that has most of its keys. */
function topNameOf(path: string, entries: readonly [string, JsonSchema][]): string {
  const name = anchor(path);
  if (topSections[name] !== undefined) return name;
  const shares = Object.entries(topSections).map(([other, schema]) => {
    const common = entries.filter(([key, property]) => knownIn(kindsOf(schema), key, property)).length;
    return [other, common / entries.length] as const;
  });
  return shares.find(([other, share]) => !path.startsWith(`${other}.`) && share > 0.5)?.[0] ?? name;
}

function anchor(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Whether one of these kinds has a key of this name that means the same. */
function knownIn(kinds: readonly JsonSchema[], key: string, property: JsonSchema): boolean {
  return kinds.some(({ properties }) => {
    const other = properties?.[key];
    return other !== undefined && sectionMeaning(other) !== '' && sectionMeaning(other) === sectionMeaning(property);
  });
}

function names(entries: readonly [string, JsonSchema][]): string {
  return entries.map(([key]) => `\`${key}\``).join(', ');
}

function named(entries: readonly [string, JsonSchema][]): string {
  return entries.map(([key, property]) => `\`${key}\`${fallback(property)}`).join(', ');
}

function fallback({ default: value }: JsonSchema): string {
  return value === undefined || typeof value === 'object' ? '' : ` (\`${JSON.stringify(value)}\`)`;
}

function table(path: string, properties: Properties): string {
  const rows = Object.entries(properties).map(([key, property]) => {
    const name = path === '' ? key : `${path}.${key}`;
    const value = property.default === undefined ? '' : ` \`${JSON.stringify(property.default)}\``;
    const accepted = accepts(property);
    const texts = [meaning(property), accepted].filter((text) => text !== '').map(cell);
    return `| \`${name}\` |${value} | ${texts.join(' ')} |`;
  });
  return ['| key | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** What a key takes, in mathematical notation, where its default and meaning leave it open. */
function accepts(property: JsonSchema): string {
  if (choosableItems(property) !== undefined) return '(a list, see below)';
  const options = (property.oneOf ?? property.anyOf ?? [property]).filter(({ type }) => type !== 'null');
  const texts = [...new Set(options.map(range))];
  return texts.some((text) => text === '') || texts.join('').length > 120 ? '' : `(${texts.join(' or ')})`;
}

function range(schema: JsonSchema): string {
  const { minimum: from, maximum: to, exclusiveMinimum: above, const: only, enum: choices } = schema;
  if (only !== undefined) return `\`${only}\``;
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (schema.type !== 'number' && schema.type !== 'integer') return schema.type === 'array' ? listed(schema) : '';
  const lowest = from !== undefined && from > Number.MIN_SAFE_INTEGER ? from : undefined;
  const highest = to !== undefined && to < Number.MAX_SAFE_INTEGER ? to : undefined;
  if (highest !== undefined) return `${above ?? lowest ?? ''}–${highest}`;
  if (above !== undefined) return `>${above}`;
  return lowest === undefined ? 'number' : `≥${lowest}`;
}

function listed({ items }: JsonSchema): string {
  return typeof items === 'object' && items.enum !== undefined ? range(items) : '';
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
