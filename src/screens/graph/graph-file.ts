// A navigation graph as a file says it (GUI Exploration Lab): pages with their elements, edges between them, the data beneath, and tasks.
// Plain data in YAML or JSON, nothing of it is code; every name in it must mean something where it stands.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { nearest, type ReverieError, reverieError } from '../../core/errors.js';
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
    value = parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
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

type Fault = (place: string, problem: string) => Error;

/** @throws what `fault` makes of the first name that means nothing: a page, an element, data, a table or a column */
function checkGraph({ data, pages, edges, tasks, start }: GraphFile, fault: Fault): void {
  const known = (place: string, wanted: string | undefined, names: readonly string[], what: string) => {
    if (wanted === undefined || names.includes(wanted)) return;
    const close = nearest(wanted, names);
    throw fault(place, `there is no ${what} "${wanted}"${close === undefined ? '' : ` (did you mean "${close}"?)`}`);
  };
  const page = (place: string, wanted: string | undefined) => known(place, wanted, Object.keys(pages), 'page');
  const tables = Object.keys(data).filter((key) => data[key].type === 'table');
  const row = (place: string, table: string, ...rows: (object | undefined)[]) => {
    known(place, table, tables, 'table');
    const { columns: own } = data[table] as { columns: Columns };
    for (const column of Object.keys(Object.assign({}, ...rows)))
      known(`${place}.${column}`, column, Object.keys(own), 'column');
  };
  /** Every reference begins with data, `row` or `task`, and every condition and change is of what there is. */
  const texts = (place: string, value: unknown): void => {
    if (typeof value === 'object' && value !== null) {
      const { rows, where, page: shown } = value as GraphCondition;
      if (rows !== undefined) row(`${place}.rows`, rows, where);
      if (typeof shown === 'string') page(`${place}.page`, shown);
      for (const [key, part] of Object.entries(value)) texts(`${place}.${key}`, part);
    }
    if (typeof value !== 'string') return;
    for (const [, path] of value.matchAll(REFERENCE))
      known(place, path.split('.')[0], [...Object.keys(data), 'row', 'task'], 'data or row');
    const stray = value.replaceAll(REFERENCE, '').match(/[{}].{0,20}/);
    if (stray !== null) throw fault(place, `"${stray[0]}" is no reference, which is written {name} or {name.column}`);
  };
  const checkChanges = (place: string, changes: readonly GraphChange[]) => {
    for (const [i, change] of changes.entries()) {
      if ('append' in change) row(`${place}.${i}`, change.to, change.append);
      else if ('remove' in change) row(`${place}.${i}`, change.remove, change.where);
      else if ('update' in change) row(`${place}.${i}`, change.update, change.where, change.set, change.add);
      else known(`${place}.${i}`, change.set, Object.keys(data), 'data');
    }
  };
  const idsOf = (place: string, elements: readonly GraphElement[]): string[] =>
    elements.flatMap(({ id, each, bind, children, ...told }, i) => {
      const here = `${place}.${i}`;
      known(`${here}.each`, each, tables, 'table');
      known(`${here}.bind`, bind, Object.keys(data), 'data');
      texts(here, told);
      return [...(id === undefined ? [] : [id]), ...idsOf(`${here}.children`, children)];
    });

  for (const [key, cell] of Object.entries(data)) {
    if (cell.type === 'sum' || cell.type === 'count') known(`data.${key}.of`, cell.of, tables, 'table');
    if (cell.type === 'table') for (const [i, one] of cell.rows.entries()) row(`data.${key}.rows.${i}`, key, one);
  }
  page('start', start);
  const ids = Object.fromEntries(
    Object.entries(pages).map(([key, { title, elements }]) => {
      texts(`pages.${key}.title`, title);
      return [key, idsOf(`pages.${key}.elements`, elements)];
    }),
  );
  for (const [i, edge] of edges.entries()) {
    page(`edges.${i}.page`, edge.page);
    known(`edges.${i}.on`, edge.on, ids[edge.page], `element of page "${edge.page}"`);
    page(`edges.${i}.to`, edge.to);
    checkChanges(`edges.${i}.changes`, edge.changes);
    texts(`edges.${i}`, { when: edge.when, changes: edge.changes });
  }
  for (const [i, { name: _, draw, ...task }] of tasks.entries()) {
    page(`tasks.${i}.start`, task.start);
    for (const [key, drawn] of Object.entries(draw))
      if (!Array.isArray(drawn))
        known(`tasks.${i}.draw.${key}`, typeof drawn === 'string' ? drawn : drawn.from, tables, 'table');
    checkChanges(`tasks.${i}.changes`, task.changes);
    texts(`tasks.${i}`, task);
  }
}
