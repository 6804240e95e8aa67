// Data files of tests: YAML or JSON, named from this folder.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export function testData<T>(path: string): T {
  return parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as T;
}
