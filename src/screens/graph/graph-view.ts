// A page of a graph as it is shown: each element once for every row that it stands for, with its name and properties as the data has them.

import type { ScreenElement } from '../../env/screens/screen-state.js';
import type { GraphCondition, GraphElement, GraphFile } from './graph-schema.js';
import { allHold, cellOf, type Row, type Scalar, type Scope, type ShownProperties, textOf } from './graph-values.js';

/** An element as it stands on the page. */
export interface Placed {
  /** What it is wherever the page is shown: its place in the file, and the rows it stands for. */
  readonly key: string;
  readonly template: GraphElement;
  readonly role: string;
  readonly name: string;
  readonly properties: Readonly<Record<string, Scalar>>;
  readonly children: readonly Placed[];
  /** Rows that it and what holds it stand for. */
  readonly rows: Scope['rows'];
  /** The option that it is, of the field that holds it. */
  readonly optionOf?: string;
}

/** What fields hold that no data is bound to, by key. */
export type Fields = Readonly<Record<string, Scalar>>;

export interface PageScope extends Scope {
  readonly fields: Fields;
}

const FLAGS = ['checked', 'selected', 'expanded', 'disabled', 'readonly', 'multiline'] as const;
const TEXTS = ['classes', 'color'] as const;
const WRITTEN = new Set(['textbox', 'searchbox', 'spinbutton']);
const TICKED = new Set(['checkbox', 'switch']);
const CHOSEN = new Set(['combobox', 'listbox']);

export type FieldKind = 'written' | 'ticked' | 'chosen' | 'radio';

/** How an element is used as a field; undefined for what is none. */
export function fieldKind({ role }: Pick<GraphElement, 'role'>): FieldKind | undefined {
  if (WRITTEN.has(role)) return 'written';
  if (TICKED.has(role)) return 'ticked';
  if (CHOSEN.has(role)) return 'chosen';
  return role === 'radio' ? 'radio' : undefined;
}

/** The elements of a page, in order. */
export function placedElements(page: string, { pages }: GraphFile, scope: PageScope): readonly Placed[] {
  return placedAll(pages[page].elements, page, scope);
}

function placedAll(templates: readonly GraphElement[], at: string, scope: PageScope): Placed[] {
  return templates.flatMap((template, i) => {
    const key = `${at}/${i}`;
    if (template.each === undefined) return shownOnce(template, key, scope);
    const seen = new Map<string, number>();
    return (scope.data[template.each] as readonly Row[]).flatMap((row) => {
      // A row is known by its first column, so that what is shown of it stays itself when others go.
      const first = String(Object.values(row)[0]);
      const nth = seen.get(first) ?? 0;
      seen.set(first, nth + 1);
      const rows = { ...scope.rows, [template.as ?? 'row']: row };
      return shownOnce(template, `${key}:${first}#${nth}`, { ...scope, rows });
    });
  });
}

function shownOnce(template: GraphElement, key: string, scope: PageScope): Placed[] {
  if (!allHold(template.where, scope) || !allHold(template.when, scope)) return [];
  const { role, name } = template;
  const properties = propertiesOf(template, key, scope);
  const children = [...optionsOf(template, key, scope, properties), ...placedAll(template.children, key, scope)];
  return [{ key, template, role, name: textOf(name, scope), properties, children, rows: scope.rows }];
}

function propertiesOf(template: GraphElement, key: string, scope: PageScope): Record<string, Scalar> {
  const properties: Record<string, Scalar> = {};
  if (template.value !== undefined) properties.value = textOf(template.value, scope);
  for (const text of TEXTS) if (template[text] !== undefined) properties[text] = textOf(String(template[text]), scope);
  for (const flag of FLAGS) {
    const given = template[flag] as boolean | readonly GraphCondition[] | undefined;
    if (given !== undefined) properties[flag] = typeof given === 'boolean' ? given : allHold(given, scope);
  }
  const kind = fieldKind(template);
  if (kind === undefined) return properties;
  const held = heldBy(template, key, scope);
  if (kind === 'ticked') properties.checked = held === true;
  else if (kind === 'radio') properties.checked = held === optionName(template, scope);
  else properties.value = String(held ?? properties.value ?? '');
  return properties;
}

/** What a field holds: the data that it is bound to, or its own. */
function heldBy({ bind }: GraphElement, key: string, scope: PageScope): Scalar | undefined {
  return bind === undefined ? scope.fields[key] : (cellOf(bind, scope) as Scalar);
}

/** What choosing a radio button puts into the data. */
export function optionName({ option, name }: GraphElement, scope: Scope): string {
  return textOf(option ?? name, scope);
}

function optionsOf(
  { options }: GraphElement,
  key: string,
  scope: PageScope,
  { value }: Readonly<Record<string, Scalar>>,
): Placed[] {
  if (options === undefined) return [];
  const names = Array.isArray(options)
    ? options.map((option) => textOf(option, scope))
    : columnOf(options as { of: string; column: string }, scope);
  return names.map((name, i) => ({
    key: `${key}/option ${i}`,
    template: { role: 'option', name, children: [] },
    role: 'option',
    name,
    properties: { selected: name === value },
    children: [],
    rows: scope.rows,
    optionOf: key,
  }));
}

function columnOf({ of, column }: { of: string; column: string }, { data }: Scope): string[] {
  return (data[of] as readonly Row[]).map((row) => String(row[column]));
}

/** All of them, what holds others first. */
export function inOrder(placed: readonly Placed[]): readonly Placed[] {
  return placed.flatMap((one) => [one, ...inOrder(one.children)]);
}

/** The page's properties by the ids that the file gives elements. */
export function shownProperties(page: string, all: readonly Placed[]): ShownProperties {
  return {
    page,
    of: (element, property) =>
      all
        .filter(({ template }) => template.id === element)
        .map(({ name, properties }) => (property === 'name' ? name : properties[property])),
  };
}

/** As screens have it. @param idOf the id of a key */
export function screenElements(
  title: string,
  placed: readonly Placed[],
  root: string,
  idOf: (key: string) => string,
): Record<string, ScreenElement> {
  const ids = (some: readonly Placed[]) => some.map(({ key }) => idOf(key));
  const elements: Record<string, ScreenElement> = {
    [root]: { role: 'RootWebArea', name: title, children: ids(placed) },
  };
  for (const { key, role, name, properties, children } of inOrder(placed))
    elements[idOf(key)] = { role, name, ...properties, children: ids(children) };
  return elements;
}
