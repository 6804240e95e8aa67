// What of a scenario of tools counts, and the files it names.

import { resolve } from 'node:path';
import type { ScenarioSections } from '../../core/kind.js';
import { loadNamedDomains } from '../../env/tools/domain-spec.js';
import { domainFiles } from '../../env/tools/make-domain.js';
import { episodeLogFiles } from '../../replay/experience/logs/read-episode-logs.js';
import { backendFiles } from '../../worldmodel/tools/make-router.js';
import { type ToolsScenarioConfig, toolsScenarioSchemas } from './scenario.js';

/** As they are once the domains are loaded that the layers of a scenario name. */
export async function toolsSections(
  layers: readonly Readonly<Record<string, unknown>>[],
): Promise<ScenarioSections<ToolsScenarioConfig>> {
  await loadNamedDomains(layers.map(({ domain }) => domain));
  return {
    ...toolsScenarioSchemas(),
    identity,
    files: (config, folder) => [
      ...domainFiles(config.domain, folder),
      ...episodeLogFiles(config.experience, folder),
      ...episodeLogFiles({ logs: config.synth.wrap?.walks ?? [] }, folder),
      ...backendFiles(config.model).map((file) => resolve(folder, file)),
    ],
  };
}

/**
 * Which model answers, from where and at what price, is told by the versions recorded with everything it answers, so that a
 * run can be repeated from its cache. How a quickstart trains is told by the scenarios of its runs.
 */
function identity(config: Omit<ToolsScenarioConfig, 'seed' | 'workers'>): object {
  const { llm: _llm, roles: _roles, cache: _cache, quickstart: _quickstart, ...rest } = config;
  const { budget: _budget, export: _export, ...synth } = config.synth;
  return { ...rest, synth };
}
