// Data files of tests: YAML or JSON, named from this folder.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export function testData<T>(path: string): T {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return (path.endsWith('.json') ? JSON.parse(text) : parse(text)) as T;
}
