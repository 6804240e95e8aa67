// What of a job on worlds of tools a device can compute: the networks that backends answer by.

import { hasNetwork, routerDeviceFit } from '../worldmodel/tools/make-router.js';
import type { DeviceNeeds } from './device-choice.js';
import { ofTraining } from './pipeline/tools/parts.js';
import type { ToolsScenario } from './scenario.js';

/** Jobs that a device can be asked for; `server` is whoever serves the scenario. */
const JOBS = ['synth', 'train', 'server'];

/** Undefined where nothing that the job asks answers by a network. */
export function toolsDevice(job: string, scenario: ToolsScenario): DeviceNeeds | undefined {
  if (!JOBS.includes(job) || (job === 'train' && ['real', 'value'].includes(scenario.config.train.mode)))
    return undefined;
  const { config, folder } = job === 'train' ? ofTraining(scenario) : scenario;
  if (!hasNetwork(config.model)) return undefined;
  const dreams: DeviceNeeds['dreams'] = async (precision, kind) =>
    (await routerDeviceFit(config.model, { kind, precision }, folder)) ?? { precision };
  return { dreams, trains: false };
}
