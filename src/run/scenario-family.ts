// The families of scenarios: what a file of each may say, what of it is checked beyond its schema, and which files it names.

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { reverieError } from '../core/errors.js';
import { checkEnvSpec, domainFiles } from '../env/index.js';
import { episodeLogFiles } from '../replay/index.js';
import type { ConfigObject } from './overrides.js';
import { type ScenarioConfig, scenarioFileSchema, scenarioSchema } from './scenario-schema.js';
import { type ToolsScenarioConfig, toolsScenarioFileSchema, toolsScenarioSchema } from './tools-scenario-schema.js';

export type Family = 'vector' | 'tools';
export type AnyConfig = ScenarioConfig | ToolsScenarioConfig;

export const SCHEMAS = {
  vector: { scenario: scenarioSchema, file: scenarioFileSchema },
  tools: { scenario: toolsScenarioSchema, file: toolsScenarioFileSchema },
} as const;

/** The family a configuration says it is of; `vector` if it says nothing. @throws SCENARIO_INVALID */
export function familyOf({ family = 'vector' }: ConfigObject, source: string): Family {
  if (family === 'vector' || family === 'tools') return family;
  const problem = `"family" is ${JSON.stringify(family)}; expected one of ${Object.keys(SCHEMAS).join(', ')}.`;
  throw reverieError('SCENARIO_INVALID', { path: source, problem });
}

export function isTools(config: AnyConfig): config is ToolsScenarioConfig {
  return config.family === 'tools';
}

/** What no schema can see. @throws ENV_UNKNOWN, ENV_SPEC_INVALID */
export function checkMeaning(config: AnyConfig): void {
  if (!isTools(config)) checkEnvSpec(config.env);
}

/**
 * What of a configuration makes it this scenario: all that decides results. Which model answers, from where and at what
 * price, is told by the versions recorded with everything it answers, so that a run can be repeated from its cache.
 */
export function identityOf(config: AnyConfig): object {
  const { seed: _seed, workers: _workers, ...identity } = config;
  if (!isTools(config)) return identity;
  const { budget: _budget, export: _export, ...synth } = config.synth;
  const { llm: _llm, roles: _roles, cache: _cache, ...rest } = identity as Partial<ToolsScenarioConfig>;
  return { ...rest, synth };
}

/** Files beside the scenario that decide what it means, as far as they are there. */
export function namedFiles(config: AnyConfig, folder: string): string[] {
  const files = isTools(config)
    ? [...domainFiles(config.domain, folder), ...episodeLogFiles(config.experience, folder)]
    : vectorFiles(config, folder);
  // What is no regular file is refused with its own words by whoever opens it.
  return files.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}

function vectorFiles({ env, model }: ScenarioConfig, folder: string): string[] {
  const mjcf = (env as { mjcf?: unknown }).mjcf;
  const files = typeof mjcf === 'string' ? [resolve(folder, mjcf)] : [];
  if (model.kind === 'onnx') files.push(join(resolve(folder, String(model.folder)), 'manifest.json'));
  return files;
}
