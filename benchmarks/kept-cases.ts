// Cases of a long benchmark that are measured already: each is kept as it ends, so that one that was stopped goes on where it
// was. Cases of another commit, or with other settings, are measured anew.

import { execFileSync } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../src/core/canonical-json.js';
import { canonicalJson } from '../src/core/canonical-json.js';
import { writeFileAtomic } from '../src/core/files.js';

export interface KeptCases {
  /** What is kept under `name` of the same `settings`, else what `measure` answers, kept. */
  of<T>(name: string, settings: Json, measure: () => Promise<T>): Promise<T>;
}

/** @param id of the benchmark; files lie in `runs/bench/ID`, which git does not see. A file that cannot be read counts as none. */
export function keptCases(root: string, id: string, log: (line: string) => void): KeptCases {
  const folder = join(root, 'runs', 'bench', id);
  const commit = commitOf(root);
  return {
    async of(name, settings, measure) {
      const path = join(folder, `${name}.json`);
      const key = canonicalJson([commit, settings]);
      const kept = await readKept(path);
      if (kept?.key === key) {
        log(`${name}: taken from ${path}`);
        return kept.found as Awaited<ReturnType<typeof measure>>;
      }
      const found = await measure();
      await mkdir(folder, { recursive: true });
      await writeFileAtomic(path, JSON.stringify({ key, found }));
      return found;
    },
  };
}

/** Measures all, keeps nothing. */
export const NOTHING_KEPT: KeptCases = { of: (_name, _settings, measure) => measure() };

async function readKept(path: string): Promise<{ readonly key: string; readonly found: unknown } | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function commitOf(root: string): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
