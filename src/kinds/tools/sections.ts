// What of a scenario of tools counts, and the files it names.

import type { ScenarioSections } from '../../core/kind.js';
import { domainFiles } from '../../env/index.js';
import { episodeLogFiles } from '../../replay/index.js';
import { type ToolsScenarioConfig, toolsScenarioFileSchema, toolsScenarioSchema } from './scenario.js';

export const toolsSections: ScenarioSections<ToolsScenarioConfig> = {
  schema: toolsScenarioSchema,
  fileSchema: toolsScenarioFileSchema,
  identity,
  files: (config, folder) => [...domainFiles(config.domain, folder), ...episodeLogFiles(config.experience, folder)],
};

/**
 * Which model answers, from where and at what price, is told by the versions recorded with everything it answers, so that a
 * run can be repeated from its cache.
 */
function identity(config: Omit<ToolsScenarioConfig, 'seed' | 'workers'>): object {
  const { llm: _llm, roles: _roles, cache: _cache, ...rest } = config;
  const { budget: _budget, export: _export, ...synth } = config.synth;
  return { ...rest, synth };
}
