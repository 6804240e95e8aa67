// Data files of tests: YAML or JSON, named from this folder; and lines of JSON that a run wrote.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** Compiled with a benchmark, this file is elsewhere than the data. */
const folder = new URL(import.meta.url.endsWith('/dist-bench/test/data.js') ? '../../test/' : './', import.meta.url);

export function testData<T>(path: string): T {
  const text = readFileSync(new URL(path, folder), 'utf8');
  return (path.endsWith('.json') ? JSON.parse(text) : parse(text)) as T;
}

// biome-ignore lint/suspicious/noExplicitAny: what a line holds is what tests look at.
export function jsonLines<T = any>(path: string): T[] {
  const text = readFileSync(path, 'utf8').trim();
  return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line));
}
