// The tables of docs/scenarios.md and docs/tools-reference.md, written from the scenario schemas: one a section, and one for each kind
// it can be. A key that means what it means in an earlier table is named there and not described again.

import { z } from 'zod';

/** As far as it is read here. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: boolean | JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** The schema of what a user may write. */
function inputSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
}

type Properties = Readonly<Record<string, JsonSchema>>;

/** The sections at the top of the scenario that is being written, whose tables are not repeated where they appear again. */
let topSections: Properties = {};

/** Where a key of this name and meaning was described first within the section at the top that is being written. */
let described = new Map<string, string>();

/** Everything between the markers of a page about scenarios. */
export function scenarioTables(schema: z.ZodType): string {
  const root = inputSchemaOf(schema);
  const properties = Object.entries(root.properties ?? {});
  const isSection = ([, property]: [string, JsonSchema]) => kindsOf(property).some(hasKeys);
  topSections = root.properties ?? {};
  const top = table(Object.fromEntries(properties.filter((entry) => !isSection(entry))));
  const sections = properties.filter(isSection).map(([name, property]) => {
    described = new Map();
    return section(name, property, '##');
  });
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
  const intro = `${level} \`${name}\`\n\n${nestedMeaning(schema)}`.trimEnd();
  const top = name.includes('.') ? topSections[anchor(name)] : undefined;
  if (top !== undefined && kinds.length === kindsOf(top).length)
    return `${intro} As [\`${anchor(name)}\`](#${anchor(name)}).`;
  if (kinds.length === 1) return `${intro}\n\n${body(name, kinds[0].properties ?? {}, level)}`;
  const parts = kinds.map((kind) => {
    const [key, chooser] = chooserOf(kind)!;
    const rest = Object.fromEntries(Object.entries(kind.properties ?? {}).filter(([other]) => other !== key));
    const head = `${level}# \`${name}\` with \`${key}: ${chooser.const}\`\n\n${meaning(chooser)}`.trimEnd();
    return Object.keys(rest).length === 0 ? head : `${head}\n\n${body(name, rest, `${level}#`)}`;
  });
  return [intro, ...parts].join('\n\n');
}

/** One table of all keys, those of nested sections among them, then a section for each key that can be of several kinds. */
function body(path: string, properties: Properties, level: string): string {
  const rows: string[] = [];
  const repeated = new Map<string, string[]>();
  const later: (() => string)[] = [];
  const within = (place: string, keys: Properties) => {
    for (const [key, property] of Object.entries(keys)) {
      const here = `${place}.${key}`;
      const items = choosableItems(property);
      const kinds = kindsOf(property);
      if (items !== undefined) later.push(() => section(`${here}[]`, items, `${level}#`));
      if (kinds.length > 1 && kinds.every(hasKeys)) later.push(() => section(here, property, `${level}#`));
      else if (kinds.every(hasKeys)) {
        const own = kinds[0].properties ?? {};
        const [, known] = asTop(own);
        rows.push(...nestedRow(here, property, own));
        within(here, Object.fromEntries(Object.entries(own).filter(([name]) => !known.includes(name))));
      } else {
        const before = described.get(`${key} ${meaning(property)}`);
        if (before === undefined || meaning(property) === '') rows.push(row(here, property));
        else repeated.set(before, [...(repeated.get(before) ?? []), named(here, property, path)]);
        if (before === undefined) described.set(`${key} ${meaning(property)}`, place);
      }
    }
  };
  within(path, properties);
  const tables = rows.length > 0 ? [['| key | default | meaning |', '| --- | --- | --- |', ...rows].join('\n')] : [];
  const asBefore = [...repeated].map(([place, keys]) => `As in \`${place}\`: ${keys.join(', ')}.`);
  return [...tables, ...asBefore, ...later.map((make) => make())].join('\n\n');
}

/** The row of a nested section itself; where a section at the top has its keys, they are named there. */
function nestedRow(path: string, schema: JsonSchema, keys: Properties): string[] {
  const [name, known] = asTop(keys);
  const named = known.map((key) => `\`${key}\``).join(', ');
  const reference = known.length > 0 ? [`As in [\`${name}\`](#${name}), with no defaults: ${named}.`] : [];
  const text = [nestedMeaning(schema), ...reference].filter((part) => part !== '').join(' ');
  return text === '' ? [] : [`| \`${path}\` | | ${cell(text)} |`];
}

/** The section at the top that has most of these keys with the same meaning, and which. */
function asTop(keys: Properties): [string, string[]] {
  const names = Object.keys(keys);
  for (const [top, schema] of Object.entries(topSections)) {
    const known = names.filter((key) => knownIn(kindsOf(schema), key, keys[key]));
    if (
      known.length > 1 &&
      known.length > names.length / 2 &&
      !names.every((key) => schema.properties?.[key] === keys[key])
    )
      return [top, known];
  }
  return ['', []];
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

/** A key that was described before, with its default, if it has one here. */
function named(path: string, { default: value }: JsonSchema, from: string): string {
  const fallback =
    value === undefined || value === null || typeof value === 'object' ? '' : ` (\`${JSON.stringify(value)}\`)`;
  return `\`${path.slice(from.length + 1)}\`${fallback}`;
}

function table(properties: Properties): string {
  const rows = Object.entries(properties).map(([key, property]) => row(key, property));
  return ['| key | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

function row(path: string, property: JsonSchema): string {
  const value = property.default === undefined ? '' : ` \`${JSON.stringify(property.default)}\``;
  const texts = [meaning(property), accepts(property)].filter((text) => text !== '').map(cell);
  return `| \`${path}\` |${value} | ${texts.join(' ')} |`;
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

/** The meaning of a section, and its default where that is none. */
function nestedMeaning(schema: JsonSchema): string {
  return `${sectionMeaning(schema)}${schema.default === null ? ' Default: `null`.' : ''}`.trim();
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
