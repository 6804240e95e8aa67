// A navigation graph as a file says it (GUI Exploration Lab): pages with their elements, edges between them, the data beneath, and tasks.
// Plain data in YAML or JSON, nothing of it is code; every name in it must mean something where it stands.

import { parse } from 'yaml';
import { z } from 'zod';
import { nameAside, type ReverieError, reverieError } from '../../core/errors.js';
import { readText } from '../../core/files.js';
import { parseStrictly } from '../../env/strict-parse.js';
import { jsonProblem, STATE_LIMITS } from '../../env/tools/check-action.js';

const name = z.string().regex(/^[A-Za-z][\w-]*$/, 'a name has letters, digits, "_" and "-", and begins with a letter');
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const scalars = z.record(z.string(), scalar);
const columns = z.record(name, z.enum(['text', 'number', 'flag']));

const cellSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), value: z.string().default('') }),
  z.strictObject({ type: z.literal('number'), value: z.number().default(0) }),
  z.strictObject({ type: z.literal('flag'), value: z.boolean().default(false) }),
  z.strictObject({ type: z.literal('record'), columns, value: scalars.optional() }),
  z.strictObject({ type: z.literal('table'), columns, rows: z.array(scalars).default([]) }),
  z.strictObject({ type: z.literal('sum'), of: name, columns: z.array(name).min(1) }),
  z.strictObject({ type: z.literal('count'), of: name }),
]);

/** What a condition looks at: a value, rows of a table, or the page (where a task waits for it). */
const conditionSchema = z
  .strictObject({
    ...{ value: scalar.optional(), is: scalar.optional(), not: scalar.optional(), contains: scalar.optional() },
    ...{ rows: name.optional(), where: scalars.optional(), page: name.optional() },
    ...{ count: z.number().int().min(0).optional(), atLeast: scalar.optional(), atMost: scalar.optional() },
  })
  .refine(
    (one) => ['value', 'rows', 'page'].filter((key) => key in one).length === 1,
    'a condition has exactly one of value, rows and page',
  )
  .refine(
    (one) => !('value' in one) || ['is', 'not', 'contains', 'atLeast', 'atMost'].some((key) => key in one),
    'it compares with nothing: give is, not, contains, atLeast or atMost',
  );
const conditions = z.array(conditionSchema).min(1);
/** Of an element: so, not so, or so where all conditions hold. */
const flag = z.union([z.boolean(), conditions]).optional();
const flags = { checked: flag, selected: flag, expanded: flag, disabled: flag, readonly: flag, multiline: flag };
export const FLAGS = Object.keys(flags) as (keyof typeof flags)[];

export interface GraphElement extends z.output<typeof ownSchema> {
  readonly children: readonly GraphElement[];
}

const ownSchema = z.strictObject({
  ...{ id: name.optional(), role: z.string().min(1), name: z.string().default(''), bind: name.optional() },
  ...{ option: z.string().optional(), options: z.array(z.string()).min(1).optional() },
  ...{ each: name.optional(), where: conditions.optional(), when: conditions.optional() },
  ...flags,
});
const elementSchema: z.ZodType<GraphElement> = ownSchema.extend({
  get children() {
    return z.array(elementSchema).default([]);
  },
});

const changeSchema = z.union([
  z.strictObject({ set: name, to: scalar }),
  z.strictObject({ append: scalars, to: name }),
  z.strictObject({ remove: name, where: scalars.optional() }),
  z.strictObject({ update: name, where: scalars.optional(), set: scalars.optional(), add: scalars.optional() }),
]);

const edgeSchema = z.strictObject({
  ...{ page: name, on: name, action: z.enum(['click', 'dblclick', 'hover', 'press']).default('click') },
  ...{ key: z.string().min(1).optional(), when: conditions.optional() },
  ...{ changes: z.array(changeSchema).default([]), to: name.optional() },
});

const drawSchema = z.union([
  name,
  z.array(scalar).min(1),
  z.strictObject({ from: name, where: conditions.optional() }),
]);

const taskSchema = z
  .strictObject({
    ...{ name, start: name.optional(), draw: z.record(name, drawSchema).default({}) },
    ...{ changes: z.array(changeSchema).default([]), goal: z.string().min(1) },
    ...{ done: conditions.optional(), over: conditions.optional(), answer: scalar.optional() },
  })
  .refine(
    ({ done, over, answer }) => (done ?? over ?? answer) !== undefined,
    'it says neither when it is done or over nor what the answer is',
  );

const graphSchema = z.strictObject({
  title: z.string().min(1),
  policy: z.string().min(1).optional(),
  goalKinds: z.array(z.string().min(1).max(400)).optional(),
  start: name,
  data: z.record(name, cellSchema).default({}),
  pages: z.record(name, z.strictObject({ title: z.string(), elements: z.array(elementSchema) })),
  edges: z.array(edgeSchema).default([]),
  tasks: z.array(taskSchema).min(1),
});

export type Scalar = z.output<typeof scalar>;
export type Columns = z.output<typeof columns>;
export type GraphCondition = z.output<typeof conditionSchema>;
export type GraphChange = z.output<typeof changeSchema>;
export type GraphEdge = z.output<typeof edgeSchema>;
export type GraphTask = z.output<typeof taskSchema>;
export type GraphFile = z.output<typeof graphSchema>;

export const REFERENCE = /\{([A-Za-z][\w.-]*)\}/g;

/** The name in a text that is nothing but a reference. */
export function soleReference(text: Scalar): string | undefined {
  return typeof text === 'string' ? /^\{([A-Za-z][\w.-]*)\}$/.exec(text)?.[1] : undefined;
}

/** @throws FILE_INVALID, UNKNOWN_KEY */
export function readGraph(file: string): GraphFile {
  let value: unknown;
  try {
    value = parse(readText(file));
  } catch (error) {
    throw graphInvalid(file, 'the file', (error as Error).message.split('\n')[0], error);
  }
  const problem = jsonProblem(value, STATE_LIMITS);
  if (problem !== undefined) throw graphInvalid(file, 'the file', problem);
  const graph = parseStrictly(graphSchema, value, file, (found) => {
    const [place, ...rest] = found.split(': ');
    return rest.length === 0 ? graphInvalid(file, 'the file', found) : graphInvalid(file, place, rest.join(': '));
  });
  checkGraph(graph, (place, problem) => graphInvalid(file, place, problem));
  return graph;
}

export function graphInvalid(file: string, place: string, problem: string, cause?: unknown): ReverieError {
  const hint = 'See docs/screens.md for what pages, edges, data and tasks may say.';
  const told = { problem: `The navigation graph "${file}" cannot be used: ${place}: ${problem}.`, hint };
  return reverieError('FILE_INVALID', told, cause);
}

/** Keys that name something, wherever they stand; and keys with values by column. */
const NAMING: Readonly<Record<string, 'page' | 'table' | 'data'>> = {
  ...{ page: 'page', start: 'page', rows: 'table', each: 'table', from: 'table', remove: 'table', update: 'table' },
  ...{ bind: 'data', set: 'data' },
};
const BY_COLUMN = new Set(['where', 'append', 'set', 'add']);

/** @throws what `fault` makes of the first name that means nothing: a page, an element, data, a table or a column */
function checkGraph(
  { data, pages, edges, tasks, start }: GraphFile,
  fault: (place: string, problem: string) => Error,
): void {
  const tables = Object.fromEntries(
    Object.entries(data).flatMap(([key, cell]) => (cell.type === 'table' ? [[key, Object.keys(cell.columns)]] : [])),
  );
  const names = { page: Object.keys(pages), table: Object.keys(tables), data: Object.keys(data) };
  const known = (place: string, wanted: string, what: string, among: readonly string[]) => {
    if (among.includes(wanted)) return;
    throw fault(place, `there is no ${what} "${wanted}"${nameAside(wanted, among)}`);
  };
  const checkRow = (place: string, table: string, row: object) => {
    known(place, table, 'table', names.table);
    for (const column of Object.keys(row)) known(`${place}.${column}`, column, 'column', tables[table]);
  };
  const check = (place: string, value: unknown): void => {
    if (typeof value === 'string') {
      for (const [, path] of value.matchAll(REFERENCE))
        known(place, path.split('.')[0], 'data or row', [...names.data, 'row', 'task']);
      const stray = value.replaceAll(REFERENCE, '').match(/[{}].{0,20}/);
      if (stray !== null) throw fault(place, `"${stray[0]}" is no reference, which is written {name} or {name.column}`);
    }
    if (typeof value !== 'object' || value === null) return;
    const { rows, update, remove, to } = value as Readonly<Record<string, string>>;
    for (const [key, part] of Object.entries(value)) {
      const here = `${place}.${key}`;
      if (BY_COLUMN.has(key) && typeof part === 'object' && !Array.isArray(part)) {
        checkRow(here, rows ?? update ?? remove ?? to, part);
        for (const one of Object.values(part)) check(here, one);
        continue;
      }
      if (typeof part === 'string' && NAMING[key] !== undefined) known(here, part, NAMING[key], names[NAMING[key]]);
      check(here, part);
    }
  };
  const idsOf = (elements: readonly GraphElement[]): string[] =>
    elements.flatMap(({ id, children }) => [...(id === undefined ? [] : [id]), ...idsOf(children)]);

  for (const [key, cell] of Object.entries(data)) {
    if (cell.type === 'sum' || cell.type === 'count') known(`data.${key}.of`, cell.of, 'table', names.table);
    if (cell.type === 'table') for (const [i, row] of cell.rows.entries()) checkRow(`data.${key}.rows.${i}`, key, row);
  }
  known('start', start, 'page', names.page);
  check('pages', pages);
  for (const [i, { page, on, to, when, changes }] of edges.entries()) {
    known(`edges.${i}.page`, page, 'page', names.page);
    known(`edges.${i}.on`, on, `element of page "${page}"`, idsOf(pages[page].elements));
    if (to !== undefined) known(`edges.${i}.to`, to, 'page', names.page);
    check(`edges.${i}`, { when, changes });
  }
  for (const [i, { draw, ...task }] of tasks.entries()) {
    check(`tasks.${i}`, task);
    for (const [key, from] of Object.entries(draw))
      if (!Array.isArray(from)) check(`tasks.${i}.draw.${key}`, typeof from === 'string' ? { from } : from);
  }
}
