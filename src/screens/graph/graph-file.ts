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
    value: scalar.optional(),
    is: scalar.optional(),
    not: scalar.optional(),
    contains: scalar.optional(),
    rows: name.optional(),
    where: scalars.optional(),
    page: name.optional(),
    count: z.number().int().min(0).optional(),
    atLeast: scalar.optional(),
    atMost: scalar.optional(),
  })
  .refine(
    (one) => ['value', 'rows', 'page'].filter((key) => key in one).length === 1,
    'a condition has exactly one of value, rows and page',
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
  id: name.optional(),
  role: z.string().min(1),
  name: z.string().default(''),
  bind: name.optional(),
  value: z.string().optional(),
  option: z.string().optional(),
  options: z.array(z.string()).min(1).optional(),
  each: name.optional(),
  as: name.optional(),
  where: conditions.optional(),
  when: conditions.optional(),
  classes: z.string().optional(),
  color: z.string().optional(),
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
  page: name,
  on: name,
  action: z.enum(['click', 'dblclick', 'hover', 'focus', 'fill', 'clear', 'press', 'select_option']).default('click'),
  key: z.string().min(1).optional(),
  when: conditions.optional(),
  changes: z.array(changeSchema).default([]),
  to: name.optional(),
});

const drawSchema = z.union([
  name,
  z.array(scalar).min(1),
  z.strictObject({ from: name, where: conditions.optional() }),
]);

const taskSchema = z.strictObject({
  name,
  start: name.optional(),
  draw: z.record(name, drawSchema).default({}),
  changes: z.array(changeSchema).default([]),
  goal: z.string().min(1),
  done: conditions.optional(),
  over: conditions.optional(),
  answer: scalar.optional(),
});

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

/** How an element is used as a field, by its role; undefined for what is none. */
export function fieldKind({ role }: { readonly role: string }): 'written' | 'ticked' | 'chosen' | 'radio' | undefined {
  if (['textbox', 'searchbox', 'spinbutton'].includes(role)) return 'written';
  if (role === 'checkbox' || role === 'switch') return 'ticked';
  if (role === 'combobox' || role === 'listbox') return 'chosen';
  return role === 'radio' ? 'radio' : undefined;
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
  try {
    checkGraph(graph);
  } catch (error) {
    throw error instanceof GraphFault ? graphInvalid(file, error.place, error.message) : error;
  }
  return graph;
}

export function graphInvalid(file: string, place: string, problem: string, cause?: unknown): ReverieError {
  const hint = 'See docs/screens.md for what pages, edges, data and tasks may say.';
  const told = { problem: `The navigation graph "${file}" cannot be used: ${place}: ${problem}.`, hint };
  return reverieError('FILE_INVALID', told, cause);
}

class GraphFault extends Error {
  constructor(
    readonly place: string,
    problem: string,
  ) {
    super(problem);
  }
}

/** What a name stands for: a type of its own, columns, or what a task drew. */
type Named = 'text' | 'number' | 'flag' | 'table' | { readonly [part: string]: Named };
type Names = Readonly<Record<string, Named>>;

const TYPES: Readonly<Record<string, Named>> = { string: 'text', number: 'number', boolean: 'flag' };
const BOUND = { written: ['text', 'number'], ticked: ['flag'], chosen: ['text'], radio: ['text'] } as const;

/** @throws GraphFault for the first name that means nothing, or something of another type */
function checkGraph({ start, data, pages, edges, tasks }: GraphFile): void {
  const names: Names = Object.fromEntries(
    Object.entries(data).map(([key, cell]): [string, Named] => {
      if (cell.type === 'record') return [key, cell.columns];
      return [key, cell.type === 'sum' || cell.type === 'count' ? 'number' : cell.type];
    }),
  );
  const columnsOf = (place: string, table: string): Columns => {
    known(
      place,
      table,
      Object.keys(data).filter((key) => data[key].type === 'table'),
      'table',
    );
    return (data[table] as { columns: Columns }).columns;
  };
  const checkPage = (place: string, page: string) => known(place, page, Object.keys(pages), 'page');
  const checkConditions = (place: string, list: readonly GraphCondition[] | undefined, at: Names, waits: boolean) => {
    for (const [i, condition] of (list ?? []).entries()) {
      const { page, rows, where, value, is, not, contains, count, atLeast, atMost } = condition;
      const here = `${place}.${i}`;
      if (page !== undefined && !waits) throw new GraphFault(here, 'only done and over may look at the page');
      if (page !== undefined) checkPage(`${here}.page`, page);
      checkRow(`${here}.where`, where, rows === undefined ? {} : columnsOf(`${here}.rows`, rows));
      if (value !== undefined && [is, not, contains, count, atLeast, atMost].every((one) => one === undefined))
        throw new GraphFault(here, 'it compares with nothing: give is, not, contains, atLeast or atMost');
      checkTexts(here, condition, at);
    }
  };
  const checkChanges = (place: string, changes: readonly GraphChange[], at: Names) => {
    for (const [i, change] of changes.entries()) {
      const here = `${place}.${i}`;
      if ('append' in change) checkRow(`${here}.append`, change.append, columnsOf(`${here}.to`, change.to), true);
      else if ('remove' in change) checkRow(here, change.where, columnsOf(`${here}.remove`, change.remove));
      else if ('update' in change) {
        const table = columnsOf(`${here}.update`, change.update);
        for (const part of [change.where, change.set, change.add]) checkRow(here, part, table);
      } else {
        known(here, change.set, Object.keys(data), 'data');
        const { type } = data[change.set];
        if (['table', 'sum', 'count'].includes(type)) throw new GraphFault(here, `a ${type} cannot be set`);
        const sole = soleReference(change.to);
        const isRow = sole !== undefined && typeof typeOf(`${here}.to`, sole, at) === 'object';
        if (isRow !== (type === 'record'))
          throw new GraphFault(`${here}.to`, `"${change.set}" is a ${type}; rows, such as "{row}", are for records`);
        if (isRow) continue;
      }
      checkTexts(here, change, at);
    }
  };
  const checkElements = (place: string, elements: readonly GraphElement[], at: Names, found: Map<string, Names>) => {
    for (const [i, element] of elements.entries()) {
      const { id, role, each, as = 'row', bind, options, children, ...told } = element;
      const here = `${place}.${i}`;
      const own = each === undefined ? at : { ...at, [as]: columnsOf(`${here}.each`, each) };
      if (id !== undefined && found.has(id)) throw new GraphFault(place, `two elements have the id "${id}"`);
      if (id !== undefined) found.set(id, own);
      for (const [key, part] of Object.entries({ ...told, options })) {
        if (Array.isArray(part) && key !== 'options')
          checkConditions(`${here}.${key}`, part as readonly GraphCondition[], own, false);
        else checkTexts(`${here}.${key}`, part, own);
      }
      const kind = fieldKind(element);
      if ((options === undefined) === (kind === 'chosen'))
        throw new GraphFault(`${here}.options`, `a ${role} ${kind === 'chosen' ? 'needs' : 'has no'} options`);
      if (kind === 'radio' && bind === undefined) throw new GraphFault(here, 'a radio needs data that it is bound to');
      if (bind !== undefined) {
        known(`${here}.bind`, bind, Object.keys(data), 'data');
        const types: readonly string[] = kind === undefined ? [] : BOUND[kind];
        const fitting = types.join(' or ') || 'nothing, as it is no field';
        const problem = `a ${role} can be bound to ${fitting}, and "${bind}" is a ${data[bind].type}`;
        if (!types.includes(data[bind].type)) throw new GraphFault(`${here}.bind`, problem);
      }
      checkElements(`${here}.children`, children, own, found);
    }
    return found;
  };

  if ('task' in data) throw new GraphFault('data.task', '"task" is what a task draws');
  for (const [key, cell] of Object.entries(data)) {
    const rows = cell.type === 'table' ? cell.rows : cell.type === 'record' && cell.value ? [cell.value] : [];
    for (const [i, row] of rows.entries()) {
      const place = cell.type === 'table' ? `data.${key}.rows.${i}` : `data.${key}.value`;
      const types = (cell as { columns: Columns }).columns;
      checkRow(place, row, types, true);
      for (const [column, value] of Object.entries(row))
        if (TYPES[typeof value] !== types[column])
          throw new GraphFault(`${place}.${column}`, `it must be a ${types[column]}`);
    }
    if (cell.type !== 'sum' && cell.type !== 'count') continue;
    const table = columnsOf(`data.${key}.of`, cell.of);
    const numbers = Object.keys(table).filter((column) => table[column] === 'number');
    for (const column of cell.type === 'sum' ? cell.columns : [])
      known(`data.${key}.columns`, column, numbers, `number column of "${cell.of}"`);
  }
  checkPage('start', start);
  const elements = new Map<string, ReadonlyMap<string, Names>>();
  for (const [page, { title, elements: own }] of Object.entries(pages)) {
    checkTexts(`pages.${page}.title`, title, names);
    elements.set(page, checkElements(`pages.${page}.elements`, own, names, new Map()));
  }
  for (const [i, { page, on, to, key, action, when, changes }] of edges.entries()) {
    checkPage(`edges.${i}.page`, page);
    const found = elements.get(page)!;
    known(`edges.${i}.on`, on, [...found.keys()], `element of page "${page}"`);
    if (to !== undefined) checkPage(`edges.${i}.to`, to);
    if (key !== undefined && action !== 'press')
      throw new GraphFault(`edges.${i}.key`, 'only an edge of action press has a key');
    checkConditions(`edges.${i}.when`, when, found.get(on)!, false);
    checkChanges(`edges.${i}.changes`, changes, found.get(on)!);
  }
  for (const [i, { name: title, start: page, draw, goal, changes, done, over, answer }] of tasks.entries()) {
    const place = `tasks.${i}`;
    if (tasks.findIndex((other) => other.name === title) !== i)
      throw new GraphFault(`${place}.name`, `another task is called "${title}"`);
    if (page !== undefined) checkPage(`${place}.start`, page);
    const draws = Object.entries(draw).map(([key, from]): [string, Named] => {
      if (Array.isArray(from)) return [key, TYPES[typeof from[0]]];
      const table = columnsOf(`${place}.draw.${key}`, typeof from === 'string' ? from : from.from);
      if (typeof from !== 'string')
        checkConditions(`${place}.draw.${key}.where`, from.where, { ...names, row: table }, false);
      return [key, table];
    });
    const own = { ...names, task: Object.fromEntries(draws) };
    checkTexts(`${place}.goal`, goal, own);
    checkChanges(`${place}.changes`, changes, own);
    checkConditions(`${place}.done`, done, own, true);
    checkConditions(`${place}.over`, over, own, true);
    checkTexts(`${place}.answer`, answer, own);
    if ((done ?? over ?? answer) === undefined)
      throw new GraphFault(place, 'it says neither when it is done or over nor what the answer is');
  }
}

/** @param whole  whether every column must be there */
function checkRow(place: string, row: Readonly<Record<string, Scalar>> | undefined, types: Columns, whole = false) {
  for (const column of Object.keys(row ?? {})) known(`${place}.${column}`, column, Object.keys(types), 'column');
  const missing = Object.keys(types).find((column) => row?.[column] === undefined);
  if (whole && missing !== undefined) throw new GraphFault(place, `the column "${missing}" has no value`);
}

/** Every reference in every text of a value must be to a value. */
function checkTexts(place: string, value: unknown, names: Names): void {
  if (typeof value === 'object' && value !== null)
    for (const [key, part] of Object.entries(value)) checkTexts(`${place}.${key}`, part, names);
  if (typeof value !== 'string') return;
  for (const [, path] of value.matchAll(REFERENCE)) {
    const type = typeOf(place, path, names);
    if (typeof type === 'object' || type === 'table')
      throw new GraphFault(place, `{${path}} is no value: name a column`);
  }
  const stray = value.replaceAll(REFERENCE, '').match(/[{}].{0,20}/);
  if (stray === null) return;
  throw new GraphFault(place, `"${stray[0]}" is no reference, which is written {name} or {name.column}`);
}

function typeOf(place: string, path: string, names: Names): Named {
  const [head, ...rest] = path.split('.');
  known(place, head, Object.keys(names), 'data or row');
  let type = names[head];
  for (const key of rest) {
    if (typeof type !== 'object') throw new GraphFault(place, `{${path}}: there is nothing in "${key}"`);
    known(place, key, Object.keys(type), `part of {${head}}`);
    type = type[key];
  }
  return type;
}

function known(place: string, wanted: string, names: readonly string[], what: string): void {
  if (names.includes(wanted)) return;
  const close = nearest(wanted, names);
  const hint = close === undefined ? '' : ` (did you mean "${close}"?)`;
  throw new GraphFault(place, `there is no ${what} "${wanted}"${hint}`);
}
