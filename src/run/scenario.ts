// Loads a scenario: reads the file, lays a profile and overrides over it, checks the result, freezes and identifies it.

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseDocument, stringify } from 'yaml';
import { canonicalJson } from '../core/canonical-json.js';
import { ReverieError, reverieError } from '../core/errors.js';
import { type ConfigObject, isConfigObject, layered, parseOverride } from './overrides.js';
import {
  type AnyConfig,
  checkMeaning,
  type Family,
  familyOf,
  identityOf,
  namedFiles,
  SCHEMAS,
} from './scenario-family.js';
import { builtInScenarios, scenarioFile } from './scenario-files.js';
import type { ScenarioConfig } from './scenario-schema.js';
import { checkAgainst } from './schema-check.js';
import type { ToolsScenarioConfig } from './tools-scenario-schema.js';

const MAX_FILE_BYTES = 1_000_000;

/** A scenario ready to run; plain JSON, saved with a run as it is. `config` is deeply frozen, with every default filled in. */
interface ScenarioOf<F extends Family, C> {
  readonly family: F;
  readonly config: C;
  /** SHA-256 (hex) of the canonical JSON of `config` without `seed` and `workers`, and of the files it names. */
  readonly hash: string;
  /** Folder that relative paths in `config` start from. */
  readonly folder: string;
  /** Profile that was applied. */
  readonly profile?: string;
}

/** One of vectors: learned dynamics, policies as networks. */
export type Scenario = ScenarioOf<'vector', ScenarioConfig>;
/** One of messages and tool calls. */
export type ToolsScenario = ScenarioOf<'tools', ToolsScenarioConfig>;
export type AnyScenario = Scenario | ToolsScenario;

export interface ScenarioOptions {
  readonly profile?: string;
  /** `path=value` overrides, applied in order after the profile. */
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly workers?: number;
}

/**
 * Loads a built-in scenario of vectors by name, or one by path of its file or folder.
 * @throws as `loadAnyScenario`, and SCENARIO_FAMILY for one of another family
 */
export function loadScenario(reference: string, options: ScenarioOptions = {}): Scenario {
  return ofFamily('vector', loadAnyScenario(reference, options));
}

/** As `loadScenario`, of messages and tool calls. */
export function loadToolsScenario(reference: string, options: ScenarioOptions = {}): ToolsScenario {
  return ofFamily('tools', loadAnyScenario(reference, options));
}

/** The scenario itself, if it is of that family. @throws SCENARIO_FAMILY */
export function ofFamily<F extends Family>(family: F, scenario: AnyScenario): Extract<AnyScenario, { family: F }> {
  if (scenario.family === family) return scenario as Extract<AnyScenario, { family: F }>;
  throw reverieError('SCENARIO_FAMILY', { name: scenario.config.name, family: scenario.family, wanted: family });
}

/**
 * Loads a scenario of any family.
 * @throws SCENARIO_NOT_FOUND, UNKNOWN_KEY, SCENARIO_INVALID, PROFILE_UNKNOWN, FLAG_INVALID, ENV_UNKNOWN
 */
export function loadAnyScenario(reference: string, options: ScenarioOptions = {}): AnyScenario {
  const file = scenarioFile(reference);
  const { profiles, ...base } = readScenarioFile(file);
  const raw = layered(base, profileLayer(profiles, options.profile, file));
  return identified(flagged(raw, options, file), dirname(file), options.profile);
}

/**
 * A saved scenario with overrides laid over it.
 * @throws PROFILE_UNKNOWN for any profile, as profiles are not saved, and as `loadScenario` does
 */
export function adjustScenario<S extends AnyScenario>(saved: S, options: ScenarioOptions): S {
  const source = `${saved.config.name} (saved)`;
  const raw = layered(saved.config, profileLayer({}, options.profile, source));
  const adjusted = identified(flagged(raw, options, source), saved.folder, saved.profile) as S;
  // Seed and workers are no part of what a scenario is, so it stays the one that was saved.
  return (options.set ?? []).length > 0 ? adjusted : (Object.freeze({ ...adjusted, hash: saved.hash }) as unknown as S);
}

/** Name, file and sentence of every built-in scenario. */
export function listScenarios(): { name: string; description: string; file: string }[] {
  return builtInScenarios().map((name) => {
    const { config } = loadAnyScenario(name);
    return { name, description: config.description, file: scenarioFile(name) };
  });
}

/** The effective configuration as YAML, ready to be a scenario file of its own. */
export function scenarioText({ config }: AnyScenario): string {
  // Aliases for repeated values would be harder to read than the values.
  return stringify(config, { aliasDuplicateObjects: false, lineWidth: 100 }).trimEnd();
}

/**
 * A scenario as it was saved with a run. Its hash is that of the file, so keys that came into being since do not make
 * it another one. @throws SCENARIO_CHANGED if the file, or a file it names, was changed since; SCENARIO_INVALID
 */
export function reviveScenario(saved: AnyScenario, source: string): AnyScenario {
  const family = familyOf(saved.config as unknown as ConfigObject, source);
  const config: AnyConfig = checkAgainst(SCHEMAS[family].scenario, saved.config, source);
  const hash = hashOf(saved.config, saved.folder);
  if (hash !== saved.hash) {
    throw reverieError('SCENARIO_CHANGED', { path: source, hash, recorded: saved.hash });
  }
  checkMeaning(config);
  return Object.freeze({
    family,
    config: frozen(config),
    hash,
    folder: saved.folder,
    profile: saved.profile,
  }) as AnyScenario;
}

function readScenarioFile(file: string): ConfigObject & { profiles: Record<string, ConfigObject> } {
  const bytes = statSync(file).size;
  if (bytes > MAX_FILE_BYTES) {
    throw reverieError('SCENARIO_INVALID', {
      path: file,
      problem: `it has ${bytes} bytes; at most ${MAX_FILE_BYTES} are read.`,
    });
  }
  const document = parseDocument(readFileSync(file, 'utf8'));
  if (document.errors.length > 0) {
    throw reverieError(
      'SCENARIO_INVALID',
      { path: file, problem: `it is not YAML: ${document.errors[0].message}` },
      document.errors[0],
    );
  }
  const data: unknown = document.toJS({ maxAliasCount: 100 });
  if (!isConfigObject(data))
    throw reverieError('SCENARIO_INVALID', { path: file, problem: 'it holds no mapping of keys to values.' });
  const schemas = SCHEMAS[familyOf(data, file)];
  const { profiles } = checkAgainst(schemas.file, data, file);
  const { profiles: _, ...base } = data;
  // Profiles are checked even when none is asked for: a typing error in one should not wait for its day.
  for (const [name, layer] of Object.entries(profiles)) {
    checkAgainst(schemas.scenario, layered(base, layer), `${file} (profile ${name})`);
  }
  return { ...base, profiles };
}

function profileLayer(profiles: Record<string, ConfigObject>, name: string | undefined, file: string): ConfigObject {
  if (name === undefined) return {};
  if (!Object.hasOwn(profiles, name)) {
    const known = Object.keys(profiles).join(', ');
    const hint =
      known === '' ? 'It has none; a saved scenario keeps none: name the scenario.' : `Its profiles: ${known}.`;
    throw reverieError('PROFILE_UNKNOWN', { profile: name, path: file, hint });
  }
  return profiles[name];
}

/** `raw` with all flags laid over it; an error names the flag that brought it. */
function flagged(raw: ConfigObject, options: ScenarioOptions, source: string): AnyConfig {
  const schema = SCHEMAS[familyOf(raw, source)].scenario;
  const config: AnyConfig = checkAgainst(schema, raw, source);
  const flags = flagLayers(options);
  if (flags.length === 0) return config;
  const whole = flags.reduce((layers, { layer }) => layered(layers, layer), raw);
  const all = flags.map((flag) => flag.source).join(' ');
  try {
    return checkAgainst(schema, whole, all);
  } catch (error) {
    // Keys may need each other, so flags are judged together; only then is the first with the same fault looked for.
    throw flags.map((_, last) => faultUpTo(raw, flags, last)).find((fault) => isSameFault(fault, error)) ?? error;
  }
}

type FlagLayer = ReturnType<typeof flagLayers>[number];

/** What is wrong with flags 0 to `last`, said of the last of them; undefined if nothing is. */
function faultUpTo(raw: ConfigObject, flags: readonly FlagLayer[], last: number): unknown {
  const layers = flags.slice(0, last + 1).reduce((below, { layer }) => layered(below, layer), raw);
  try {
    checkAgainst(SCHEMAS[familyOf(raw, flags[last].source)].scenario, layers, flags[last].source);
    return undefined;
  } catch (error) {
    return error;
  }
}

function isSameFault(a: unknown, b: unknown): boolean {
  if (!(a instanceof ReverieError && b instanceof ReverieError)) return false;
  return a.code === b.code && a.values.problem === b.values.problem && a.values.key === b.values.key;
}

function flagLayers(options: ScenarioOptions): { layer: ConfigObject; source: string }[] {
  const layers = (options.set ?? []).map((flag) => ({ layer: parseOverride(flag), source: `--set ${flag}` }));
  if (options.seed !== undefined) layers.push({ layer: { seed: options.seed }, source: `--seed ${options.seed}` });
  if (options.workers !== undefined)
    layers.push({ layer: { workers: options.workers }, source: `--workers ${options.workers}` });
  return layers;
}

function identified(config: AnyConfig, folder: string, profile: string | undefined): AnyScenario {
  checkMeaning(config);
  const family = familyOf(config as unknown as ConfigObject, config.name);
  return Object.freeze({
    family,
    config: frozen(config),
    hash: hashOf(config, folder),
    folder,
    profile,
  }) as AnyScenario;
}

function hashOf(config: AnyConfig, folder: string): string {
  const hash = createHash('sha256').update(canonicalJson(identityOf(config)));
  for (const asset of namedFiles(config, folder)) hash.update(readFileSync(asset));
  return hash.digest('hex');
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
