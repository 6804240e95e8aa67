// The packs that come with the package: worlds that anyone could have written. Each is a folder of packs/ whose module registers
// its domains as the module of a user's plugin does; nothing of one is loaded before one of its domains is named.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A pack in TypeScript is its source where the engine is, as in tests. */
const COMPILED = import.meta.url.endsWith('.ts') ? 'src/index.ts' : 'dist/index.js';

/** A line each: its module, and the domains that it registers. */
const PACKS: readonly { readonly module: string; readonly domains: readonly string[] }[] = [
  { module: 'alfworld/index.mjs', domains: ['alfworld'] },
  { module: 'cellar/index.mjs', domains: ['cellar'] },
  { module: 'helpdesk/index.mjs', domains: ['helpdesk'] },
  { module: `tau-bench/${COMPILED}`, domains: ['tau-airline', 'tau-retail'] },
];

/** The names of all domains of packs, whether they are loaded or not. */
export const packDomains: readonly string[] = PACKS.flatMap(({ domains }) => domains);

/** Absolute path of the module of the pack that has a domain; undefined where none has. */
export function packModule(domain: string): string | undefined {
  const pack = PACKS.find(({ domains }) => domains.includes(domain));
  return pack && join(packsFolder(), pack.module);
}

export function packsFolder(): string {
  return join(packageRoot(), 'packs');
}

/** Root of the package, from src/core as from dist/core. */
export function packageRoot(): string {
  // Searched upwards: the compiled benchmarks lie one folder deeper than the build.
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
