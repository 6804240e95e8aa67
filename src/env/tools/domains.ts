// Domains that a scenario can name by `id`: those of the package's packs and of plugins. Nothing of one is read before it is made.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { packDomains } from '../../core/packs.js';
import { loadPackOf, threadPlugins } from '../../core/plugins.js';
import { Registry } from '../../core/registry.js';
import { serverDomains } from '../servers/protocols.js';
import { keysOfAll, parseStrictly } from '../strict-parse.js';
import type { DomainEntry, ToolsDomain } from './domain.js';
import { filesOf, loadDomain } from './load-domain.js';

export const domains = new Registry<DomainEntry>('domain');

/** Which named domain a section means, by its `id` or by a key that stands in its place; undefined for a folder. @throws for an unknown id */
function domainEntryFor(spec: Readonly<Record<string, unknown>>): DomainEntry | undefined {
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

for (const entry of serverDomains) domains.register(entry);

const folderKeys = {
  folder: z.string().min(1).optional().describe("folder of a domain's files; default: the scenario's"),
};

const idKey = (ids: readonly string[]) =>
  z.enum(ids).optional().describe('a domain of a pack or a plugin, by its name; its settings stand beside it');

/** With an `id`, all keys beside it are that domain's own. */
export interface DomainSpec extends z.input<z.ZodObject<typeof folderKeys>> {
  readonly id?: string;
  readonly [setting: string]: unknown;
}

/** Loads the packs whose domains are named in what would be sections `domain`. Their keys are known from then on. */
export async function loadNamedDomains(sections: readonly unknown[]): Promise<void> {
  for (const section of sections) {
    const id = (section as DomainSpec | null | undefined)?.id;
    if (typeof id === 'string') await loadPackOf(id);
  }
}

/** Packs and plugins add keys of their domains, so it is made when it is asked for. */
export function domainSpecSchema(): z.ZodType<DomainSpec, DomainSpec> {
  const known = domains.names().length;
  if (made?.known !== known) made = { known, schema: schemaOfNow() };
  return made.schema;
}

let made: { readonly known: number; readonly schema: z.ZodType<DomainSpec, DomainSpec> } | undefined;

function schemaOfNow(): z.ZodType<DomainSpec, DomainSpec> {
  const named = domains.list().filter(({ namedBy }) => namedBy === undefined);
  const ids = [...new Set([...packDomains, ...named.map(({ name }) => name)])];
  // By name: which was registered first depends on what was loaded first.
  const byName = domains.list().sort((a, b) => (a.name < b.name ? -1 : 1));
  const keys = keysOfAll(byName.map(({ schema }) => schema));
  return z.strictObject({ id: idKey(ids), ...keys, ...folderKeys }).superRefine((spec, context) => {
    for (const issue of misplaced(spec)) context.addIssue(issue);
  }) as unknown as z.ZodType<DomainSpec, DomainSpec>;
}

type Problem = Parameters<z.RefinementCtx['addIssue']>[0];

function misplaced(spec: DomainSpec): Problem[] {
  const given = Object.keys(spec).filter((key) => key !== 'id' && spec[key] !== undefined);
  // A name of a pack that is not loaded: the maker of the domain does.
  if (spec.id !== undefined && !domains.has(spec.id)) return [];
  const entry = domainEntryFor(spec);
  if (entry === undefined) {
    const foreign = given.filter((key) => !(key in folderKeys));
    return foreign.map((key) => ({ code: 'custom', message: `"${key}" needs the "id" of a domain that takes it` }));
  }
  const foreign = given.filter((key) => !(key in (entry.schema?.shape ?? {})));
  return [
    ...foreign.map((key): Problem => ({ code: 'custom', message: `"${key}" does not apply to "${entry.name}"` })),
    ...(entry.schema?.safeParse(settingsOf(entry, spec)).error?.issues ?? []).map((issue) => ({ ...issue }) as Problem),
  ];
}

/** The key by which a section names a server that the domain runs on, or a program that is one; undefined for others. */
export function serverKeyOf(spec: DomainSpec): string | undefined {
  return spec.id === undefined ? domainEntryFor(spec)?.namedBy : undefined;
}

/** What a spec says of the keys that the domain takes. */
export function settingsOf({ schema }: DomainEntry, spec: DomainSpec): Record<string, unknown> {
  const own = Object.keys(schema?.shape ?? {}).filter((key) => spec[key] !== undefined);
  return Object.fromEntries(own.map((key) => [key, spec[key]]));
}

/**
 * @param options.folder that relative paths start from: the scenario's. Default: the working directory
 * @throws UNKNOWN_KEY, ENV_SPEC_INVALID, and what `loadDomain` or the named domain throws
 */
export async function makeDomain(
  spec: DomainSpec,
  { folder = '.' }: { readonly folder?: string } = {},
): Promise<ToolsDomain> {
  await threadPlugins();
  await loadNamedDomains([spec]);
  const checked = parseStrictly(domainSpecSchema(), spec, 'domain');
  const entry = domainEntryFor(checked);
  if (entry !== undefined) {
    const settings = settingsOf(entry, checked);
    const make = await entry.make();
    return make(entry.schema?.parse(settings) ?? settings, folder);
  }
  return loadDomain(path.resolve(folder, checked.folder ?? '.'));
}

/** Paths of all files that decide what the domain is, whether they are there or not. Its pack or plugin is loaded. */
export function domainFiles(spec: DomainSpec, folder: string): string[] {
  const entry = domainEntryFor(spec);
  if (entry === undefined) return filesOf(path.resolve(folder, spec.folder ?? '.'));
  return [...(entry.files?.(settingsOf(entry, spec), folder) ?? [])];
}

/** The folder that a domain's probes and labelled episodes are looked for in. Its pack or plugin is loaded. */
export function domainFolder(spec: DomainSpec, folder: string): string {
  const entry = domainEntryFor(spec);
  if (entry === undefined) return path.resolve(folder, spec.folder ?? '.');
  return entry.home?.(settingsOf(entry, spec), folder) ?? path.resolve(folder);
}
