// From a scenario's section `model` to the router it describes.

import { threadPlugins } from '../../core/plugins.js';
import type { DeviceTarget } from '../../nn/cuda.js';
import type { DeviceFit } from '../../nn/cuda-addon.js';
import { assembleRouter, backendSettings } from './assemble-router.js';
import type { BackendParts } from './backend-model.js';
import { routerBackends } from './backends.js';
import type { Router } from './router.js';
import type { ToolsModelConfig } from './tools-model-schema.js';

/** What backends are made from; a configured backend whose part is missing is left out, and every answer says so. */
export type RouterParts = BackendParts;

/** @throws SCENARIO_UNFIT if none of the configured backends can be had; NAME_UNKNOWN for one that there is not */
export async function makeRouter(config: ToolsModelConfig, parts: RouterParts): Promise<Router> {
  await threadPlugins();
  const entries = config.backends.map((name) => routerBackends.get(name));
  return assembleRouter(entries, config, parts);
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
