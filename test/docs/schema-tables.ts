// The tables of docs/scenarios.md, written from the scenario schema: one a section, and one for each kind it can be.

import { scenarioFileSchema } from '../../src/run/scenario-schema.js';
import { expectation, inputSchemaOf, type JsonSchema } from '../../src/run/schema-check.js';

/** Everything between the markers of docs/scenarios.md. */
export function scenarioTables(): string {
  const root = inputSchemaOf(scenarioFileSchema);
  const properties = Object.entries(root.properties ?? {});
  const isSection = ([, schema]: [string, JsonSchema]) => kindsOf(schema).some((kind) => kind.properties !== undefined);
  const top = table('', Object.fromEntries(properties.filter((entry) => !isSection(entry))));
  const sections = properties.filter(isSection).map(([name, schema]) => section(name, schema, '##'));
  const expression = Object.values(root.$defs ?? {}).find((schema) => schema.properties?.qpos !== undefined);
  const language = expression === undefined ? [] : [`## Expressions of \`env\`\n\n${operators(expression)}`];
  return [`## At the top\n\n${top}`, ...sections, ...language].join('\n\n');
}

/** Keys of the schema that say nothing of what they mean, as paths. */
export function silentKeys(schema: JsonSchema = inputSchemaOf(scenarioFileSchema), path = ''): string[] {
  return kindsOf(schema).flatMap((kind) =>
    Object.entries(kind.properties ?? {}).flatMap(([key, property]) => {
      const here = path === '' ? key : `${path}.${key}`;
      return [...(meaning(property) === '' ? [here] : []), ...silentKeys(property, here)];
    }),
  );
}

function section(name: string, schema: JsonSchema, level: string): string {
  const kinds = kindsOf(schema);
  const intro = `${level} \`${name}\`\n\n${schema.description ?? ''}`.trimEnd();
  if (kinds.length === 1) return `${intro}\n\n${body(name, kinds[0], level)}`;
  const parts = kinds.map((kind) => {
    const [key, chooser] = Object.entries(kind.properties ?? {}).find(([, property]) => property.const !== undefined)!;
    const rest = Object.fromEntries(Object.entries(kind.properties ?? {}).filter(([other]) => other !== key));
    const head = `${level}# \`${name}\` with \`${key}: ${chooser.const}\`\n\n${meaning(chooser)}`.trimEnd();
    return Object.keys(rest).length === 0
      ? head
      : `${head}\n\n${body(name, { ...kind, properties: rest }, `${level}#`)}`;
  });
  return [intro, ...parts].join('\n\n');
}

/** A table of the plain keys, then a section for each key that has keys of its own. */
function body(path: string, schema: JsonSchema, level: string): string {
  const entries = Object.entries(schema.properties ?? {});
  const isNested = ([, property]: [string, JsonSchema]) =>
    kindsOf(property).every((kind) => kind.properties !== undefined);
  const nested = entries.filter(isNested).map(([key, property]) => section(`${path}.${key}`, property, `${level}#`));
  const plain = Object.fromEntries(entries.filter((entry) => !isNested(entry)));
  return [...(Object.keys(plain).length > 0 ? [table(path, plain)] : []), ...nested].join('\n\n');
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
  const text = expectation(property);
  return text.length > 120 ? String(property.type ?? 'see below') : text;
}

function meaning(property: JsonSchema): string {
  return property.description ?? '';
}

function kindsOf(schema: JsonSchema): readonly JsonSchema[] {
  return schema.oneOf ?? (schema.anyOf?.every((kind) => kind.properties !== undefined) ? schema.anyOf : [schema]);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
