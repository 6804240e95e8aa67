// Was a value told? As a whole token, a number as a number, and not as one of several alternatives.

import type { SpokenMessage } from './conversation.js';

export type Told = 'told' | 'alternative' | 'untold';

/**
 * Whether the assistant told the user `wanted`: case does not count. `all` are the values the task wants told: a list of them is no guess,
 * one with any other value is.
 */
export function toldValue(wanted: string, all: readonly string[], messages: readonly SpokenMessage[]): Told {
  const said = messages.flatMap((message) => (message.role === 'assistant' ? [message.content] : []));
  const found = said.map((text) => toldIn(text, wanted, all));
  if (found.includes('told')) return 'told';
  return found.includes('alternative') ? 'alternative' : 'untold';
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

/** A number with its separators: 1,120.50 or 1.120,50 or 1'120 or 12,5. */
const NUMBER =
  /[-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:['’\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+\.\d+|\d+,\d{1,2}(?![\d,])|\d+)/y;
/** Ids, dates, times and other words, with what holds them together. */
const WORD = /[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+|(?<=\d)[.:/](?=\d)[\p{L}\p{N}]+)*/uy;

function toldIn(text: string, wanted: string, all: readonly string[]): Told {
  const isToken = numberOf(wanted) !== undefined || (/\d/.test(wanted) && tokensOf(wanted)[0]?.text === wanted);
  if (!isToken) return holdsPhrase(text, wanted) ? 'told' : 'untold';
  const values = tokensOf(text).filter((token) => /\d/.test(token.text));
  const at = values.flatMap((token, i) => (isSame(token.text, wanted) ? [i] : []));
  if (at.length === 0) return 'untold';
  const isOther = ({ text: value }: Token) => !all.some((each) => isSame(value, each));
  return at.some((i) => !alternativesOf(text, values, i).some(isOther)) ? 'told' : 'alternative';
}

function isSame(said: string, wanted: string): boolean {
  const number = numberOf(wanted);
  return number === undefined ? fold(said) === fold(wanted) : numberOf(said) === number;
}

/** Values this many and more in a row, with only commas between, are a list to choose from. */
const LISTED = 3;
const OR = /^(?:\s*[\p{L}\p{Sc}%]+){0,2}\s*,?\s*\b(?:and\/)?or\b(?:\s+(?:maybe|perhaps|even|possibly))?\s*\p{Sc}?$/iu;
const COMMA = /^\s*[,;|–]\s*\p{Sc}?$/u;

/** The values said as others that might be meant beside one: joined by "or", by a dash or in a bare list, but not by "and". */
function alternativesOf(text: string, values: readonly Token[], at: number): readonly Token[] {
  const gap = (i: number) => text.slice(values[i].end, values[i + 1]?.at);
  const isNumber = (i: number) => numberOf(values[i].text) !== undefined;
  const joins = (i: number) => isNumber(i) === isNumber(i + 1) && (OR.test(gap(i)) || COMMA.test(gap(i)));
  let [first, last] = [at, at];
  while (first > 0 && joins(first - 1)) first--;
  while (last + 1 < values.length && joins(last)) last++;
  const list = values.slice(first, last + 1);
  const gaps = list.slice(1).map((_, i) => gap(first + i));
  if (gaps.some((each) => OR.test(each) || each.trim().startsWith('–'))) return list;
  const isEnumerated = last + 1 < values.length && /^\s*,?\s*(?:and|&)\s*\p{Sc}?$/iu.test(gap(last));
  const before = text.slice(0, values[first].at);
  if (isEnumerated && /\bbetween\s*\p{Sc}?$/iu.test(before)) return [...list, values[last + 1]];
  if (first > 0 && /\bbetween\s+\S+\s+and\s*\p{Sc}?$/iu.test(before)) return [values[first - 1], ...list];
  return isEnumerated || list.length < LISTED ? [] : list;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    NUMBER.lastIndex = at;
    WORD.lastIndex = at;
    const word = WORD.exec(text)?.[0] ?? '';
    const number = NUMBER.exec(text)?.[0] ?? '';
    // "12kg" tells 12, "12-B" and "2026-05-12" are names of their own.
    const unit = /^\p{L}*$/u.test(word.slice(number.length)) || number.length > word.length;
    const token = number !== '' && unit ? number : word;
    if (token !== '') tokens.push({ text: token, at, end: at + token.length });
    at += Math.max(1, token.length);
    // The rest of "12kg" is its unit.
    if (token === number && token !== '') while (/\p{L}/u.test(text[at] ?? '')) at++;
  }
  return tokens;
}

/** The number that a text writes, without its currency or percent sign. */
function numberOf(text: string): number | undefined {
  const bare = text
    .trim()
    .replace(/^([-−]?)\s*\p{Sc}\s*/u, '$1')
    .replace(/\s*[\p{Sc}%]$/u, '');
  NUMBER.lastIndex = 0;
  if (NUMBER.exec(bare)?.[0] !== bare || bare === '') return undefined;
  const plain = bare.replace('−', '-').replaceAll(/['’\u00a0\u202f]/g, '');
  const isComma = /,\d{1,2}$/.test(plain) || /\.\d{3},\d+$/.test(plain);
  return Number(isComma ? plain.replaceAll('.', '').replace(',', '.') : plain.replaceAll(',', ''));
}

/** Several words, as they stand: no letter or digit may go on at either end. */
function holdsPhrase(text: string, phrase: string): boolean {
  const [whole, part] = [fold(text), fold(phrase)];
  for (let at = whole.indexOf(part); at >= 0 && part !== ''; at = whole.indexOf(part, at + 1)) {
    const goesOn = (i: number, edge: number) =>
      /[\p{L}\p{N}]/u.test(whole[i] ?? '') && /[\p{L}\p{N}]/u.test(part.at(edge)!);
    if (!goesOn(at - 1, 0) && !goesOn(at + part.length, -1)) return true;
  }
  return false;
}

function fold(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .replaceAll(/\s+/g, ' ');
}
