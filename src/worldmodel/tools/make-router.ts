// From a scenario's section `model` to the router it describes.

import { describeIssues, reverieError } from '../../core/errors.js';
import { threadPlugins } from '../../core/plugins.js';
import type { DeviceFit, DeviceTarget } from '../../nn/index.js';
import type { BackendEntry, BackendParts, BackendSettings } from './backend-model.js';
import { routerBackends } from './backends.js';
import { type AskedBackend, Router } from './router.js';
import type { ToolsModelConfig } from './tools-model-schema.js';

/** What backends are made from; a configured backend whose part is missing is left out, and every answer says so. */
export type RouterParts = BackendParts;

/** @throws MODEL_BACKENDS_MISSING if none of the configured backends can be had; NOT_REGISTERED for one that there is not */
export async function makeRouter(config: ToolsModelConfig, parts: RouterParts): Promise<Router> {
  await threadPlugins();
  const entries = config.backends.map((name) => routerBackends.get(name));
  const made = await Promise.all(entries.map((entry) => backendOf(entry, config, parts)));
  const backends = made.filter((backend) => typeof backend !== 'string');
  const absent = made.filter((backend) => typeof backend === 'string');
  if (backends.length === 0)
    throw reverieError('MODEL_BACKENDS_MISSING', { domain: parts.domain.id, reasons: absent.join('; ') });
  return new Router(parts.domain, config, backends, absent);
}

/** The backend as it is asked, or why there is none. */
async function backendOf(
  { name, schema, trust = 'proposal', minConfidence = 0, make }: BackendEntry,
  config: ToolsModelConfig,
  parts: RouterParts,
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

/** Whether and how `target` computes the networks that the listed backends answer by; undefined where none of them has one. */
export async function routerDeviceFit(
  config: ToolsModelConfig,
  target: DeviceTarget,
  folder: string,
): Promise<DeviceFit | undefined> {
  let fit: DeviceFit | undefined;
  for (const entry of config.backends.map((name) => routerBackends.get(name))) {
    if (entry.deviceFit === undefined || fit?.problem !== undefined) continue;
    fit = await (await entry.deviceFit())(backendSettings(entry, config), target, folder);
  }
  return fit;
}

/** Whether any of the listed backends answers by a network that a device could compute. */
export function hasNetwork(config: ToolsModelConfig): boolean {
  return config.backends.some((name) => routerBackends.get(name).deviceFit !== undefined);
}

/** Files that the sections of the listed backends name, relative to the scenario. */
export function backendFiles(config: ToolsModelConfig): string[] {
  return config.backends.flatMap((name) => {
    const entry = routerBackends.get(name);
    return entry.files === undefined ? [] : entry.files(backendSettings(entry, config));
  });
}

/** Its section, or what that is where the scenario has none. @throws MODEL_CONFIG_INVALID where it must be told something */
export function backendSettings(
  { name, schema }: Pick<BackendEntry, 'name' | 'schema'>,
  config: ToolsModelConfig,
): BackendSettings {
  const given = (config as unknown as Record<string, BackendSettings | undefined>)[name];
  if (given !== undefined || schema === undefined) return given ?? {};
  const read = schema.safeParse({});
  if (read.success) return read.data as BackendSettings;
  const problem = `backend "${name}" needs a section "${name}": ${describeIssues(read.error)}`;
  throw reverieError('MODEL_CONFIG_INVALID', { problem });
}
