// What the texts, conditions and changes of a graph come to, given the data beneath: `{cart.total}` is a value, everything else is as it
// stands. A text that is one reference keeps the type of what it names.

import type { Columns, GraphCell, GraphChange, GraphCondition } from './graph-schema.js';

export type Scalar = string | number | boolean;
export type Row = Readonly<Record<string, Scalar>>;
/** A record that nothing was set to yet is undefined. */
export type Cell = Scalar | Row | readonly Row[] | undefined;

/** What names mean in one place: the data, a task's draws, rows that elements stand for. */
export interface Scope {
  readonly cells: Readonly<Record<string, GraphCell>>;
  readonly data: Readonly<Record<string, Cell>>;
  /** By name: rows of `each`, and `task`. */
  readonly rows: Readonly<Record<string, Readonly<Record<string, Scalar | Row>>>>;
  /** The page as it is shown, for conditions on it; absent where none is shown. */
  readonly shown?: ShownProperties;
}

export interface ShownProperties {
  readonly page: string;
  /** A property of an element by its id in the file, each time that it is on the page. */
  of(element: string, property: string): readonly (Scalar | undefined)[];
}

export const REFERENCE = /\{([A-Za-z][\w.-]*)\}/g;

/** The name in a text that is nothing but a reference. */
export function soleReference(text: string): string | undefined {
  return /^\{([A-Za-z][\w.-]*)\}$/.exec(text)?.[1];
}

/** @returns '' for a column of a record that is not set */
export function resolved(operand: Scalar, scope: Scope): Scalar {
  if (typeof operand !== 'string') return operand;
  const sole = soleReference(operand);
  if (sole !== undefined) return referred(sole, scope);
  return operand.replaceAll(REFERENCE, (_, path: string) => String(referred(path, scope)));
}

export function textOf(operand: Scalar, scope: Scope): string {
  return String(resolved(operand, scope));
}

function referred(path: string, scope: Scope): Scalar {
  const [head, ...rest] = path.split('.');
  let value: unknown = Object.hasOwn(scope.rows, head) ? scope.rows[head] : cellOf(head, scope);
  for (const key of rest) value = (value as Row | undefined)?.[key];
  return typeof value === 'object' || value === undefined ? '' : (value as Scalar);
}

/** A cell's value; sums and counts are worked out. */
export function cellOf(name: string, { cells, data }: Pick<Scope, 'cells' | 'data'>): Cell {
  const cell = cells[name];
  if (cell?.type !== 'sum' && cell?.type !== 'count') return data[name];
  const rows = data[cell.of] as readonly Row[];
  if (cell.type === 'count') return rows.length;
  const product = (row: Row) => cell.columns.reduce((left, column) => left * Number(row[column]), 1);
  return Number(rows.reduce((sum, row) => sum + product(row), 0).toFixed(6));
}

/** A row of a table as the whole of it is set to a record: `{row}`. */
function rowOf(operand: Scalar, scope: Scope): Row | undefined {
  const sole = typeof operand === 'string' ? soleReference(operand) : undefined;
  if (sole === undefined) return undefined;
  const [head, ...rest] = sole.split('.');
  let value: unknown = Object.hasOwn(scope.rows, head) ? scope.rows[head] : cellOf(head, scope);
  for (const key of rest) value = (value as Readonly<Record<string, unknown>> | undefined)?.[key];
  return typeof value === 'object' && value !== null ? (value as Row) : undefined;
}

export function allHold(conditions: readonly GraphCondition[] | undefined, scope: Scope): boolean {
  return conditions?.every((condition) => holds(condition, scope)) ?? true;
}

function holds(condition: GraphCondition, scope: Scope): boolean {
  const { any, page, element, rows } = condition;
  if (any !== undefined) return any.some((one) => holds(one, scope));
  if (page !== undefined) return scope.shown?.page === page;
  if (element !== undefined) {
    const { property = 'name' } = condition;
    const found = scope.shown?.of(element, property) ?? [];
    return found.some((value) => value !== undefined && compares(value, condition, scope));
  }
  if (rows !== undefined) {
    const found = (scope.data[rows] as readonly Row[]).filter((row) => fits(row, condition.where, scope)).length;
    const { count, atLeast, atMost } = condition;
    const isBare = count === undefined && atLeast === undefined && atMost === undefined;
    return isBare ? found > 0 : compares(found, { ...condition, is: count }, scope);
  }
  return compares(resolved(condition.value!, scope), condition, scope);
}

function compares(value: Scalar, { is, not, contains, oneOf, atLeast, atMost }: GraphCondition, scope: Scope): boolean {
  const text = (operand: Scalar) => textOf(operand, scope).toLowerCase();
  return (
    (is === undefined || isSame(value, resolved(is, scope))) &&
    (not === undefined || !isSame(value, resolved(not, scope))) &&
    (contains === undefined || String(value).toLowerCase().includes(text(contains))) &&
    (oneOf === undefined || oneOf.some((one) => isSame(value, resolved(one, scope)))) &&
    (atLeast === undefined || Number(value) >= Number(resolved(atLeast, scope))) &&
    (atMost === undefined || Number(value) <= Number(resolved(atMost, scope)))
  );
}

/** A field holds texts: "3" is 3 to whoever compares. */
function isSame(a: Scalar, b: Scalar): boolean {
  return a === b || String(a) === String(b);
}

function fits(row: Row, where: Readonly<Record<string, Scalar>> | undefined, scope: Scope): boolean {
  return Object.entries(where ?? {}).every(([column, wanted]) => isSame(row[column], resolved(wanted, scope)));
}

/** The data after changes, made one after the other. */
export function changed(changes: readonly GraphChange[], scope: Scope): Scope['data'] {
  let { data } = scope;
  for (const change of changes) data = changedOnce(change, { ...scope, data });
  return data;
}

function changedOnce(change: GraphChange, scope: Scope): Scope['data'] {
  const { data } = scope;
  if ('append' in change) {
    const rows = data[change.to] as readonly Row[];
    return { ...data, [change.to]: [...rows, valuesOf(change.append, columnsOf(change.to, scope), scope)] };
  }
  if ('remove' in change) {
    const rows = data[change.remove] as readonly Row[];
    return { ...data, [change.remove]: rows.filter((row) => !fits(row, change.where, scope)) };
  }
  if ('update' in change) return { ...data, [change.update]: updated(change, scope) };
  if ('toggle' in change) return { ...data, [change.toggle]: data[change.toggle] !== true };
  if ('add' in change) return { ...data, [change.to]: sum(data[change.to] as Scalar, change.add, scope) };
  const { type } = scope.cells[change.set];
  const value = type === 'record' ? rowOf(change.to, scope) : typed(resolved(change.to, scope), type);
  return { ...data, [change.set]: value };
}

function updated(change: Extract<GraphChange, { update: string }>, scope: Scope): readonly Row[] {
  const columns = columnsOf(change.update, scope);
  return (scope.data[change.update] as readonly Row[]).map((row) => {
    if (!fits(row, change.where, scope)) return row;
    const added = Object.entries(change.add ?? {}).map(([column, by]) => [column, sum(row[column], by, scope)]);
    return { ...row, ...valuesOf(change.set ?? {}, columns, scope), ...Object.fromEntries(added) };
  });
}

function columnsOf(table: string, { cells }: Scope): Columns {
  return (cells[table] as Extract<GraphCell, { type: 'table' }>).columns;
}

function valuesOf(operands: Readonly<Record<string, Scalar>>, columns: Columns, scope: Scope): Row {
  const entries = Object.entries(operands);
  return Object.fromEntries(entries.map(([key, operand]) => [key, typed(resolved(operand, scope), columns[key])]));
}

/** Fields hold texts, which become what the data has: a text that is no number is 0. */
function typed(value: Scalar, type: string): Scalar {
  if (type === 'flag') return value === true || value === 'true';
  return type === 'number' ? numberOf(value) : String(value);
}

function numberOf(value: Scalar): number {
  const number = Number(value);
  return Number.isFinite(number) ? number : 0;
}

/** Prices have few decimals: what binary fractions add to them is none of theirs. */
function sum(value: Scalar, by: Scalar, scope: Scope): number {
  return Number((numberOf(value) + numberOf(resolved(by, scope))).toFixed(6));
}
