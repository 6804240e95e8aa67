// Data files of tests: YAML or JSON, named from this folder; and lines of JSON that a run wrote.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export function testData<T>(path: string): T {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return (path.endsWith('.json') ? JSON.parse(text) : parse(text)) as T;
}

// biome-ignore lint/suspicious/noExplicitAny: what a line holds is what tests look at.
export function jsonLines<T = any>(path: string): T[] {
  const text = readFileSync(path, 'utf8').trim();
  return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line));
}
