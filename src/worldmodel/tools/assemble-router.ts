// A router from entries of backends and the section `model`, wherever the entries come from: the registry, or a page that has few of them.

import { describeIssues, reverieError } from '../../core/errors.js';
import type { BackendEntry, BackendParts, BackendSettings } from './backend-model.js';
import { requireBackends } from './require-backends.js';
import { type AskedBackend, Router } from './router.js';
import type { ToolsModelConfig } from './tools-model-schema.js';

/**
 * @param entries  in the order in which they are asked
 * @throws SCENARIO_UNFIT if none of them can be had, MODEL_BACKEND_UNAVAILABLE if one that is named cannot
 */
export async function assembleRouter(
  entries: readonly BackendEntry[],
  config: ToolsModelConfig,
  parts: BackendParts,
): Promise<Router> {
  const made = await Promise.all(entries.map((entry) => backendOf(entry, config, parts)));
  const backends = made.filter((backend) => typeof backend !== 'string');
  const absent = made.filter((backend) => typeof backend === 'string');
  const listed = entries.map((entry, i) => {
    const one = made[i];
    return { entry, settings: backendSettings(entry, config), ...(typeof one === 'string' ? { absent: one } : {}) };
  });
  requireBackends(listed, parts.domain);
  return new Router(parts.domain, config, backends, absent);
}

/** The backend as it is asked, or why there is none. */
async function backendOf(
  { name, schema, trust = 'proposal', minConfidence = 0, make }: BackendEntry,
  config: ToolsModelConfig,
  parts: BackendParts,
): Promise<AskedBackend | string> {
  const settings = backendSettings({ name, schema }, config);
  const model = await (await make())(parts, settings);
  if (typeof model === 'string') return model;
  return {
    name,
    model,
    trust: typeof trust === 'function' ? trust(settings) : trust,
    minConfidence: typeof minConfidence === 'function' ? minConfidence(settings) : minConfidence,
  };
}

/** Its section, or what that is where the scenario has none. @throws SETTING_INVALID where it must be told something */
export function backendSettings(
  { name, schema }: Pick<BackendEntry, 'name' | 'schema'>,
  config: ToolsModelConfig,
): BackendSettings {
  const given = (config as unknown as Record<string, BackendSettings | undefined>)[name];
  if (given !== undefined || schema === undefined) return given ?? {};
  const read = schema.safeParse({});
  if (read.success) return read.data as BackendSettings;
  const problem = `backend "${name}" needs a section "${name}": ${describeIssues(read.error)}`;
  throw reverieError('SETTING_INVALID', {
    problem: `Settings of the world model: ${problem}`,
    hint: 'See ensembleConfigSchema for every setting, its meaning and its default.',
  });
}
