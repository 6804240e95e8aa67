// Values that an agent stated to its user. A value counts as a whole token, and a number by value, with any separators, currency or
// words. Values that are among several alternatives, denied, or contradicted later do not count.

import { type Message, spokenAt } from './message.js';

/** `unread`: the agent stated the value before any tool's answer contained it. */
type Match = 'stated' | 'unread' | 'alternative' | 'missing';

/**
 * @param all  values that the task requires: a list of these is no guess, a list with any other value is
 * @param grounded  whether a tool's answer must contain the value first
 */
export function matchOf(
  wanted: string,
  all: readonly string[],
  messages: readonly Message[],
  grounded: boolean,
): Match {
  const sayings = messages.map((_, i) => {
    const said = spokenAt(messages, i);
    return said?.role === 'assistant' ? plain(said.content) : undefined;
  });
  let isRead = !grounded;
  let best: Match = 'missing';
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool' && message.isError !== true) isRead ||= holdsValue(message.content, wanted);
    const said = sayings[i];
    if (said === undefined) continue;
    const match = matchIn(said, sayings.slice(i + 1), plain(wanted), all.map(plain));
    if (match === 'stated' && isRead) return 'stated';
    if (match === 'stated') best = 'unread';
    else if (best === 'missing') best = match;
  }
  return best;
}

/** Whether a text contains a value, in any role. */
export function holdsValue(text: string, value: string): boolean {
  return placesOf(plain(text), plain(value)).length > 0;
}

/** With ASCII's hyphen for those that look the same: ids are often typeset with them. */
function plain(text: string): string {
  return text.replaceAll(/[\u2010\u2011]/g, '-');
}

/** Values in a text that may be facts: numbers, ids, dates. */
export function valuesIn(text: string): string[] {
  return tokensOf(text).flatMap((token) => (/\d/.test(token.text) ? [token.text] : []));
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

function matchIn(text: string, later: readonly (string | undefined)[], wanted: string, all: readonly string[]): Match {
  const places = placesOf(text, wanted);
  const values = tokensOf(text).filter((token) => /\d/.test(token.text));
  const isOther = (value: string) => !all.some((each) => isSameToken(value, each));
  let best: Match = 'missing';
  for (const place of places) {
    const at = values.findIndex((value) => value.at === place.at);
    if ((at < 0 ? DENIED_WORDS : DENIED).test(text.slice(0, place.at).slice(-60))) continue;
    const others = at < 0 ? otherWords(text, place) : alternativesOf(text, values, at).map((token) => token.text);
    if (!others.some(isOther) && (at < 0 || !isContradicted(text, place, later, isOther))) return 'stated';
    best = 'alternative';
  }
  return best;
}

/** Places of a value in a text: equal tokens, or the exact words. */
function placesOf(text: string, wanted: string): Token[] {
  const quantity = quantityOf(wanted);
  const bare = wanted.trim().replace(/^#/, '');
  const isToken = quantity !== undefined || (/\d/.test(bare) && tokensOf(bare)[0]?.text === bare);
  if (!isToken) return phrasesIn(text, wanted);
  const found = tokensOf(text).filter((token) => {
    if (quantity === undefined) return fold(token.text) === fold(bare);
    if (!numbersOf(token.text).some((number) => quantity.numbers.includes(number))) return false;
    if (LARGER_AFTER.test(text.slice(token.end)) || LARGER_BEFORE.test(text.slice(0, token.at).slice(-20)))
      return false;
    const unit = unitAt(text, token);
    return unit === undefined || quantity.unit === undefined || unit === quantity.unit;
  });
  return [...found, ...datesIn(text, bare)];
}

function isSameToken(said: string, wanted: string): boolean {
  const quantity = quantityOf(wanted);
  if (quantity === undefined) return fold(said) === fold(wanted.replace(/^#/, ''));
  return numbersOf(said).some((number) => quantity.numbers.includes(number));
}

/** "12 thousand", "12k", "a hundred and 12": part of a larger number. */
const LARGER_AFTER = /^(?:k|\s(?:dozen|hundred|thousand|million|billion))\b/iu;
const LARGER_BEFORE = /\b(?:hundred|thousand|million|billion)\s(?:and\s)?$/iu;

/** "not 12", "instead of 12", "more than 12"; for words only direct negation: "not in stock" is about the stock. */
const DENIED =
  /(?:\bnot(?!\s+only)|n['’]t|\bnever|\bneither|\bnor|\bno longer|\binstead of|\brather than|\b(?:more|less|fewer|greater|higher|lower|other) than)\s+(?:(?:exactly|quite|the|an?|have|has|had|was|been|costs?|be|get)\s+)?#?\p{Sc}?$/iu;
const DENIED_WORDS =
  /(?:\b(?:not|never|neither|nor|no longer)|n['’]t)\s+$|\b(?:non[\s-]|(?:twen|thir|for|fif|six|seven|eigh|nine)ty-)$/iu;

/** Whether the same sentence occurs with another value, beside it or later: "It is 10. It is 12." states neither. */
function isContradicted(
  text: string,
  place: Token,
  later: readonly (string | undefined)[],
  isOther: (value: string) => boolean,
): boolean {
  const own = sentencesOf(text).find(({ at, end }) => at <= place.at && place.at < end);
  if (own === undefined) return false;
  const [head, tail] = [text.slice(own.at, place.at), text.slice(place.end, own.end)].map(frame);
  return [text, ...later].some((said = '') =>
    sentencesOf(said).some((sentence) => {
      const words = said.slice(sentence.at, sentence.end);
      const isFramed = ({ at, end }: Token) => frame(words.slice(0, at)) === head && frame(words.slice(end)) === tail;
      return tokensOf(words).some((token) => /\d/.test(token.text) && isOther(token.text) && isFramed(token));
    }),
  );
}

/** The words around a value, without conjunctions between sentences. */
function frame(words: string): string {
  return fold(words)
    .replace(/^\s*(?:(?:or|and|no|sorry|maybe|perhaps|actually)\b[\s,:]*)+/, '')
    .replaceAll(/[\s.!?;,*•-]+/g, ' ')
    .trim();
}

function sentencesOf(text: string): { readonly at: number; readonly end: number }[] {
  const ends = [...text.matchAll(/[.!?;](?=\s|$)|\n/g)].map(({ index }) => index + 1);
  return [...ends, text.length].map((end, i) => ({ at: i === 0 ? 0 : ends[i - 1], end }));
}

/** Minimum length of a comma-separated list that counts as alternatives. */
const LISTED = 3;
const OR = /^(?:\s*[\p{L}\p{Sc}%]+){0,2}\s*,?\s*\b(?:and\/)?or\b(?:\s+(?:maybe|perhaps|even|possibly))?\s*#?\p{Sc}?$/iu;
const COMMA = /^\s*[,;|–]\s*#?\p{Sc}?$/u;
const AND = /^\s*,?\s*(?:and|&)\s*#?\p{Sc}?$/iu;
const UNSURE = /\b(?:either|maybe|perhaps|possibly|could be|might be|may be|one of|any of)\b[^.!?]*$/iu;

/** Alternatives beside a value: joined by "or", by a dash or in a plain list, but not by "and". */
function alternativesOf(text: string, values: readonly Token[], at: number): readonly Token[] {
  const gap = (i: number) => text.slice(values[i].end, values[i + 1]?.at);
  const isNumber = (i: number) => numbersOf(values[i].text).length > 0;
  const joins = (i: number) => isNumber(i) === isNumber(i + 1) && (OR.test(gap(i)) || COMMA.test(gap(i)));
  let [first, last] = [at, at];
  while (first > 0 && (joins(first - 1) || (at === last && AND.test(gap(first - 1))))) first--;
  while (last + 1 < values.length && joins(last)) last++;
  const list = values.slice(first, last + 1);
  const gaps = list.slice(1).map((_, i) => gap(first + i));
  if (gaps.some((each) => OR.test(each) || each.trim().startsWith('–'))) return list;
  const isEnumerated = gaps.some((each) => AND.test(each)) || (last + 1 < values.length && AND.test(gap(last)));
  const whole = isEnumerated && last + 1 < values.length && AND.test(gap(last)) ? [...list, values[last + 1]] : list;
  const before = text.slice(0, values[first].at);
  if (isEnumerated && (UNSURE.test(before) || /\bbetween\s*\p{Sc}?$/iu.test(before))) return whole;
  return isEnumerated || list.length < LISTED ? [] : list;
}

const JOINED_BEFORE = /([\p{L}-]+)\s*,?\s+or\s+(?:(?:the|an?|by|in|on|with|as)\s+)?$/iu;
const JOINED_AFTER =
  /^(?:\s*,\s*[\p{L}-]+)*\s*,?\s+or\s+(?:(?:the|an?|by|in|on|with|as)\s+)?(?!so\b|not\b|less\b|more\b|later\b|earlier\b|otherwise\b|else\b)([\p{L}-]+)\s*(?:[.!?;]|$)/iu;

/** Alternative words: "lamp or torch." */
function otherWords(text: string, { at, end }: Token): string[] {
  const found = [JOINED_BEFORE.exec(text.slice(0, at)), JOINED_AFTER.exec(text.slice(end))];
  return found.flatMap((each) => (each === null ? [] : [each[1]]));
}

/** A number with its separators: 1,120.50 or 1.120,50 or 1'120 or 12,5. */
const NUMBER =
  /[-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:['’\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+\.\d+|(?<![\w.])\.\d+|\d+,\d{1,2}(?![\d,])|\d+)/y;
/** Ids, dates, times and other words, with their inner punctuation. */
const WORD = /[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+|(?<=\d)[.:/](?=\d)[\p{L}\p{N}]+)*/uy;

const UNITS = [...'zero one two three four five six seven eight nine ten eleven twelve thirteen'.split(' ')].concat(
  'fourteen fifteen sixteen seventeen eighteen nineteen'.split(' '),
);
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');

/** The number that a word spells; "one" only as a number: not "no one", "this one", "one of". */
function spelled(word: string, before: string, after: string): string | undefined {
  const [tens, unit, ...rest] = word.toLowerCase().split('-');
  const isNamed =
    /\b(?:no|any|every|some|each|this|that|the|which|another)\s+$/i.test(before) || /^\s+of\b/i.test(after);
  if (rest.length > 0 || (tens === 'one' && isNamed)) return undefined;
  if (tens === 'none') return '0';
  if (unit === undefined && UNITS.includes(tens)) return String(UNITS.indexOf(tens));
  const ten = (TENS.indexOf(tens) + 2) * 10;
  if (ten < 20) return undefined;
  const rise = unit === undefined ? 0 : UNITS.indexOf(unit);
  return rise < 0 || rise > 9 ? undefined : String(ten + rise);
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    NUMBER.lastIndex = at;
    WORD.lastIndex = at;
    const word = WORD.exec(text)?.[0] ?? '';
    const number = NUMBER.exec(text)?.[0] ?? '';
    // "12kg" is the number 12; "12-B" and "2026-05-12" are names.
    const isUnit = /^\p{L}*$/u.test(word.slice(number.length)) || number.length > word.length;
    const token = number !== '' && isUnit ? number : word;
    const end = at + token.length;
    const counted =
      number === '' ? spelled(word, text.slice(Math.max(0, at - 12), at), text.slice(end, end + 6)) : undefined;
    if (token !== '') tokens.push({ text: counted ?? token, at, end });
    at += Math.max(1, token.length);
    // Skips the unit of "12kg".
    if (token === number && token !== '') while (/\p{L}/u.test(text[at] ?? '')) at++;
  }
  return tokens;
}

/** Possible numbers of a text, without currency or percent sign: "1.120" has two readings. */
function numbersOf(text: string): number[] {
  const bare = text
    .trim()
    .replace(/^([-−]?)\s*\p{Sc}\s*/u, '$1')
    .replace(/\s*[\p{Sc}%]$/u, '');
  NUMBER.lastIndex = 0;
  if (bare === '' || NUMBER.exec(bare)?.[0] !== bare) return [];
  const plain = bare.replace('−', '-').replaceAll(/['’\u00a0\u202f]/g, '');
  const isGrouped = /^-?\d{1,3}(?:\.\d{3})+$/.test(plain);
  const isComma = /,\d{1,2}$/.test(plain) || /\.\d{3},\d+$/.test(plain);
  const read = Number(isComma ? plain.replaceAll('.', '').replace(',', '.') : plain.replaceAll(',', ''));
  return [...(Number.isNaN(read) ? [] : [read]), ...(isGrouped ? [Number(plain.replaceAll('.', ''))] : [])];
}

const SAME_UNITS = [
  '€ eur euro euros, $ usd dollar dollars, £ gbp pound pounds, ¥ jpy yen, ₹ inr rupee rupees, % percent pct',
  'kg kilo kilos kilogram kilograms, g gram grams, km kilometre kilometres kilometer kilometers, h hr hrs hour hours',
  'min mins minute minutes, s sec seconds, day days, week weeks, month months, year years, night nights',
  'gb gigabyte gigabytes, mb megabyte megabytes',
].flatMap((row) => row.split(', ').map((names) => names.split(' ')));

function unitNamed(name: string): string | undefined {
  return SAME_UNITS.find((names) => names.includes(name.toLowerCase()))?.[0];
}

/** The unit beside a number, if it is a known one. */
function unitAt(text: string, { at, end }: Token): string | undefined {
  const before = /(\p{Sc}|\b[A-Z]{3})\s?$/u.exec(text.slice(Math.max(0, at - 5), at))?.[1];
  const after = /^\s?(\p{Sc}|%|\p{L}+)/u.exec(text.slice(end, end + 16))?.[1];
  return unitNamed(before ?? '') ?? unitNamed(after ?? '');
}

/** Parses a number with or without a unit: "$1,120.50", "12 EUR", "3 days", "25 %". */
function quantityOf(text: string): { readonly numbers: readonly number[]; readonly unit?: string } | undefined {
  const [, before, number, after] =
    /^\s*(\p{Sc}|[A-Z]{3}\s)?\s*([-−]?\d[\d.,'’\u00a0\u202f]*)\s*(\p{Sc}|%|\p{L}+)?\s*$/u.exec(text) ?? [];
  const numbers = number === undefined ? [] : numbersOf(number);
  const [left, right] = [before, after].map((unit) => (unit === undefined ? undefined : unitNamed(unit.trim())));
  // "12B" and "7 May" are not quantities.
  if (numbers.length === 0 || (before && !left) || (after && !right)) return undefined;
  return { numbers, unit: left ?? right };
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ');

/** Finds a date such as 2030-03-22 in words: "22 March", "March 22nd, 2030", "22 Mar 2030"; another year is another date. */
function datesIn(text: string, wanted: string): Token[] {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(wanted) ?? [];
  const name = MONTHS[Number(month) - 1];
  if (name === undefined) return [];
  const [named, ordinal] = [`${name.slice(0, 3)}(?:${name.slice(3)})?\\.?`, `0?${Number(day)}(?:st|nd|rd|th)?`];
  const written = `(?<![\\d.])(?:${ordinal}\\s+(?:of\\s+)?${named}|${named}\\s+${ordinal})(?![\\d\\p{L}])(?:,?\\s+(\\d{4})\\b)?`;
  return [...text.matchAll(new RegExp(written, 'giu'))].flatMap(([found, other], i, all) => {
    const at = all[i].index;
    return other !== undefined && other !== year ? [] : [{ text: wanted, at, end: at + found.length }];
  });
}

/** Finds an exact phrase that no letter or digit extends. */
function phrasesIn(text: string, phrase: string): Token[] {
  const words = phrase.trim().replaceAll(/(?<=\d),(?=\d{3})/g, '');
  const written = words
    .replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
    .replaceAll(/\d(?=\d)/g, '$&,?')
    .replaceAll(/\s+/g, '\\s+');
  const head = /^[\p{L}\p{N}]/u.test(words) ? '(?<![\\p{L}\\p{N}])' : '';
  const tail = /[\p{L}\p{N}]$/u.test(words) ? '(?![\\p{L}\\p{N}])' : '';
  if (words === '') return [];
  const found = text.matchAll(new RegExp(`${head}${written}${tail}`, 'giu'));
  return [...found].map(({ 0: said, index }) => ({ text: said, at: index, end: index + said.length }));
}

function fold(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .replaceAll(/\s+/g, ' ');
}
