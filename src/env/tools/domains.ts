// Domains that a scenario can name by `id`: those of the package's packs and of plugins. Nothing of one is read before it is made.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { type Entry, Registry } from '../../core/registry.js';
import type { ToolsDomain } from './domain.js';
import { filesOf, loadDomain } from './load-domain.js';

/** A domain's settings, checked: the keys of its schema. */
export type DomainSettings = Readonly<Record<string, unknown>>;

/** From settings, and the folder that relative paths in them start from, to the domain. */
export type MakeDomain = (settings: DomainSettings, folder: string) => Promise<ToolsDomain>;

/** `name` is the `id` that scenarios give; `schema` has the keys of the section `domain` beside `id`. */
export interface DomainEntry extends Entry<MakeDomain> {
  readonly schema?: z.ZodObject;
  /** The key of its schema that names it in place of `id`: there are many domains behind one entry. */
  readonly namedBy?: string;
  /** Absolute paths of the files that decide what it is, whether they are there or not: they count in a scenario's hash. */
  readonly files?: (settings: DomainSettings, folder: string) => readonly string[];
  /** Absolute path of the folder in which its probes and labelled episodes are looked for; absent: the scenario's. */
  readonly home?: (settings: DomainSettings, folder: string) => string;
}

/** By id. */
export const domains = new Registry<DomainEntry>('domain');

/** Which named domain a section means, by its `id` or by a key that stands in its place; undefined for a folder. @throws for an unknown id */
export function domainEntryFor(spec: Readonly<Record<string, unknown>>): DomainEntry | undefined {
  const { id } = spec;
  if (id !== undefined) return domains.get(id as string);
  return domains.list().find(({ namedBy }) => namedBy !== undefined && spec[namedBy] !== undefined);
}

/**
 * A domain whose files lie in a folder (docs/domains.md), under a name of its own.
 * @param folder absolute: its path, or its URL (`new URL('.', import.meta.url)` for that of the module itself)
 */
export function folderDomain(name: string, summary: string, folder: string | URL): DomainEntry {
  const home = path.resolve(folder instanceof URL ? fileURLToPath(folder) : folder);
  return {
    name,
    summary,
    files: () => filesOf(home),
    home: () => home,
    make: async () => async () => ({ ...(await loadDomain(home)), id: name }),
  };
}
