// Modules of users that add kinds, environments, domains, dynamics, backends, learners and exports. A scenario that names one runs it, with
// all that this process may do: scenarios name them, which are files of the user's own, and nothing that comes over a network.
// The packs that come with the package are modules of the same form.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { reverieError } from './errors.js';
import { packModule } from './packs.js';
import { bring, type Entry, type Named } from './registry.js';

/** What a plugin's module exports by default: entries of any of the registries. */
export interface Plugin {
  readonly kinds?: readonly Named[];
  readonly environments?: readonly Named[];
  /** Domains of tools. */
  readonly domains?: readonly Named[];
  readonly dynamics?: readonly Named[];
  /** Who answers calls of structured worlds. */
  readonly backends?: readonly Named[];
  readonly learners?: readonly Named[];
  /** Formats of datasets of episodes. */
  readonly exports?: readonly Named[];
  /** Formats of datasets of transitions. */
  readonly transitionExports?: readonly Named[];
  /** How backends are made of a job's own records, where they do not say it themselves. */
  readonly fittedBackends?: readonly Entry<unknown>[];
  /** Functions that rooms above ask for by name. */
  readonly services?: readonly Entry<unknown>[];
}

/** What an entry is called in errors, and the function that it must have. */
const DOORS: Readonly<Record<keyof Plugin, readonly [what: string, needs: string]>> = {
  kinds: ['kind of world', 'scenario'],
  environments: ['environment', 'make'],
  domains: ['domain', 'make'],
  dynamics: ['dynamics', 'make'],
  backends: ['backend', 'make'],
  learners: ['learner', 'make'],
  exports: ['export', 'make'],
  transitionExports: ['transition export', 'make'],
  fittedBackends: ['fitted backend', 'make'],
  services: ['service', 'make'],
};

/** Read by every thread that this one starts. */
const OF_THREAD = 'reverie.plugins';

const loading = new Map<string, Promise<void>>();

interface LoadedPlugin {
  /** As it was named. */
  readonly name: string;
  readonly file: string;
  readonly isNew: boolean;
}

/**
 * Loads the modules of plugins and registers what they bring; a module that is loaded already is left as it is.
 * @param names relative or absolute paths of modules, or names of packages
 * @param folder where relative paths start, and packages are looked for
 * @throws PLUGIN_UNUSABLE, PLUGIN_UNUSABLE, PLUGIN_UNUSABLE, PLUGIN_UNUSABLE
 */
export async function loadPlugins(names: readonly string[], folder: string): Promise<LoadedPlugin[]> {
  const found: LoadedPlugin[] = [];
  for (const name of names) {
    const file = pluginFile(name, folder);
    found.push({ name, file, isNew: !loading.has(file) });
    await loaded(file);
  }
  if (found.length > 0) setEnvironmentData(OF_THREAD, [...loading.keys()]);
  return found;
}

/** Loads the pack that has a domain of this name, where one has. */
export async function loadPackOf(domain: string): Promise<void> {
  const file = packModule(domain);
  if (file !== undefined) await loaded(file);
}

/** The plugins of the thread that started this one. What revives things by their names in worker threads waits for them. */
export async function threadPlugins(): Promise<void> {
  if (isMainThread) return;
  for (const file of (getEnvironmentData(OF_THREAD) ?? []) as string[]) await loaded(file);
}

/** The module that `name` means. @throws PLUGIN_UNUSABLE */
export function pluginFile(name: string, folder: string): string {
  const isPath = /^\.{1,2}[\\/]/.test(name) || isAbsolute(name);
  const file = isPath ? resolve(folder, name) : packageModule(name, folder);
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
  throw reverieError('PLUGIN_UNUSABLE', {
    problem: `There is no plugin "${name}" as seen from ${folder}.`,
    hint: 'Write ./module.mjs for a file beside the scenario, or the name of a package that is installed there.',
  });
}

function packageModule(name: string, folder: string): string | undefined {
  const require = createRequire(join(resolve(folder), 'scenario.yaml'));
  try {
    return require.resolve(name);
  } catch {
    // A package for `import` alone is not resolved by `require`.
    const places = (require.resolve.paths(name) ?? []).map((place) => join(place, name));
    const home = places.find((place) => existsSync(join(place, 'package.json')));
    if (home === undefined) return undefined;
    const { exports: declared, main } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    const entry = importOf(declared?.['.'] ?? declared) ?? main;
    return typeof entry === 'string' ? join(home, entry) : undefined;
  }
}

function importOf(target: unknown): unknown {
  if (typeof target !== 'object' || target === null) return target;
  const { import: chosen, node, default: other } = target as Record<string, unknown>;
  return importOf(chosen ?? node ?? other);
}

function loaded(file: string): Promise<void> {
  const known = loading.get(file) ?? load(file);
  loading.set(file, known);
  return known;
}

async function load(file: string): Promise<void> {
  const module = (await import(pathToFileURL(file).href).catch((error: unknown) => {
    const problem = `The plugin ${file} could not be loaded: ${error instanceof Error ? error.message : String(error)}`;
    const hint = 'It is a module of yours that runs when it is loaded; docs/extending.md says what one looks like.';
    throw reverieError('PLUGIN_UNUSABLE', { problem, hint }, error);
  })) as { default?: unknown };
  bringPlugin(checked(module.default, file));
}

/** Registers what a plugin brings. @throws PLUGIN_UNUSABLE */
export function bringPlugin(plugin: Plugin): void {
  for (const [door, [what]] of Object.entries(DOORS)) bring(what, plugin[door as keyof Plugin] ?? []);
}

function checked(plugin: unknown, file: string): Plugin {
  const invalid = (problem: string) =>
    reverieError('PLUGIN_UNUSABLE', {
      problem: `The module ${file} is no plugin: ${problem}.`,
      hint: 'Its default export is what definePlugin takes; docs/extending.md has examples.',
    });
  if (typeof plugin !== 'object' || plugin === null) throw invalid('it has no default export that is an object');
  const lists = Object.entries(plugin);
  if (lists.length === 0) throw invalid('its default export is empty');
  for (const [door, entries] of lists) {
    if (!(door in DOORS)) throw invalid(`"${door}" is none of ${Object.keys(DOORS).join(', ')}`);
    if (!Array.isArray(entries)) throw invalid(`"${door}" is no list`);
    const [what, needs] = DOORS[door as keyof Plugin];
    entries.forEach((entry: unknown, i) => {
      const problem = problemOf(entry, needs);
      if (problem !== undefined) throw invalid(`${door}[${i}] is no ${what}: ${problem}`);
      if (door === 'domains') refusePackName((entry as Named).name, file);
    });
  }
  return plugin as Plugin;
}

/** What a name of ours means does not depend on what was loaded before. */
function refusePackName(name: string, file: string): void {
  if ([undefined, file].includes(packModule(name))) return;
  throw reverieError('PLUGIN_UNUSABLE', {
    problem: `The domain "${name}" cannot be registered: the name is taken.`,
    hint: 'Give it another name in the module that registers it.',
  });
}

function problemOf(entry: unknown, needs: string): string | undefined {
  if (typeof entry !== 'object' || entry === null) return 'it is no object';
  const given = entry as Record<string, unknown>;
  if (typeof given.name !== 'string') return 'it has no name';
  if (typeof given.summary !== 'string') return 'it has no summary';
  return typeof given[needs] === 'function' ? undefined : `it has no function "${needs}"`;
}
