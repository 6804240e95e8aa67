// The door for servers: what of a scenario can be served. The rest of the room (jobs, reports, queues) is not loaded with it.

export type { DeviceFlags } from '../device-flags.js';
export type { AnyScenario } from '../scenario.js';
export { versions } from '../versions.js';
export { type Blueprint, type EnvironmentMaker, environmentMaker, type MakerThread, runsRules } from './blueprint.js';
export { openServable, type ServableOptions } from './open-servable.js';
export type { Servable, TaskCard } from './servable.js';
