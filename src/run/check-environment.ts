// `reverie check-env`: the environment checker, run on a scenario's environment.

import { checkEnvironment, type EnvironmentReport, makeEnvironment } from '../env/index.js';
import type { Scenario } from './scenario.js';

/** Tries every promise of the environment contract; throws only where the environment cannot be made at all. */
export function checkScenarioEnvironment({ config, folder }: Scenario): Promise<EnvironmentReport> {
  return checkEnvironment(() => makeEnvironment(config.env, { folder }), { seed: config.seed });
}
