// A domain as data, a scenario's section `domain`: the files of a folder, or one that a pack or plugin has a name for.

import { z } from 'zod';
import { packDomains } from '../../core/packs.js';
import { loadPackOf } from '../../core/plugins.js';
import { serverDomains } from '../servers/domain-entries.js';
import { parseStrictly } from '../strict-parse.js';
import type { DOMAIN_FILES } from './domain-schemas.js';
import { type DomainEntry, domainEntryFor, domains } from './domains.js';

for (const entry of serverDomains) domains.register(entry);

const file = (what: string, standard: string) =>
  z.string().min(1).optional().describe(`${what}, relative to the folder (default ${standard})`);

const folderKeys = {
  folder: z.string().min(1).optional().describe("folder of a domain's files; default: the scenario's"),
  policy: file('what the agent is told', 'policy.md'),
  tools: file('the tools', 'tools.yaml'),
  state: file('the state tasks begin with', 'state.json'),
  schema: file('JSON Schema of the state', 'state.schema.json'),
  rules: file('exact code of the tools, where there is any', 'rules.js'),
  tasks: file('the tasks', 'tasks.yaml'),
  induced: file('rules found in logs, where there are any', 'induced.yaml'),
  phrases: file('how agents and users put things, where that is given', 'phrases.yaml'),
} satisfies Record<'folder' | (typeof DOMAIN_FILES)[number], z.ZodType>;

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
  return z.strictObject({ id: idKey(ids), ...namedKeys(), ...folderKeys }).superRefine((spec, context) => {
    for (const issue of misplaced(spec)) context.addIssue(issue);
  }) as unknown as z.ZodType<DomainSpec, DomainSpec>;
}

/** Keys of all named domains, without defaults, which are each domain's own. Two may mean different things by one key. */
function namedKeys(): Record<string, z.ZodType> {
  const keys: Record<string, z.ZodType> = {};
  const known = new Map<string, z.ZodType[]>();
  // By name: which was registered first depends on what was loaded first.
  const byName = domains.list().sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const [key, type] of byName.flatMap(({ schema }) => Object.entries(schema?.shape ?? {}))) {
    const bare = (type instanceof z.ZodDefault || type instanceof z.ZodOptional ? type.unwrap() : type) as z.ZodType;
    const types = [...new Set([...(known.get(key) ?? []), bare])];
    known.set(key, types);
    const either = types.length === 1 ? bare : z.union(types);
    keys[key] = either.optional().describe(type.description ?? bare.description ?? '');
  }
  return keys;
}

type Problem = Parameters<z.RefinementCtx['addIssue']>[0];

function misplaced(spec: DomainSpec): Problem[] {
  const given = Object.keys(spec).filter((key) => key !== 'id' && spec[key] !== undefined);
  // A name of a pack that nobody loaded: whoever makes the domain does.
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

/** The key by which a section names a server that the domain is lived on, or a program that is one; undefined for others. */
export function serverKeyOf(spec: DomainSpec): string | undefined {
  return spec.id === undefined ? domainEntryFor(spec)?.namedBy : undefined;
}

/** What a spec says of the keys that the domain takes. */
export function settingsOf({ schema }: DomainEntry, spec: DomainSpec): Record<string, unknown> {
  const own = Object.keys(schema?.shape ?? {}).filter((key) => spec[key] !== undefined);
  return Object.fromEntries(own.map((key) => [key, spec[key]]));
}

/** @throws UNKNOWN_KEY, ENV_SPEC_INVALID */
export function checkDomainSpec(spec: DomainSpec): DomainSpec {
  return parseStrictly(domainSpecSchema(), spec, 'domain');
}
