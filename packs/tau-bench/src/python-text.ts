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

/** Python's `repr` of a string, as it stands in the text of a KeyError. */
export function pythonRepr(value: string): string {
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const escaped = value
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
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
