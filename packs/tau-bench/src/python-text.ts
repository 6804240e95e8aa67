// How τ-bench's tools, which are Python, write numbers and JSON. Agents see these texts, so they are met to the byte.

import type { Json } from 'reverie/extend';

/** Python's `repr` of a float: `10.0`, `1e-05`, `1e+16`, `-0.0`. */
export function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits, exponent] = value.toExponential().split('e');
  if (value !== 0 && (Number(exponent) < -4 || Number(exponent) >= 16)) {
    return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** A number that Python read from JSON: whole numbers were ints there, others floats. */
export function pythonNumber(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : pythonFloat(value);
}

/** A string as `json.dumps` writes it: everything beyond printable ASCII is escaped. */
export function pythonJsonString(value: string): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Python's `round(value, 2)`: correctly rounded, ties to the even digit. */
export function roundToCents(value: number): number {
  // From 2^46 on floats lie farther apart than hundredths: each is its own nearest.
  if (value === 0 || !Number.isFinite(value) || Math.abs(value) >= 2 ** 46) return value;
  // Only odd eighths lie exactly between two hundredths; all else has one nearest, which toFixed finds exactly.
  if (Number.isInteger(value * 8) && Math.abs((value * 8) % 2) === 1) {
    const below = Math.floor(value * 100);
    return (below % 2 === 0 ? below : below + 1) / 100;
  }
  return Number(value.toFixed(2));
}

/** What `int` strips: Python's white space, which is not quite JavaScript's. */
const SPACE = '[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*';
const INTEGER = new RegExp(`^${SPACE}([+-]?)(\\p{Nd}+(?:_\\p{Nd}+)*)${SPACE}$`, 'u');

/** Python's `int` of a string, which takes the digits of every script; undefined where it raises. */
export function pythonInt(text: string): number | undefined {
  const [, sign, digits] = INTEGER.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const value = [...digits.replaceAll('_', '')].reduce((sum, digit) => sum * 10 + digitValue(digit), 0);
  return sign === '-' ? 0 - value : value;
}

/** Digits of a script stand in a row from 0 to 9, and rows may follow one another. */
function digitValue(digit: string): number {
  const isDigit = (code: number) => /^\p{Nd}$/u.test(String.fromCodePoint(code));
  let below = 0;
  for (let code = digit.codePointAt(0)! - 1; isDigit(code); code--) below++;
  return below % 10;
}

/** Python's `repr` of a string, as it stands in the text of a KeyError. */
export function pythonRepr(value: string): string {
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const escaped = value
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replace(/[\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu, (unseen) => (unseen === ' ' ? unseen : escapeOf(unseen.codePointAt(0)!)));
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

function escapeOf(code: number): string {
  const digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`;
}

/** `json.dumps` of a list or an object, given the texts of its parts. */
export function pythonList(parts: readonly string[]): string {
  return `[${parts.join(', ')}]`;
}

export function pythonObject(entries: readonly (readonly [string, string])[]): string {
  return `{${entries.map(([key, text]) => `${pythonJsonString(key)}: ${text}`).join(', ')}}`;
}

/** `json.dumps` of what is neither list nor object; numbers are those of `pythonNumber`. */
export function pythonAtom(value: Json): string {
  if (typeof value === 'string') return pythonJsonString(value);
  return typeof value === 'number' ? pythonNumber(value) : String(value);
}
