// The packs that come with the package: worlds that anyone could have written. Each is a folder of packs/ whose module registers
// its domains as the module of a user's plugin does; nothing of one is loaded before one of its domains is named.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as AjvDraft7 from 'ajv';
import type * as AjvDraft2020 from 'ajv/dist/2020.js';
import type * as Undici from 'undici';

/** A pack in TypeScript is its source where the engine is, as in tests. */
const COMPILED = import.meta.url.endsWith('.ts') ? 'src/index.ts' : 'dist/index.js';

interface Pack {
  readonly module: string;
  /** Those that it registers. */
  readonly domains: readonly string[];
  /** SHA-256 of its rules file, where it has one: these bytes are code of the package, and run as such. */
  readonly rules?: string;
}

/** A line each. */
const PACKS: readonly Pack[] = [
  { module: 'alfworld/index.mjs', domains: ['alfworld'] },
  {
    module: 'cellar/index.mjs',
    domains: ['cellar'],
    rules: '1b6ce5f275ac9281ba8490fb0882b2a5ace8107c337ba0f549dea1f53091a77e',
  },
  {
    module: 'helpdesk/index.mjs',
    domains: ['helpdesk'],
    rules: 'b6f45fe188d0cac1cb6cf146e67be183e74d02d28712df9f18e56bdde0e11848',
  },
  { module: 'miniwob/index.mjs', domains: ['miniwob'] },
  { module: 'shop/index.mjs', domains: ['shop'] },
  { module: `tau-bench/${COMPILED}`, domains: ['tau-airline', 'tau-retail'] },
  { module: 'tiddlywiki/index.mjs', domains: ['tiddlywiki'] },
];

/** The names of all domains of packs, whether they are loaded or not. */
export const packDomains: readonly string[] = PACKS.flatMap(({ domains }) => domains);

/** Absolute path of the module of the pack that has a domain; undefined where none has. */
export function packModule(domain: string): string | undefined {
  const pack = PACKS.find(({ domains }) => domains.includes(domain));
  return pack && join(packsFolder(), pack.module);
}

/**
 * Whether rules came with the package, as the compiled rules of a pack did. They are known by their bytes, not by where they
 * lie: no folder, name or scenario makes others pass for them, and a file of a pack that was changed is none of them.
 * @param hash SHA-256 (hex) of a rules file's text
 */
export function areRulesOfPack(hash: string): boolean {
  return PACKS.some(({ rules }) => rules === hash);
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

const require = createRequire(import.meta.url);

function late<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= require(name) as T;
    return loaded;
  };
}

export const undici = late<typeof Undici>('undici');
export const ajvDraft7 = late<typeof AjvDraft7>('ajv');
export const ajvDraft2020 = late<typeof AjvDraft2020>('ajv/dist/2020.js');
