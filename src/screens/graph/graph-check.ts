// Does a graph hold together? Every name in it must mean something where it stands, and of the right type. The first fault is told with its
// place in the file.

import { nearest } from '../../core/errors.js';
import type { Columns, GraphChange, GraphCondition, GraphElement, GraphFile } from './graph-schema.js';
import { REFERENCE, type Scalar, soleReference } from './graph-values.js';
import { fieldKind } from './graph-view.js';

export class GraphFault extends Error {
  constructor(
    readonly place: string,
    problem: string,
  ) {
    super(problem);
  }
}

/** What a name has: a type of its own, or columns. */
export type Named = 'text' | 'number' | 'flag' | Columns;
type Rows = Readonly<Record<string, Readonly<Record<string, Named>>>>;

interface Names {
  readonly file: GraphFile;
  readonly rows: Rows;
}

/** @throws GraphFault */
export function checkGraph(file: GraphFile): void {
  const names = { file, rows: {} };
  checkData(file);
  known('start', file.start, Object.keys(file.pages), 'page');
  for (const [page, { title, elements }] of Object.entries(file.pages)) {
    checkText(`pages.${page}.title`, title, names);
    checkElements(`pages.${page}.elements`, elements, names);
    checkIds(page, file);
  }
  for (const [i, edge] of file.edges.entries()) {
    const place = `edges.${i}`;
    known(`${place}.page`, edge.page, Object.keys(file.pages), 'page');
    const ways = elementsOf(file, edge.page).filter(({ template }) => template.id === edge.on);
    if (ways.length === 0) known(`${place}.on`, edge.on, idsOf(file, edge.page), `element of page "${edge.page}"`);
    if (edge.to !== undefined) known(`${place}.to`, edge.to, Object.keys(file.pages), 'page');
    if (edge.key !== undefined && edge.action !== 'press')
      throw new GraphFault(`${place}.key`, 'only an edge of action press has a key');
    const own = { file, rows: ways[0].rows };
    checkConditions(`${place}.when`, edge.when, own, false);
    checkChanges(`${place}.changes`, edge.changes, own);
  }
  const seen = new Set<string>();
  for (const [i, task] of file.tasks.entries()) {
    if (seen.has(task.name)) throw new GraphFault(`tasks.${i}.name`, `another task is called "${task.name}"`);
    seen.add(task.name);
    checkTask(`tasks.${i}`, task, names);
  }
}

function checkData({ data }: GraphFile): void {
  for (const [name, cell] of Object.entries(data)) {
    const place = `data.${name}`;
    if (name === 'task') throw new GraphFault(place, '"task" is what a task draws');
    if (cell.type === 'record' && cell.value !== undefined) checkRow(`${place}.value`, cell.value, cell.columns);
    if (cell.type === 'table')
      for (const [i, row] of cell.rows.entries()) checkRow(`${place}.rows.${i}`, row, cell.columns);
    if (cell.type !== 'sum' && cell.type !== 'count') continue;
    const table = columnsOf(`${place}.of`, cell.of, { file: { data } as GraphFile, rows: {} });
    for (const column of cell.type === 'sum' ? cell.columns : []) {
      known(`${place}.columns`, column, Object.keys(table), `column of "${cell.of}"`);
      if (table[column] !== 'number') throw new GraphFault(`${place}.columns`, `"${column}" is no number`);
    }
  }
}

const TYPES = { string: 'text', number: 'number', boolean: 'flag' } as Readonly<Record<string, Named>>;

/** All columns, each of its type. */
function checkRow(place: string, row: Readonly<Record<string, Scalar>>, columns: Columns): void {
  for (const column of Object.keys(row)) known(`${place}.${column}`, column, Object.keys(columns), 'column');
  for (const [column, type] of Object.entries(columns)) {
    if (row[column] === undefined) throw new GraphFault(place, `the column "${column}" has no value`);
    if (TYPES[typeof row[column]] !== type) throw new GraphFault(`${place}.${column}`, `it must be a ${type}`);
  }
}

function checkTask(place: string, task: GraphFile['tasks'][number], { file }: Names): void {
  if (task.start !== undefined) known(`${place}.start`, task.start, Object.keys(file.pages), 'page');
  const draws: Record<string, Named> = {};
  for (const [name, draw] of Object.entries(task.draw)) {
    const at = `${place}.draw.${name}`;
    if (Array.isArray(draw)) draws[name] = TYPES[typeof draw[0]];
    else {
      const { from, where } = typeof draw === 'string' ? { from: draw } : (draw as Exclude<typeof draw, string | []>);
      draws[name] = columnsOf(at, from, { file, rows: {} });
      checkConditions(`${at}.where`, where, { file, rows: { row: draws[name] } }, false);
    }
  }
  const names = { file, rows: { task: draws } };
  checkText(`${place}.goal`, task.goal, names);
  checkChanges(`${place}.changes`, task.changes, names);
  checkConditions(`${place}.done`, task.done, names, true);
  checkConditions(`${place}.over`, task.over, names, true);
  if (task.answer !== undefined) checkOperand(`${place}.answer`, task.answer, names);
  else if ((task.done ?? task.over) === undefined)
    throw new GraphFault(place, 'it says neither when it is done or over nor what the answer is');
}

function checkElements(place: string, elements: readonly GraphElement[], names: Names): void {
  for (const [i, element] of elements.entries()) {
    const at = `${place}.${i}`;
    const own = element.each === undefined ? names : withRow(`${at}.each`, element, names);
    for (const key of ['name', 'value', 'option', 'classes', 'color'] as const)
      if (element[key] !== undefined) checkText(`${at}.${key}`, String(element[key]), own);
    for (const key of ['where', 'when', 'checked', 'selected', 'expanded', 'disabled', 'readonly', 'multiline'])
      if (Array.isArray(element[key])) checkConditions(`${at}.${key}`, element[key] as GraphCondition[], own, false);
    checkField(at, element, own);
    checkElements(`${at}.children`, element.children, own);
  }
}

function withRow(place: string, { each, as = 'row' }: GraphElement, { file, rows }: Names): Names {
  return { file, rows: { ...rows, [as]: columnsOf(place, each!, { file, rows }) } };
}

const BOUND = { written: ['text', 'number'], ticked: ['flag'], chosen: ['text'], radio: ['text'] } as const;

function checkField(place: string, element: GraphElement, names: Names): void {
  const { bind, role, options } = element;
  const kind = fieldKind(element);
  if (options !== undefined && kind !== 'chosen')
    throw new GraphFault(`${place}.options`, `a ${role} has no options; a combobox or listbox has`);
  if (kind === 'chosen' && options === undefined) throw new GraphFault(place, `a ${role} needs options`);
  if (options !== undefined && !Array.isArray(options)) {
    const { of, column } = options as { of: string; column: string };
    known(`${place}.options`, column, Object.keys(columnsOf(`${place}.options`, of, names)), `column of "${of}"`);
  } else for (const option of options ?? []) checkText(`${place}.options`, option, names);
  if (kind === 'radio' && bind === undefined) throw new GraphFault(place, 'a radio needs the data that it is bound to');
  if (bind === undefined) return;
  const types: readonly string[] = kind === undefined ? [] : BOUND[kind];
  known(`${place}.bind`, bind, Object.keys(names.file.data), 'data');
  const { type } = names.file.data[bind];
  if (types.includes(type)) return;
  const fitting = types.length === 0 ? 'nothing, as it is no field' : types.join(' or ');
  throw new GraphFault(`${place}.bind`, `a ${role} can be bound to ${fitting}, and "${bind}" is a ${type}`);
}

/** Names of elements are one element's each, though it may stand on the page many times. */
function checkIds(page: string, file: GraphFile): void {
  const ids = idsOf(file, page);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new GraphFault(`pages.${page}.elements`, `two elements have the id "${twice}"`);
}

function idsOf(file: GraphFile, page: string): string[] {
  return elementsOf(file, page).flatMap(({ template: { id } }) => (id === undefined ? [] : [id]));
}

function elementsOf(file: GraphFile, page: string): { template: GraphElement; rows: Rows }[] {
  const all = (templates: readonly GraphElement[], names: Names): { template: GraphElement; rows: Rows }[] =>
    templates.flatMap((template) => {
      const own = template.each === undefined ? names : withRow(page, template, names);
      return [{ template, rows: own.rows }, ...all(template.children, own)];
    });
  return all(file.pages[page].elements, { file, rows: {} });
}

function checkConditions(
  place: string,
  conditions: readonly GraphCondition[] | undefined,
  names: Names,
  isOfPage: boolean,
): void {
  for (const [i, condition] of (conditions ?? []).entries()) {
    const at = `${place}.${i}`;
    const { any, page, element, rows, where, value, is, not, contains, oneOf, count, atLeast, atMost } = condition;
    checkConditions(`${at}.any`, any, names, isOfPage);
    if ((page !== undefined || element !== undefined) && !isOfPage)
      throw new GraphFault(at, 'only what a task waits for (done, over) may look at the page');
    if (page !== undefined) known(`${at}.page`, page, Object.keys(names.file.pages), 'page');
    const everywhere = Object.keys(names.file.pages).flatMap((one) => idsOf(names.file, one));
    if (element !== undefined) known(`${at}.element`, element, everywhere, 'element');
    if (rows !== undefined) checkWhere(`${at}.where`, where, columnsOf(`${at}.rows`, rows, names), names);
    else if (where !== undefined) throw new GraphFault(`${at}.where`, 'only rows are told apart by "where"');
    const operands = [value, is, not, contains, ...(oneOf ?? []), atLeast, atMost];
    for (const operand of operands) if (operand !== undefined) checkOperand(at, operand, names);
    const compared = [is, not, contains, oneOf, count, atLeast, atMost].some((one) => one !== undefined);
    if ((value !== undefined || element !== undefined) && !compared)
      throw new GraphFault(at, 'it compares with nothing: give is, not, contains, oneOf, atLeast or atMost');
  }
}

function checkChanges(place: string, changes: readonly GraphChange[], names: Names): void {
  for (const [i, change] of changes.entries()) {
    const at = `${place}.${i}`;
    if ('append' in change) checkFull(`${at}.append`, change.append, columnsOf(`${at}.to`, change.to, names), names);
    else if ('remove' in change) checkWhere(at, change.where, columnsOf(`${at}.remove`, change.remove, names), names);
    else if ('update' in change) {
      const columns = columnsOf(`${at}.update`, change.update, names);
      for (const part of [change.where, change.set, change.add]) checkWhere(at, part, columns, names);
      for (const key of Object.keys(change.add ?? {}))
        if (columns[key] !== 'number') throw new GraphFault(`${at}.add.${key}`, `"${key}" is no number`);
    } else checkCellChange(at, change, names);
  }
}

function checkCellChange(
  place: string,
  change: Exclude<GraphChange, { append: object } | { remove: string } | { update: string }>,
  names: Names,
): void {
  const cell = 'toggle' in change ? change.toggle : 'set' in change ? change.set : change.to;
  known(place, cell, Object.keys(names.file.data), 'data');
  const { type } = names.file.data[cell];
  if ('toggle' in change) expectType(place, cell, type, ['flag']);
  else if ('add' in change) {
    expectType(place, cell, type, ['number']);
    checkOperand(`${place}.add`, change.add, names);
  } else {
    expectType(place, cell, type, ['text', 'number', 'flag', 'record']);
    if (type === 'record') checkRowGiven(`${place}.to`, change.to, names);
    else checkOperand(`${place}.to`, change.to, names);
  }
}

function checkRowGiven(place: string, operand: Scalar, names: Names): void {
  const sole = soleReference(String(operand));
  const given = sole === undefined ? undefined : typeOf(place, sole, names);
  if (typeof given !== 'object') throw new GraphFault(place, 'a record is set to a row, such as "{row}"');
}

function expectType(place: string, cell: string, type: string, types: readonly string[]): void {
  if (!types.includes(type)) throw new GraphFault(place, `"${cell}" is a ${type}, and must be a ${types.join(' or ')}`);
}

function checkFull(place: string, row: Readonly<Record<string, Scalar>>, columns: Columns, names: Names): void {
  checkWhere(place, row, columns, names);
  const missing = Object.keys(columns).find((column) => row[column] === undefined);
  if (missing !== undefined) throw new GraphFault(place, `the column "${missing}" has no value`);
}

function checkWhere(
  place: string,
  where: Readonly<Record<string, Scalar>> | undefined,
  columns: Columns,
  names: Names,
): void {
  for (const [column, operand] of Object.entries(where ?? {})) {
    known(`${place}.${column}`, column, Object.keys(columns), 'column');
    checkOperand(`${place}.${column}`, operand, names);
  }
}

function columnsOf(place: string, table: string, { file }: Names): Columns {
  const tables = Object.keys(file.data).filter((name) => file.data[name].type === 'table');
  known(place, table, tables, 'table');
  return (file.data[table] as { columns: Columns }).columns;
}

function checkOperand(place: string, operand: Scalar, names: Names): void {
  if (typeof operand === 'string') checkText(place, operand, names);
}

/** Every reference in a text must be to a value. */
function checkText(place: string, text: string, names: Names): void {
  for (const [, path] of text.matchAll(REFERENCE)) {
    if (typeof typeOf(place, path, names) === 'object')
      throw new GraphFault(place, `{${path}} is a row: name a column`);
  }
  const stray = text.replaceAll(REFERENCE, '').match(/[{}].{0,20}/);
  if (stray !== null)
    throw new GraphFault(place, `"${stray[0]}" is no reference, which is written {name} or {name.column}`);
}

function typeOf(place: string, path: string, { file, rows }: Names): Named {
  const [head, ...rest] = path.split('.');
  const isRow = Object.hasOwn(rows, head);
  if (!isRow) known(place, head, [...Object.keys(rows), ...Object.keys(file.data)], 'data or row');
  let type: unknown = isRow ? rows[head] : cellType(place, head, file);
  for (const key of rest) {
    if (typeof type !== 'object') throw new GraphFault(place, `{${path}}: there is nothing in "${key}"`);
    known(place, key, Object.keys(type as object), `part of {${head}}`);
    type = (type as Readonly<Record<string, unknown>>)[key];
  }
  return type as Named;
}

function cellType(place: string, name: string, { data }: GraphFile): Named {
  const cell = data[name];
  if (cell.type === 'table') throw new GraphFault(place, `"${name}" is a table: elements show its rows by "each"`);
  if (cell.type === 'record') return cell.columns;
  return cell.type === 'sum' || cell.type === 'count' ? 'number' : cell.type;
}

/** @throws GraphFault with the nearest that there is */
function known(place: string, name: string, names: readonly string[], what: string): void {
  if (names.includes(name)) return;
  const close = nearest(name, names);
  throw new GraphFault(
    place,
    `there is no ${what} "${name}"${close === undefined ? '' : ` (did you mean "${close}"?)`}`,
  );
}
