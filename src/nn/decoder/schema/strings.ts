// Strings as JSON writes them: what a string's value may be is an automaton of its characters, in which those that JSON escapes then
// become two. What `JSON.stringify` would write is written, and no second spelling of the same value.

import type { CharSet, DFA, JS, NoParent } from 'refa';
import { refa } from '../../../core/late-packages.js';

export const LAST_CHARACTER = 0x10ffff;
/** Longest strings for which lengths are counted. Longer ones are not written where a schema bounds lengths. */
export const MOST_COUNTED = 1024;

/** Characters with a short escape, and what stands for them after the backslash. */
export const ESCAPES: readonly (readonly [character: string, letter: string])[] = [
  ['"', '"'],
  ['\\', '\\'],
  ['\b', 'b'],
  ['\f', 'f'],
  ['\n', 'n'],
  ['\r', 'r'],
  ['\t', 't'],
];

const DATE =
  '\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))';
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:Z|[+-](?:0\\d|1[0-3]):[0-5]\\d)';
const HEX = '[0-9a-f]';

/** Formats that are held to; others are remarks, as to validators by default. */
const FORMATS: Readonly<Record<string, string>> = {
  date: `^${DATE}$`,
  time: `^${TIME}$`,
  'date-time': `^${DATE}T${TIME}$`,
  uuid: `^${HEX}{8}-${HEX}{4}-[1-5]${HEX}{3}-[89ab]${HEX}{3}-${HEX}{12}$`,
};

export interface StringBounds {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** What is wrong with a pattern. */
export class PatternProblem extends Error {}

/** Characters that stand in a string as they are. */
export function plainCharacters(): CharSet {
  const { CharSet } = refa();
  const escaped = ESCAPES.map(([character]) => character.codePointAt(0)!);
  const others = [{ min: 0, max: 0x1f }, { min: 0xd800, max: 0xdfff }, ...escaped.map((c) => ({ min: c, max: c }))];
  return CharSet.empty(LAST_CHARACTER).union(others).negate();
}

/** The values a string may have, as an automaton; undefined: any. @throws PatternProblem */
export function stringValues({ minLength = 0, maxLength, pattern, format }: StringBounds): DFA | undefined {
  const sources = [pattern, FORMATS[format ?? '']].filter((source) => source !== undefined);
  const parts = sources.map((source) => patternValues(source));
  if (minLength > MOST_COUNTED) throw new PatternProblem(`asks for more than ${MOST_COUNTED} characters`);
  if (minLength > 0 || maxLength !== undefined) {
    const most = maxLength === undefined ? '' : Math.min(maxLength, MOST_COUNTED);
    if (most !== '' && most < minLength) throw new PatternProblem('has a maxLength below its minLength');
    parts.push(patternValues(`^[^]{${minLength},${most}}$`));
  }
  const { DFA } = refa();
  return parts.length === 0 ? undefined : parts.reduce((a, b) => DFA.fromIntersection(a, b));
}

/** What a regular expression of ECMA-262 finds something in, as validators take `pattern` to mean. @throws PatternProblem */
export function patternValues(source: string): DFA {
  const { DFA, JS, NFA, TooManyNodesError } = refa();
  let expression: JS.ParseResult['expression'];
  try {
    expression = JS.Parser.fromLiteral({ source, flags: 'u' }).parse({
      assertions: 'parse',
      backreferences: 'throw',
    }).expression;
  } catch (error) {
    throw new PatternProblem(`has a pattern that cannot be read: ${(error as Error).message}`);
  }
  const alternatives = expression.alternatives.map(({ elements }) => unanchored(elements));
  try {
    const whole = NFA.fromRegex(
      { type: 'Expression', alternatives },
      { maxCharacter: LAST_CHARACTER },
      { assertions: 'throw' },
    );
    return DFA.fromFA(whole);
  } catch (error) {
    if (error instanceof TooManyNodesError) throw error;
    throw new PatternProblem('has a pattern with lookarounds, or with anchors within it, which are not supported');
  }
}

type Elements = NoParent<JS.ParseResult['expression']>['alternatives'][number]['elements'];

/** Anything may stand before and after, unless there is an anchor. */
function unanchored(elements: Elements): { type: 'Concatenation'; elements: Elements } {
  const isBegin = isAnchor(elements[0], 'behind');
  const isEnd = isAnchor(elements.at(-1), 'ahead');
  const inner = elements.slice(isBegin ? 1 : 0, isEnd && elements.length > (isBegin ? 1 : 0) ? -1 : undefined);
  return {
    type: 'Concatenation',
    elements: [...(isBegin ? [] : [anything()]), ...inner, ...(isEnd ? [] : [anything()])],
  };
}

/** `^` and `$` are "nothing before" and "nothing after". */
function isAnchor(element: Elements[number] | undefined, kind: 'ahead' | 'behind'): boolean {
  if (element?.type !== 'Assertion' || element.kind !== kind || !element.negate) return false;
  const [only, ...others] = element.alternatives;
  const [one, ...more] = only?.elements ?? [];
  return others.length === 0 && more.length === 0 && one?.type === 'CharacterClass' && one.characters.isAll;
}

function anything(): Elements[number] {
  const characters = refa().CharSet.all(LAST_CHARACTER);
  const any: Elements[number] = { type: 'CharacterClass', characters };
  return {
    type: 'Quantifier',
    alternatives: [{ type: 'Concatenation', elements: [any] }],
    ...{ min: 0, max: Number.POSITIVE_INFINITY, lazy: false },
  };
}
