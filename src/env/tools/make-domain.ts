// From a domain as data (a scenario's section `domain`) to the domain.

import path from 'node:path';
import { threadPlugins } from '../../core/plugins.js';
import type { ToolsDomain } from './domain.js';
import { DOMAIN_FILES } from './domain-schemas.js';
import { checkDomainSpec, type DomainSpec, loadNamedDomains, settingsOf } from './domain-spec.js';
import { domainEntryFor } from './domains.js';
import { type DomainFiles, filesOf, loadDomain } from './load-domain.js';

export interface MakeDomainOptions {
  /** Folder that relative paths start from: the scenario's. Default: the working directory. */
  readonly folder?: string;
}

/** @throws UNKNOWN_KEY, ENV_SPEC_INVALID, and what `loadDomain` or the named domain throws */
export async function makeDomain(spec: DomainSpec, { folder = '.' }: MakeDomainOptions = {}): Promise<ToolsDomain> {
  await threadPlugins();
  await loadNamedDomains([spec]);
  const checked = checkDomainSpec(spec);
  const entry = domainEntryFor(checked);
  if (entry !== undefined) {
    const settings = settingsOf(entry, checked);
    const make = await entry.make();
    return make(entry.schema?.parse(settings) ?? settings, folder);
  }
  const named = DOMAIN_FILES.flatMap((file) => (checked[file] === undefined ? [] : [[file, checked[file]]]));
  return loadDomain(path.resolve(folder, checked.folder ?? '.'), Object.fromEntries(named) as DomainFiles);
}

/** Paths of all files that decide what the domain is, whether they are there or not. Its pack or plugin is loaded. */
export function domainFiles(spec: DomainSpec, folder: string): string[] {
  const entry = domainEntryFor(spec);
  if (entry === undefined) return filesOf(path.resolve(folder, spec.folder ?? '.'), spec as DomainFiles);
  return [...(entry.files?.(settingsOf(entry, spec), folder) ?? [])];
}

/** The folder that a domain's probes and labelled episodes are looked for in. Its pack or plugin is loaded. */
export function domainFolder(spec: DomainSpec, folder: string): string {
  const entry = domainEntryFor(spec);
  if (entry === undefined) return path.resolve(folder, spec.folder ?? '.');
  return entry.home?.(settingsOf(entry, spec), folder) ?? path.resolve(folder);
}
