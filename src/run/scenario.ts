// Loads a scenario: reads the file, lays a profile and overrides over it, checks the result, freezes and identifies it.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseDocument, stringify } from 'yaml';
import { canonicalJson } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { readText } from '../core/files.js';
import type { CommonConfig, ScenarioOf, ScenarioSections } from '../core/kind.js';
import { packageRoot, packsFolder } from '../core/packs.js';
import { loadPlugins, pluginFile } from '../core/plugins.js';
import { pluginsKey } from '../kinds/keys.js';
import { DEFAULT_KIND, kinds, toolsScenario, vectorScenario } from '../kinds/registry.js';
import type { ToolsScenario } from '../kinds/tools.js';
import type { Scenario } from '../kinds/vector.js';
import { checkAgainst } from './schema-check.js';

export type { Scenario, ToolsScenario };

const MAX_FILE_BYTES = 1_000_000;

/** A scenario of any kind. */
export type AnyScenario = ScenarioOf;

export interface ScenarioOptions {
  readonly profile?: string;
  /** `path=value` overrides, applied in order after the profile. */
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly workers?: number;
}

/**
 * Loads a built-in scenario of numbers by name, or one by path of its file or folder.
 * @throws as `loadAnyScenario`, and SCENARIO_UNFIT for one of another kind
 */
export async function loadScenario(reference: string, options: ScenarioOptions = {}): Promise<Scenario> {
  return vectorScenario(await loadAnyScenario(reference, options));
}

/** As `loadScenario`, of messages and tool calls. */
export async function loadToolsScenario(reference: string, options: ScenarioOptions = {}): Promise<ToolsScenario> {
  return toolsScenario(await loadAnyScenario(reference, options));
}

/**
 * Loads a scenario of any kind.
 * @throws SCENARIO_NOT_FOUND, UNKNOWN_KEY, SCENARIO_INVALID, NAME_UNKNOWN, FLAG_INVALID
 */
export async function loadAnyScenario(reference: string, options: ScenarioOptions = {}): Promise<AnyScenario> {
  const file = scenarioFile(reference);
  const data = readScenarioFile(file);
  await runPlugins(data, dirname(file), file);
  const kind = await kindOf(data, file, layersOf(data, options));
  const { profiles, ...base } = checkedFile(withPresets(data), kind.sections, file);
  const raw = layered(base, profileLayer(profiles, options.profile, file));
  return identified(flagged(raw, options, kind.sections, file), kind, dirname(file), options.profile);
}

/**
 * A saved scenario with overrides laid over it.
 * @throws NAME_UNKNOWN for any profile, as profiles are not saved, and as `loadScenario` does
 */
export async function adjustScenario<S extends AnyScenario>(saved: S, options: ScenarioOptions): Promise<S> {
  const source = `${saved.config.name} (saved)`;
  const kind = await kindOf(saved.config, source, layersOf(saved.config as unknown as ConfigObject, options));
  const raw = layered(saved.config as unknown as ConfigObject, profileLayer({}, options.profile, source));
  const adjusted = await identified(flagged(raw, options, kind.sections, source), kind, saved.folder, saved.profile);
  // Seed and workers are no part of what a scenario is, so it stays the one that was saved.
  return ((options.set ?? []).length > 0 ? adjusted : Object.freeze({ ...adjusted, hash: saved.hash })) as S;
}

/** Name, file and sentence of every built-in scenario. */
export function listScenarios(): Promise<{ name: string; description: string; file: string }[]> {
  return Promise.all(
    [...builtIn().keys()].sort().map(async (name) => {
      const { config } = await loadAnyScenario(name);
      return { name, description: config.description, file: scenarioFile(name) };
    }),
  );
}

/** The effective configuration as YAML, ready to be a scenario file of its own. */
export function scenarioText({ config }: AnyScenario): string {
  // Aliases for repeated values would be harder to read than the values.
  return stringify(config, { aliasDuplicateObjects: false, lineWidth: 100 }).trimEnd();
}

/**
 * A scenario as it was saved with a run. Its hash is that of the file, so keys that came into being since do not make
 * it another one.
 * @param plugins  whether modules that it names are run; never for what came over a network
 * @throws SCENARIO_CHANGED if the file, or a file it names, was changed since; SCENARIO_INVALID; PLUGIN_UNUSABLE
 */
export async function reviveScenario(
  saved: AnyScenario,
  source: string,
  { plugins = true }: { readonly plugins?: boolean } = {},
): Promise<AnyScenario> {
  const [plugin] = saved.config.plugins ?? [];
  if (plugin !== undefined && !plugins)
    throw reverieError('PLUGIN_UNUSABLE', {
      problem: `Scenario "${source}" names the plugin "${plugin}", which is not run here.`,
      hint: 'Only a command that you give yourself runs plugins; a queue, or a client of a server, cannot have one run.',
    });
  await runPlugins(saved.config as unknown as ConfigObject, saved.folder, source);
  const kind = await kindOf(saved.config, source, layersOf(saved.config as unknown as ConfigObject));
  const config = checkAgainst(kind.sections.schema, saved.config, source) as CommonConfig;
  const hashes = await hashesOf(saved.config, kind.sections, saved.folder);
  if (hashes.hash !== saved.hash)
    throw reverieError('SCENARIO_CHANGED', { path: source, hash: hashes.hash, recorded: saved.hash });
  kind.sections.check?.(config);
  const { folder, profile } = saved;
  return Object.freeze({ family: kind.family, config: frozen(config), ...hashes, folder, profile });
}

interface LoadedKind {
  readonly family: string;
  readonly sections: ScenarioSections<CommonConfig>;
}

/** The kind a configuration says it is of. @throws SCENARIO_INVALID */
async function kindOf(
  { family = DEFAULT_KIND }: { family?: unknown },
  source: string,
  layers: readonly ConfigObject[],
): Promise<LoadedKind> {
  const kind = kinds.list().find(({ name }) => name === family);
  if (kind?.scenario !== undefined)
    return { family: kind.name, sections: (await kind.scenario(layers)) as LoadedKind['sections'] };
  const known = kinds.list().filter(({ scenario }) => scenario !== undefined);
  const problem = `"family" is ${JSON.stringify(family)}; expected one of ${known.map(({ name }) => name).join(', ')}.`;
  throw reverieError('SCENARIO_INVALID', { path: source, problem });
}

/** What a scenario is made of, as it is written. */
function layersOf(data: ConfigObject, options: ScenarioOptions = {}): ConfigObject[] {
  const profiles = isConfigObject(data.profiles) ? Object.values(data.profiles).filter(isConfigObject) : [];
  return [data, ...profiles, ...flagLayers(options).map(({ layer }) => layer)];
}

/** Loads what a scenario names before the rest of it is checked: its sections may be those of a plugin. */
async function runPlugins({ plugins }: ConfigObject, folder: string, source: string): Promise<void> {
  const names = checkAgainst(pluginsKey, plugins, source) ?? [];
  for (const { file, isNew } of await loadPlugins(names, folder)) {
    if (isNew) process.stderr.write(`Running the plugin ${file}, which ${source} names.\n`);
  }
}

function readScenarioFile(file: string): ConfigObject {
  const refuse = (problem: string) => reverieError('SCENARIO_INVALID', { path: file, problem });
  const bytes = statSync(file).size;
  if (bytes > MAX_FILE_BYTES) throw refuse(`it has ${bytes} bytes; at most ${MAX_FILE_BYTES} are read.`);
  const document = parseDocument(readText(file, (problem) => refuse(`${problem}.`)));
  if (document.errors.length > 0) throw refuse(`it is not YAML: ${document.errors[0].message}`);
  const data: unknown = document.toJS({ maxAliasCount: 100 });
  if (!isConfigObject(data)) throw refuse('it holds no mapping of keys to values.');
  return data;
}

type ScenarioFile = ConfigObject & { profiles: Record<string, ConfigObject> };

/** The file as it is, its profiles apart. */
function checkedFile(data: ConfigObject, { schema, fileSchema }: LoadedKind['sections'], file: string): ScenarioFile {
  const { profiles: given, ...checked } = checkAgainst(fileSchema, data, file) as ScenarioFile;
  const profiles = Object.fromEntries(Object.entries(given).map(([name, layer]) => [name, withPresets(layer)]));
  const { profiles: _, ...rest } = data;
  const base = withChoices(rest, checked);
  // Profiles are checked even when none is asked for: a typing error in one should not wait for its day.
  for (const [name, layer] of Object.entries(profiles)) {
    if ('plugins' in layer) throw pluginsMisplaced(`${file} (profile ${name})`);
    checkAgainst(schema, layered(base, layer), `${file} (profile ${name})`);
  }
  return { ...base, profiles };
}

/** They decide what the rest may say, so they are read first. */
function pluginsMisplaced(path: string): Error {
  return reverieError('SCENARIO_INVALID', { path, problem: '"plugins" is named at the top of the file alone.' });
}

function profileLayer(profiles: Record<string, ConfigObject>, name: string | undefined, file: string): ConfigObject {
  if (name === undefined) return {};
  if (!Object.hasOwn(profiles, name)) {
    const known = Object.keys(profiles).join(', ');
    const hint =
      known === '' ? 'It has none; a saved scenario keeps none: name the scenario.' : `Its profiles: ${known}.`;
    throw reverieError('NAME_UNKNOWN', { problem: `Scenario "${file}" has no profile "${name}".`, hint });
  }
  return profiles[name];
}

/** `raw` with all flags laid over it; an error names the flags, which are judged together as keys may need each other. */
function flagged(
  raw: ConfigObject,
  options: ScenarioOptions,
  { schema }: LoadedKind['sections'],
  source: string,
): CommonConfig {
  const config = checkAgainst(schema, raw, source) as CommonConfig;
  const flags = flagLayers(options);
  if (flags.length === 0) return config;
  for (const flag of flags) if ('plugins' in flag.layer) throw pluginsMisplaced(flag.source);
  const whole = flags.reduce((layers, { layer }) => layered(layers, layer), raw);
  return checkAgainst(schema, whole, flags.map((flag) => flag.source).join(' ')) as CommonConfig;
}

function flagLayers(options: ScenarioOptions): { layer: ConfigObject; source: string }[] {
  const given = (options.set ?? []).map((flag) => ({ layer: parseOverride(flag), source: `--set ${flag}` }));
  // What chooses a section's other keys comes before them, wherever it stands.
  const isChoice = ({ source }: { readonly source: string }) => CHOOSERS.some((key) => source.includes(`.${key}=`));
  const choices = given.filter(isChoice);
  // Two of one section are one layer, whatever their order: a preset of another algorithm is refused, and replaces nothing.
  const chosen = choices.map(({ source }) => source).join(' ');
  const layers = given.filter((flag) => !isChoice(flag));
  const layer = withPresets(choices.reduce((all, one) => layered(all, one.layer, []), {}));
  if (choices.length > 0) layers.unshift({ layer, source: chosen });
  const numbers = (['seed', 'workers'] as const).flatMap((key) => {
    const value = options[key];
    return value === undefined ? [] : [{ layer: { [key]: value }, source: `--${key} ${value}` }];
  });
  return [...layers, ...numbers];
}

async function identified(
  config: CommonConfig,
  { family, sections }: LoadedKind,
  folder: string,
  profile: string | undefined,
): Promise<AnyScenario> {
  sections.check?.(config);
  const hashes = await hashesOf(config, sections, folder);
  return Object.freeze({ family, config: frozen(config), ...hashes, folder, profile });
}

async function hashesOf(config: CommonConfig, sections: LoadedKind['sections'], folder: string) {
  const { seed: _seed, workers: _workers, ...rest } = config;
  const modules = (rest.plugins ?? []).map((name) => pluginFile(name, folder));
  const environment = (await sections.environmentFiles?.(config, folder)) ?? [];
  const all = [...environment, ...(sections.files?.(config, folder) ?? []), ...modules];
  const hash = hashOf(all, canonicalJson(sections.identity?.(rest) ?? rest));
  return environment.length === 0 ? { hash } : { hash, environment: hashOf(environment) };
}

function hashOf(files: readonly string[], text = ''): string {
  const hash = createHash('sha256').update(text);
  // What is no regular file is refused with its own error when it is opened.
  const regular = files.filter((file) => existsSync(file) && statSync(file).isFile());
  for (const file of regular) hash.update(readFileSync(file));
  return hash.digest('hex');
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

// Where scenarios lie: built-in ones by name in scenarios/ and packs/ of the package, others by path.

const FILE_NAME = 'scenario.yaml';

/** The file of each, by the name of its folder: a pack is one itself, or has several. */
function builtIn(): Map<string, string> {
  const packs = foldersOf(packsFolder());
  const folders = [...foldersOf(join(packageRoot(), 'scenarios')), ...packs, ...packs.flatMap(foldersOf)];
  const files = folders.map((folder) => join(folder, FILE_NAME)).filter((file) => existsSync(file));
  return new Map(files.map((file) => [basename(dirname(file)), file]));
}

function foldersOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/**
 * The scenario file that `reference` means: a file, a folder with a scenario.yaml, or the name of a built-in one.
 * A path wins over a name only if it is written as one (it has a slash or ends in .yaml).
 * @throws SCENARIO_NOT_FOUND
 */
export function scenarioFile(reference: string): string {
  const known = builtIn();
  const ours = known.get(reference);
  if (ours !== undefined) return ours;
  const path = resolve(reference);
  if (existsSync(path)) {
    const file = statSync(path).isDirectory() ? join(path, FILE_NAME) : path;
    if (existsSync(file)) return file;
  }
  throw reverieError('SCENARIO_NOT_FOUND', { path: reference, known: [...known.keys()].sort().join(', ') });
}

// Laying one configuration over another: profiles of a scenario file, and `--set path=value` flags.

export type ConfigObject = { [key: string]: unknown };

/** Keys that choose which other keys a section has, or what they are. */
const CHOOSERS = ['preset', 'algorithm', 'kind'];

/** `given` with what chooses other keys as it was `checked` to be: a layer above may choose otherwise. */
function withChoices(given: ConfigObject, checked: ConfigObject): ConfigObject {
  const out: ConfigObject = {};
  for (const key of CHOOSERS) if (typeof checked[key] === 'string') out[key] = checked[key];
  for (const [key, value] of Object.entries(given)) {
    const whole = checked[key];
    put(out, key, isConfigObject(value) && isConfigObject(whole) ? withChoices(value, whole) : value);
  }
  return out;
}

/** A layer with the published settings (scenarios/presets) below it that its sections name by `preset`. */
function withPresets(layer: ConfigObject): ConfigObject {
  return Object.entries(layer).reduce((out, [section, value]) => {
    const name = isConfigObject(value) ? value['preset'] : undefined;
    if (typeof name !== 'string' || !/^[a-z0-9-]+$/.test(name)) return out;
    const file = join(packageRoot(), 'scenarios', 'presets', section, `${name}.yaml`);
    // Which names a section knows, its schema says.
    return existsSync(file) ? layered({ ...readScenarioFile(file) }, out) : out;
  }, layer);
}

/**
 * `over` laid over `base`: objects key by key, everything else replaced whole. Where it chooses another algorithm or
 * kind, that section starts anew, as the old one's keys mean nothing to it. Neither argument is changed.
 */
export function layered(base: ConfigObject, over: ConfigObject, choosers = CHOOSERS): ConfigObject {
  const chooses = (key: string) =>
    Object.hasOwn(over, key) && (key === 'preset' || Object.hasOwn(base, key)) && over[key] !== base[key];
  if (choosers.some(chooses)) return over;
  const out: ConfigObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = out[key];
    put(out, key, isConfigObject(value) && isConfigObject(below) ? layered(below, value, choosers) : value);
  }
  return out;
}

/**
 * One `--set` flag, such as `rl.gamma=0.98` or `rollout.horizon=[1000, 5000, 1, 15]`, as a partial configuration.
 * The value is YAML, so numbers, booleans, null, quoted strings and flow arrays are what they look like.
 * @throws FLAG_INVALID when it is not `path=value` or the value is not YAML
 */
export function parseOverride(flag: string): ConfigObject {
  const refuse = (expected: string) => reverieError('FLAG_INVALID', { flag: '--set', value: flag, expected });
  const at = flag.indexOf('=');
  const path = flag.slice(0, Math.max(0, at)).trim().split('.');
  if (path.some((key) => key === '')) throw refuse('path=value, such as rl.gamma=0.98');
  const document = parseDocument(flag.slice(at + 1), { schema: 'core' });
  if (document.errors.length > 0) throw refuse('a YAML value after the equals sign');
  return path.reduceRight<unknown>((value, key) => put({}, key, value), document.toJS()) as ConfigObject;
}

export function isConfigObject(value: unknown): value is ConfigObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Plain assignment would let a key called `__proto__` change the prototype instead of being refused as unknown. */
function put(target: ConfigObject, key: string, value: unknown): ConfigObject {
  return Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
