// What happens in a graph: exact, and a function of the task and of what was done. A moment is never changed; an action leads to another.
// `{cart.total}` in a text is a value of the data beneath, everything else is as it stands; a text that is one reference keeps its type.

import type { ScreenElement } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { PageMoment } from '../page/page-browser.js';
import {
  type Columns,
  FLAGS,
  type GraphChange,
  type GraphCondition,
  type GraphEdge,
  type GraphElement,
  type GraphFile,
  type GraphTask,
  REFERENCE,
  type Scalar,
  soleReference,
} from './graph-file.js';

export type Row = Readonly<Record<string, Scalar>>;
/** A record that nothing was set to yet is undefined. */
export type Cell = Scalar | Row | readonly Row[] | undefined;
type Data = Readonly<Record<string, Cell>>;

/** What names mean in one place: the data, and rows of `each`, with what the task drew as `task`. */
export interface Scope {
  readonly cells: GraphFile['data'];
  readonly data: Data;
  readonly rows: Readonly<Record<string, Readonly<Record<string, Scalar | Row>>>>;
  /** The page that is shown, for conditions on it. */
  readonly page?: string;
}

/** A task as a seed sets it. */
interface GraphStart extends Pick<GraphTask, 'done' | 'over'> {
  readonly goal: string;
  readonly page: string;
  readonly data: Data;
  /** What `task` names. */
  readonly draws: Scope['rows'][string];
  readonly answer?: Scalar;
}

/** An element as it stands on the page. */
export interface Placed {
  /** What it is wherever the page is shown: its place in the file, and the rows it stands for. */
  readonly key: string;
  readonly template: GraphElement;
  readonly name: string;
  readonly properties: Readonly<Record<string, Scalar>>;
  readonly children: readonly Placed[];
  /** Rows that it and what holds it stand for. */
  readonly rows: Scope['rows'];
}

/** What a moment has beside what follows from it. */
interface Stand {
  readonly page: string;
  readonly data: Data;
  /** What fields hold that no data is bound to, by key. */
  readonly fields: Row;
  /** Pages that lead back, and forward again. */
  readonly back: readonly string[];
  readonly forward: readonly string[];
  /** Key of the element that the keyboard writes to. */
  readonly focused: string;
  /** Ids of what was on the page since it was opened, by key. */
  readonly ids: ReadonlyMap<string, string>;
}

export interface GraphMoment extends Stand {
  readonly start: GraphStart;
  readonly top: readonly Placed[];
  /** The page, what holds others first. */
  readonly placed: readonly Placed[];
  readonly reward: number;
  readonly done: boolean;
  /** Ids that were given. */
  readonly count: number;
}

/** How an element is used as a field, by its role; undefined for what is none. */
export function fieldKind({ role }: { readonly role: string }): 'written' | 'ticked' | 'chosen' | 'radio' | undefined {
  if (['textbox', 'searchbox', 'spinbutton'].includes(role)) return 'written';
  if (role === 'checkbox' || role === 'switch') return 'ticked';
  if (role === 'combobox' || role === 'listbox') return 'chosen';
  return role === 'radio' ? 'radio' : undefined;
}

/** Key of the page itself. */
const ROOT = '';

export class GraphWorld {
  constructor(readonly file: GraphFile) {}

  begin(start: GraphStart): GraphMoment {
    const { page, data } = start;
    return this.moment(start, { page, data, fields: {}, back: [], forward: [], focused: '', ids: new Map() }, 0);
  }

  /** The next moment, or why the action cannot be carried out. What the screen refuses by itself is none of it. */
  act(before: GraphMoment, { name, arguments: given }: CallSpec): GraphMoment | string {
    if (name === 'noop') return before;
    if (name === 'go_back' || name === 'go_forward') return this.gone(before, name === 'go_back');
    if (name === 'send_msg_to_user') return this.answered(before, String(given['text']));
    const target = before.placed.find(({ key }) => before.ids.get(key) === String(given['bid']));
    if (target === undefined) return `there is no element "${given['bid']}" on the screen`;
    const used = this.used(before, target, name, given);
    const at = this.scope(used, target.rows);
    const edge = this.edgesOf(before.page, target).find(
      ({ action, key, when }) =>
        action === name && (key === undefined || key === given['key_comb']) && allHold(when, at),
    );
    if (edge === undefined) return this.moment(before.start, used, before.count);
    const after = { ...used, data: changed(edge.changes, at) };
    if (edge.to === undefined) return this.moment(before.start, after, before.count);
    return this.opened(after, edge.to, [...used.back, used.page], []);
  }

  /** Edges that an element has on a page, whether they can be taken or not. */
  edgesOf(page: string, { template: { id } }: Placed): readonly GraphEdge[] {
    return id === undefined ? [] : this.file.edges.filter((edge) => edge.page === page && edge.on === id);
  }

  look(moment: GraphMoment): PageMoment {
    const { page, top, placed, ids, focused, start, reward, done } = moment;
    const idsOf = (some: readonly Placed[]) => some.map(({ key }) => ids.get(key)!);
    const title = textOf(this.file.pages[page].title, this.scope(moment));
    const root = ids.get(ROOT)!;
    const elements: Record<string, ScreenElement> = {
      [root]: { role: 'RootWebArea', name: title, children: idsOf(top) },
    };
    for (const { key, template, name, properties, children } of placed)
      elements[ids.get(key)!] = { role: template.role, name, ...properties, children: idsOf(children) };
    const keyboard = focused === '' ? '' : (ids.get(focused) ?? '');
    return { focused: keyboard, root, elements, tabs: [`/${page} ${title}`], tab: 0, goal: start.goal, reward, done };
  }

  private scope({ data, start }: Pick<GraphMoment, 'data' | 'start'>, rows: Scope['rows'] = {}): Scope {
    return { cells: this.file.data, data, rows: { ...rows, task: start.draws } };
  }

  /** What every page makes of it: fields hold what is put into them, and the keyboard follows. */
  private used(before: GraphMoment, target: Placed, name: string, given: CallSpec['arguments']): GraphMoment {
    const { template, key, properties } = target;
    const kind = fieldKind(template);
    const isFocused = name !== 'hover' && (kind !== undefined || name === 'focus' || name === 'press');
    const at = isFocused ? { ...before, focused: key } : before;
    if (name === 'fill' || name === 'clear') return this.put(at, target, String(given['value'] ?? ''));
    if (name === 'select_option') return this.put(at, target, [given['options']].flat().map(String).join(', '));
    if (name !== 'click') return at;
    if (kind === 'ticked') return this.put(at, target, properties.checked !== true);
    return kind === 'radio' ? this.put(at, target, optionName(template, this.scope(before, target.rows))) : at;
  }

  private put(at: GraphMoment, { template: { bind }, key }: Placed, value: Scalar): GraphMoment {
    if (bind === undefined) return { ...at, fields: { ...at.fields, [key]: value } };
    return { ...at, data: { ...at.data, [bind]: typed(value, this.file.data[bind].type) } };
  }

  private gone(before: GraphMoment, isBack: boolean): GraphMoment {
    const { back, forward, page } = before;
    const to = (isBack ? back : forward).at(-1);
    if (to === undefined) return before;
    return isBack
      ? this.opened(before, to, back.slice(0, -1), [...forward, page])
      : this.opened(before, to, [...back, page], forward.slice(0, -1));
  }

  /** Another page has other elements: its fields are empty, and none of its ids was there before. */
  private opened(from: GraphMoment, page: string, back: readonly string[], forward: readonly string[]): GraphMoment {
    const stand = { page, data: from.data, fields: {}, back, forward, focused: '', ids: new Map() };
    return this.moment(from.start, stand, from.count);
  }

  /** Where a task asks for an answer, the first message is it. */
  private answered(before: GraphMoment, text: string): GraphMoment {
    const { answer, done } = before.start;
    if (answer === undefined) return before;
    const shown = { ...this.scope(before), page: before.page };
    const isRight = text.trim().toLowerCase() === textOf(answer, shown).trim().toLowerCase();
    return { ...before, done: true, reward: isRight && allHold(done, shown) ? 1 : 0 };
  }

  private moment(start: GraphStart, stand: Stand, given: number): GraphMoment {
    const { page, data, fields } = stand;
    const scope = this.scope({ data, start });
    const top = placedElements(this.file.pages[page].elements, page, scope, fields);
    const placed = inOrder(top);
    const ids = new Map(stand.ids);
    let count = given;
    for (const key of [ROOT, ...placed.map((one) => one.key)]) if (!ids.has(key)) ids.set(key, String(++count));
    const shown = { ...scope, page };
    const { done, over, answer } = start;
    const isDone = done !== undefined && answer === undefined && allHold(done, shown);
    const isOver = isDone || (over !== undefined && allHold(over, shown));
    return { ...stand, ids, count, start, top, placed, reward: isDone ? 1 : 0, done: isOver };
  }
}

/** The elements of a page, each once for every row that it stands for. */
function placedElements(templates: readonly GraphElement[], at: string, scope: Scope, fields: Row): Placed[] {
  return templates.flatMap((template, i) => {
    const key = `${at}/${i}`;
    if (template.each === undefined) return placedOnce(template, key, scope, fields);
    const seen = new Map<string, number>();
    return (scope.data[template.each] as readonly Row[]).flatMap((row) => {
      // A row is known by its first column, so that what is shown of it stays itself when others go.
      const first = String(Object.values(row)[0]);
      const nth = seen.get(first) ?? 0;
      seen.set(first, nth + 1);
      const rows = { ...scope.rows, row };
      return placedOnce(template, `${key}:${first}#${nth}`, { ...scope, rows }, fields);
    });
  });
}

function placedOnce(template: GraphElement, key: string, scope: Scope, fields: Row): Placed[] {
  if (!allHold(template.where, scope) || !allHold(template.when, scope)) return [];
  const { rows } = scope;
  const properties: Record<string, Scalar> = {};
  for (const flag of FLAGS) {
    const given = template[flag];
    if (given !== undefined) properties[flag] = typeof given === 'boolean' ? given : allHold(given, scope);
  }
  const kind = fieldKind(template);
  const { bind } = template;
  const held = bind === undefined ? fields[key] : (cellOf(bind, scope) as Scalar);
  if (kind === 'ticked') properties.checked = held === true;
  else if (kind === 'radio') properties.checked = held === optionName(template, scope);
  else if (kind !== undefined) properties.value = String(held ?? '');
  const options = (template.options ?? []).map((option, i): Placed => {
    const name = textOf(option, scope);
    const own = { role: 'option', name, children: [] };
    const selected = name === properties.value;
    return { key: `${key}/option ${i}`, template: own, name, properties: { selected }, children: [], rows };
  });
  const children = [...options, ...placedElements(template.children, key, scope, fields)];
  return [{ key, template, name: textOf(template.name, scope), properties, children, rows }];
}

/** What choosing a radio button puts into the data. */
function optionName({ option, name }: GraphElement, scope: Scope): string {
  return textOf(option ?? name, scope);
}

/** All of them, what holds others first. */
function inOrder(placed: readonly Placed[]): readonly Placed[] {
  return placed.flatMap((one) => [one, ...inOrder(one.children)]);
}

/** @returns '' for a column of a record that is not set */
function resolved(operand: Scalar, scope: Scope): Scalar {
  if (typeof operand !== 'string') return operand;
  const value = (path: string): Scalar => {
    const found = referred(path, scope);
    return typeof found === 'object' || found === undefined ? '' : found;
  };
  const sole = soleReference(operand);
  return sole === undefined ? operand.replaceAll(REFERENCE, (_, path: string) => String(value(path))) : value(sole);
}

export function textOf(operand: Scalar, scope: Scope): string {
  return String(resolved(operand, scope));
}

function referred(path: string, scope: Scope): Scalar | Row | undefined {
  const [head, ...rest] = path.split('.');
  let value: unknown = Object.hasOwn(scope.rows, head) ? scope.rows[head] : cellOf(head, scope);
  for (const key of rest) value = (value as Row | undefined)?.[key];
  return value as Scalar | Row | undefined;
}

/** A cell's value; sums and counts are worked out. */
function cellOf(name: string, { cells, data }: Scope): Cell {
  const cell = cells[name];
  if (cell?.type !== 'sum' && cell?.type !== 'count') return data[name];
  const rows = data[cell.of] as readonly Row[];
  if (cell.type === 'count') return rows.length;
  const product = (row: Row) => cell.columns.reduce((left, column) => left * Number(row[column]), 1);
  return rounded(rows.reduce((sum, row) => sum + product(row), 0));
}

export function allHold(conditions: readonly GraphCondition[] | undefined, scope: Scope): boolean {
  return conditions?.every((condition) => holds(condition, scope)) ?? true;
}

function holds(condition: GraphCondition, scope: Scope): boolean {
  const { value, page, rows, where, count, is, not, contains, atLeast, atMost } = condition;
  if (page !== undefined) return scope.page === page;
  const fitting = rows === undefined ? undefined : (scope.data[rows] as readonly Row[]);
  const found = fitting?.filter((row) => fits(row, where, scope)).length;
  if (found !== undefined && count === undefined && atLeast === undefined && atMost === undefined) return found > 0;
  const one = found ?? resolved(value!, scope);
  const wanted = found === undefined ? is : count;
  return (
    (wanted === undefined || isSame(one, resolved(wanted, scope))) &&
    (not === undefined || !isSame(one, resolved(not, scope))) &&
    (contains === undefined || String(one).toLowerCase().includes(textOf(contains, scope).toLowerCase())) &&
    (atLeast === undefined || Number(one) >= Number(resolved(atLeast, scope))) &&
    (atMost === undefined || Number(one) <= Number(resolved(atMost, scope)))
  );
}

/** A field holds texts: "3" compares as 3. */
function isSame(a: Scalar, b: Scalar): boolean {
  return a === b || String(a) === String(b);
}

function fits(row: Row, where: Row | undefined, scope: Scope): boolean {
  return Object.entries(where ?? {}).every(([column, wanted]) => isSame(row[column], resolved(wanted, scope)));
}

/** The data after changes, made one after the other. */
export function changed(changes: readonly GraphChange[], scope: Scope): Data {
  return changes.reduce((data, change) => changedOnce(change, { ...scope, data }), scope.data);
}

function changedOnce(change: GraphChange, scope: Scope): Data {
  const { data, cells } = scope;
  const rowsOf = (table: string) => data[table] as readonly Row[];
  const columnsOf = (table: string) => (cells[table] as { columns: Columns }).columns;
  if ('append' in change) {
    const row = valuesOf(change.append, columnsOf(change.to), scope);
    return { ...data, [change.to]: [...rowsOf(change.to), row] };
  }
  if ('remove' in change)
    return { ...data, [change.remove]: rowsOf(change.remove).filter((row) => !fits(row, change.where, scope)) };
  if ('update' in change) {
    const { update, where, set = {}, add = {} } = change;
    const rows = rowsOf(update).map((row) => {
      if (!fits(row, where, scope)) return row;
      const added = Object.entries(add).map(([column, by]): [string, number] => [
        column,
        rounded(numberOf(row[column]) + numberOf(resolved(by, scope))),
      ]);
      return { ...row, ...valuesOf(set, columnsOf(update), scope), ...Object.fromEntries(added) };
    });
    return { ...data, [update]: rows };
  }
  const { type } = cells[change.set];
  const sole = soleReference(change.to);
  const value = type === 'record' ? referred(sole!, scope) : typed(resolved(change.to, scope), type);
  return { ...data, [change.set]: value };
}

function valuesOf(operands: Row, columns: Columns, scope: Scope): Row {
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
function rounded(value: number): number {
  return Number(value.toFixed(6));
}
