// Checks of a screen by their names, which hold all that they look for: tasks that were made from others have no page of their own that
// knows when they are done.

import type { JsonObject } from '../core/canonical-json.js';
import { contentHash } from '../core/canonical-json.js';
import { ELEMENT_PROPERTIES, type ScreenState } from '../env/screens/screen-state.js';
import { elementText, screenText } from '../env/screens/screen-tree.js';
import type { CheckResult } from '../env/tools/domain.js';

/** What an element is to be, as far as it is told. */
export type ShownElement = Readonly<Record<string, string | boolean>>;

const SHOWS = 'shows ';
const SCREEN = 'screen ';
const KEYS = ['role', 'name', ...Object.keys(ELEMENT_PROPERTIES)];

/** Of a screen that has an element with these properties; texts are compared without case. */
export function showsCheck(element: ShownElement): string {
  return `${SHOWS}${JSON.stringify(element)}`;
}

/** Of a screen that reads as this one, whatever the ids of its elements. */
export function sameScreenCheck(state: ScreenState): string {
  return `${SCREEN}${keyOf(state)}`;
}

/** What a check of one of these names finds; undefined for another name. */
export function screenCheck(name: string, state: ScreenState): CheckResult | undefined {
  if (name.startsWith(SCREEN)) {
    const passed = keyOf(state) === name.slice(SCREEN.length);
    return { name, passed, reason: passed ? 'the screen reads as it should' : 'the screen reads otherwise' };
  }
  if (!name.startsWith(SHOWS)) return undefined;
  const wanted = wantedOf(name.slice(SHOWS.length));
  if (wanted === undefined) return { name, passed: null, reason: 'it does not say what is to be shown' };
  const found = Object.entries(state.elements).find(([, element]) => isLike(element, wanted));
  const reason = found === undefined ? 'no such element is on the screen' : `it is there: ${elementText(...found)}`;
  return { name, passed: found !== undefined, reason };
}

/** Undefined for what is no description of an element, or one of any. */
function wantedOf(text: string): ShownElement | undefined {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  const keys = Object.keys(given);
  const isKnown = keys.length > 0 && keys.every((key) => KEYS.includes(key));
  return isKnown && keys.some((key) => key !== 'role') ? (given as ShownElement) : undefined;
}

function isLike(element: JsonObject, wanted: ShownElement): boolean {
  return Object.entries(wanted).every(([key, value]) => {
    const is = element[key] ?? (typeof value === 'boolean' ? false : '');
    return typeof value === 'string' ? String(is).trim().toLowerCase() === value.trim().toLowerCase() : is === value;
  });
}

function keyOf(state: ScreenState): string {
  return contentHash({ screen: screenText({ ...state, focused: '' }).replaceAll(/\[\d+\] /g, '') });
}
