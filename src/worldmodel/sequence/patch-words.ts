// JSON Patch in words: each operation a mark, its path, and its value as JSON; names in either are copied.

import type { Json } from '../../core/canonical-json.js';
import type { Operation } from '../../env/tools/prediction.js';
import { isMark, mark, type Names, type Piece, readText, type Splitter, written } from './script.js';

const OPERATIONS = ['add', 'replace', 'remove'] as const;

/** undefined for operations that there are no words for. */
export function writtenPatch(operations: readonly Operation[], names: Names, split: Splitter): Piece[] | undefined {
  const all: Piece[] = [];
  for (const operation of operations) {
    if (operation.op === 'move' || operation.op === 'copy' || operation.op === 'test') return undefined;
    all.push(mark(operation.op), ...written(operation.path, split, names));
    if ('value' in operation) all.push(mark('value'), ...written(JSON.stringify(operation.value), split, names));
  }
  return all;
}

/** undefined where they cannot be read. */
export function readPatch(pieces: readonly Piece[], names: Names): Operation[] | undefined {
  const starts = pieces.flatMap((piece, i) => (OPERATIONS.some((op) => isMark(piece, op)) ? [i] : []));
  if (starts[0] !== (pieces.length === 0 ? undefined : 0)) return undefined;
  const operations = starts.map((start, i) => readOperation(pieces.slice(start, starts[i + 1]), names));
  return operations.includes(undefined) ? undefined : (operations as Operation[]);
}

function readOperation([first, ...rest]: readonly Piece[], names: Names): Operation | undefined {
  const op = OPERATIONS.find((one) => isMark(first, one))!;
  const at = rest.findIndex((piece) => isMark(piece, 'value'));
  const path = readText(at < 0 ? rest : rest.slice(0, at), names);
  if (path === undefined || !path.startsWith('/')) return undefined;
  if (op === 'remove') return at < 0 ? { op, path } : undefined;
  const text = at < 0 ? undefined : readText(rest.slice(at + 1), names);
  try {
    return text === undefined ? undefined : { op, path, value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

/** Names as whole words, the longest first, as one may begin another. */
export function splitterOf(names: readonly string[]): Splitter {
  const escaped = [...names]
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${escaped.join('|') || '(?!)'})(?![\\p{L}\\p{N}_])`, 'gu');
  return (text) => ({ between: text.split(pattern), objects: text.match(pattern) ?? [] });
}
