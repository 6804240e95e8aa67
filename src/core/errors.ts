// The error catalogue: every failure a user can cause, once, with its code, sentence, HTTP status and way out.
// Nothing here decides when to fail; callers throw `reverieError(code, values)`.

import { ERROR_CATALOGUE, type ErrorEntry } from './error-catalogue.js';

export { ERROR_CATALOGUE };

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export class ReverieError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  /** Code that lets it pass may add what only it knows. */
  hint: string;
  /** What filled the placeholders; lets the error cross a thread whole (`packError`). */
  readonly values: Record<string, unknown>;

  /** @param entry what a plugin's own catalogue says of the code; absent: ours */
  constructor(
    code: ErrorCode,
    values: Record<string, unknown>,
    cause?: unknown,
    readonly entry: ErrorEntry = ERROR_CATALOGUE[code],
  ) {
    super(fill(entry.message, values), cause === undefined ? undefined : { cause });
    this.name = 'ReverieError';
    this.code = code;
    this.status = entry.status;
    this.hint = fill(entry.hint, values);
    this.values = values;
  }
}

/** A catalogue error with its placeholders filled. */
export function reverieError(code: ErrorCode, values: Record<string, unknown> = {}, cause?: unknown): ReverieError {
  return new ReverieError(code, values, cause);
}

/** The names in braces of a sentence. */
type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

type Catalogue = Readonly<Record<string, ErrorEntry>>;

/** Makes an error of a catalogue, its placeholders filled. */
export type ErrorMaker<C extends Catalogue> = <Code extends keyof C & string>(
  code: Code,
  values: Readonly<Record<Placeholders<C[Code]['message'] | C[Code]['hint']>, unknown>>,
  cause?: unknown,
) => ReverieError;

/** The errors of a pack or plugin, by a catalogue of its own: as whole as ours, with code, sentence, HTTP status and way out. */
export function errorsOf<const C extends Catalogue>(catalogue: C): ErrorMaker<C> {
  return (code, values, cause) => new ReverieError(code as unknown as ErrorCode, { ...values }, cause, catalogue[code]);
}

/** Any error as plain strings, to be sent to another thread or process. */
export interface PackedError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: ErrorCode;
  readonly values?: Record<string, string>;
  /** Of a plugin's error: its code, and what its catalogue says of it. */
  readonly own?: ErrorEntry & { readonly code: string };
}

export function packError(error: unknown): PackedError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const plain = { name: error.name, message: error.message, stack: error.stack };
  if (!(error instanceof ReverieError)) return plain;
  const values = Object.fromEntries(Object.entries(error.values).map(([key, value]) => [key, String(value)]));
  if (error.code in ERROR_CATALOGUE) return { ...plain, code: error.code, values };
  return { ...plain, values, own: { code: error.code, ...error.entry } };
}

/** The error that `packError` was given: with its catalogue code where it had one. */
export function unpackError(packed: PackedError): Error {
  const { own, values = {} } = packed;
  const code = packed.code ?? (own?.code as ErrorCode | undefined);
  const error = code === undefined ? new Error(packed.message) : new ReverieError(code, values, undefined, own);
  error.name = packed.name;
  error.stack = packed.stack;
  return error;
}

/** What a schema found (a ZodError), in one line. */
export function describeIssues(error: {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}): string {
  return error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ');
}

/** The candidate closest to `word` by edit distance; undefined where more than a letter in three would be another. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const most = Math.min(word.length - 1, Math.max(1, word.length / 3));
  const far = candidates.map((name) => [name, editDistance(word.toLowerCase(), name.toLowerCase())] as const);
  return far.filter(([, distance]) => distance <= most).toSorted(([, a], [, b]) => a - b)[0]?.[0];
}

/** The way out of an unknown name: the known one it is close to, behind `prefix`, or else some of those there are. */
export function nameHint(word: string, known: readonly string[], prefix = ''): string {
  const near = nearest(word, known);
  if (near !== undefined) return `Did you mean "${prefix}${near}"?`;
  return `Known: ${known.slice(0, 20).join(', ') || 'none'}${known.length > 20 ? ', ...' : '.'}`;
}

/** The same within a sentence: ` (did you mean "x"?)`. */
export function nameAside(word: string, known: readonly string[]): string {
  return ` (${nameHint(word, known)
    .replace(/^./, (first) => first.toLowerCase())
    .replace(/\.$/, '')})`;
}

function fill(template: string, values: Record<string, unknown>): string {
  // Messages of parsers and libraries have line breaks; an error of ours is one line.
  const oneLine = (name: string) => String(values[name]).replace(/\s*[\r\n]\s*/g, ' ');
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? oneLine(name) : whole));
}

/** Letters to change, add, take out or swap with the next. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const swaps = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2][j - 2] + 1 : Infinity;
      const changes = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, changes, swaps);
    }
  }
  return rows[a.length][b.length];
}
