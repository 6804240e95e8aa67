// What counts of a result: the content of each of its parts, without what differs between two equal runs
// (times, places, versions of the code) or is chosen afresh each time (ids that nobody may guess).

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';

/** Of a run: how it was asked for, what it keeps for itself, and pages drawn from other files. */
const NO_RESULT = /(^|\/)(run\.json|run\.lock|scenario\.json|[^/]*\.html|(journal|experience|cache|chunks)\/.*)$/;

/** Keys of when, how fast, by what and where. */
const PASSING =
  /^(wall_?seconds|seconds|ms|.*per_?second|(started|ended|created|opened|last_used)_?at|time|command|versions|machine|seal|identity|panel|evaluationSet|pid)$/i;

/** Hashes of states are content; every other hash names a version of something that is compared itself. */
const STATE = /state_?hash(es)?$/i;
const HASH = /(?<![\w.])(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}(?!\w)/g;

function sha256(content) {
  return createHash('sha256').update(content).digest('hex');
}

/** The same strings in the same order get the same names, so that it still shows which rows share a version. */
export class Names {
  #numbers = new Map();

  /** @param places strings that stand for a place on this machine, longest first */
  constructor(places = []) {
    this.places = places;
  }

  of(word) {
    if (!this.#numbers.has(word)) this.#numbers.set(word, this.#numbers.size);
    return `<${this.#numbers.get(word)}>`;
  }

  /** A text without places, and with hashes and known ids as numbers. */
  text(text, ids = []) {
    let plain = text;
    for (const place of this.places) plain = plain.replaceAll(place, '<place>');
    for (const id of ids) plain = plain.replaceAll(id, () => this.of(id));
    return plain.replace(HASH, (hash) => this.of(hash));
  }
}

/**
 * A JSON value in normal form.
 * @param ordered whether the order of keys is content, as that of columns
 * @param ids strings chosen afresh each time, wherever they stand
 */
export function normalValue(value, names, { ordered = false, ids = [] } = {}) {
  const walk = (node, key) => {
    if (typeof node === 'string') return STATE.test(key) ? node : names.text(node, ids);
    if (typeof node === 'bigint') return String(node);
    if (node instanceof Uint8Array) return sha256(node);
    if (Array.isArray(node)) return node.map((item) => walk(item, key));
    if (node === null || typeof node !== 'object' || node instanceof Date) return node;
    const entries = Object.entries(node).filter(([name]) => !PASSING.test(name));
    if (!ordered) entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([name, item]) => [names.text(name, ids), walk(item, name)]));
  };
  return walk(value, '');
}

/**
 * Part of a run → its content in normal form, as bytes or text.
 * @param places strings that stand for a place on this machine
 */
export async function partsOfRun(folder, places) {
  const files = readdirSync(folder, { recursive: true })
    .map((file) => String(file).replaceAll('\\', '/'))
    .filter((file) => statSync(join(folder, file)).isFile() && !NO_RESULT.test(file));
  const contents = new Map();
  for (const file of files.sort()) {
    const part = partOf(file);
    const known = contents.get(part) ?? { names: new Names(places), texts: [] };
    contents.set(part, known);
    known.texts.push(`${file}\n`, await normalFile(join(folder, file), file, known.names), '\n');
  }
  return Object.fromEntries(
    [...contents].map(([part, { texts }]) => [part, Buffer.concat(texts.map((text) => Buffer.from(text)))]),
  );
}

/** The files of a dataset are one part, its card another; any other file is a part. */
function partOf(file) {
  const [, dataset, rest] = /^datasets\/([^/]+)\/(.*)$/.exec(file) ?? [];
  if (dataset === undefined) return file;
  return rest === 'README.md' ? `datasets/${dataset} (card)` : `datasets/${dataset}`;
}

async function normalFile(path, file, names) {
  const bytes = readFileSync(path);
  const ordered = file.startsWith('datasets/');
  const json = (value) => JSON.stringify(normalValue(value, names, { ordered }));
  if (file.endsWith('.json')) return json(JSON.parse(bytes));
  if (file.endsWith('.jsonl')) {
    const lines = bytes.toString('utf8').split('\n');
    return lines.map((line) => (line === '' ? '' : json(JSON.parse(line)))).join('\n');
  }
  if (file.endsWith('.md')) return names.text(bytes.toString('utf8'));
  if (file.endsWith('.parquet')) {
    const buffer = Uint8Array.from(bytes).buffer;
    const columns = parquetMetadata(buffer).schema.map(({ name, type }) => [name, type]);
    return json({ columns, rows: await parquetReadObjects({ file: buffer }) });
  }
  return bytes;
}
