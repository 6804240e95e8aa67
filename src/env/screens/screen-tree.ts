// A screen as text: the accessibility tree in the syntax of BrowserGym (Chezelles et al., "The BrowserGym Ecosystem for Web Agent
// Research", arXiv 2412.05467), `[12] button 'Submit'`, and of WebArena before it. Elements that say nothing are left out.

import type { ScreenElement, ScreenView } from './screen-state.js';

/** Roles whose state is always told, as in BrowserGym. */
const CHECKED = new Set(['checkbox', 'radio', 'switch']);
/** What is told by its bare name where it is so. */
const LOOKS = ['classes', 'color'] as const;
const FLAGS = ['selected', 'disabled', 'readonly', 'multiline', 'multiselectable'] as const;

/** One line an element, indented by tabs. */
export function screenText(view: ScreenView): string {
  const lines = tabLines(view);
  const open: [string, number][] = view.root === '' ? [] : [[view.root, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [id, depth] = next;
    const element = view.elements[id];
    if (element === undefined) continue;
    const isTold = isWorthTelling(element, id === view.focused);
    if (isTold) lines.push(`${'\t'.repeat(depth)}${elementText(id, element, id === view.focused)}`);
    for (const child of [...element.children].reverse()) open.push([child, isTold ? depth + 1 : depth]);
  }
  return lines.join('\n');
}

/** Open pages as they are numbered, and which of them is seen. */
function tabLines({ tabs = [], tab }: ScreenView): string[] {
  return tabs.map((told, i) => `Tab ${i}${i === tab ? ' (active)' : ''}: ${told}`);
}

/** A line of the tree. */
export function elementText(id: string, element: ScreenElement, isFocused = false): string {
  const { role, name } = element;
  const head = role === 'StaticText' || role === 'RootWebArea' ? role : `[${id}] ${role}`;
  return [`${head} ${quoted(name)}`, ...propertiesOf(element, isFocused)].join(', ');
}

/** Role and name of an element, as a tree has them; undefined where it does not have it. */
export function elementIn(tree: string, id: string): Pick<ScreenElement, 'role' | 'name'> | undefined {
  const head = `[${id}] `;
  const line = tree.split('\n').find((one) => one.trimStart().startsWith(head));
  if (line === undefined) return undefined;
  const told = line.trimStart().slice(head.length);
  const [, role, text] = /^(\S+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")/.exec(told) ?? [];
  return role === undefined ? undefined : { role, name: unquoted(text) };
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, (_, character: string) => ESCAPED[character] ?? character);
}

/** A text as Python writes it, which is how agents of this syntax quote. */
export function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r');
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

function isWorthTelling(element: ScreenElement, isFocused: boolean): boolean {
  const { role, name } = element;
  return isFocused || role !== 'generic' || name !== '' || propertiesOf(element, false).length > 0;
}

function propertiesOf({ role, value, checked, expanded, ...rest }: ScreenElement, isFocused: boolean): string[] {
  const told: string[] = [];
  if (value !== undefined && value !== '') told.push(`value=${quoted(String(value))}`);
  for (const key of LOOKS) if (rest[key] !== undefined) told.push(`${key}=${quoted(String(rest[key]))}`);
  if (isFocused) told.push('focused');
  if (CHECKED.has(role) || checked !== undefined) told.push(`checked='${checked === true}'`);
  if (expanded !== undefined) told.push(`expanded=${expanded === true ? 'True' : 'False'}`);
  return [...told, ...FLAGS.filter((flag) => rest[flag] === true)];
}
