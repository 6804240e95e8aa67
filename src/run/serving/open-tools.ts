// From a scenario of tools to what can be served of it; it is served as the kind as which its domain is lived.

import { join } from 'node:path';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { kindOfDomain } from '../../kinds/views.js';
import { routerBackends } from '../../worldmodel/tools/backends.js';
import type { RunDevice } from '../device.js';
import { makeParts } from '../pipeline/tools/parts.js';
import type { ToolsScenario } from '../scenario.js';
import type { ServableOptions } from './open-servable.js';
import type { Servable, TaskCard } from './servable.js';
import { episodeMaker, modelAnswers, toolsBlueprint, versionOf } from './tools-blueprint.js';

export async function openTools(scenario: ToolsScenario, options: ServableOptions): Promise<Servable> {
  const { config } = scenario;
  const { real = false, folder, log } = options;
  const device = real ? undefined : await servedOn(scenario, options);
  const parts = await makeParts({ scenario, out: join(folder, config.name), log, real, device });
  const { domain, cast } = parts;
  const opened = { scenario, world: parts, real, device };
  const make = episodeMaker(opened);
  const { observationSpace, actionSpace } = make();
  return {
    name: config.name,
    family: kindOfDomain(domain).name as Servable['family'],
    description: config.description,
    source: real || isReal(config.model.backends, domain) ? 'real' : 'dream',
    version: versionOf(opened),
    tools: domain.tools,
    policy: domain.policy,
    tasks: domain.tasks.map(cardOf),
    domain,
    observationSpace,
    actionSpace,
    maxEpisodeSteps: config.synth.maxSteps,
    blueprint: await toolsBlueprint(opened, cast),
    make: async () => make(),
    answer: modelAnswers(cast),
    close: () => parts.close(),
  };
}

/** What networks of the dream are computed on; what is never asked for is the processor's. */
async function servedOn(
  scenario: ToolsScenario,
  { device = {}, log }: ServableOptions,
): Promise<RunDevice | undefined> {
  const [{ settleDevice }, { toolsDevice }] = await Promise.all([
    import('../device-choice.js'),
    import('../tools-device.js'),
  ]);
  if (toolsDevice('server', scenario) === undefined) {
    const wanted = device.device ?? 'auto';
    if (wanted !== 'auto' && wanted !== 'cpu')
      log(`${scenario.config.name}: nothing in it that ${wanted} could compute.`);
    return undefined;
  }
  const settled = await settleDevice(device, 'server', scenario, {});
  if (settled.remark !== undefined) log(settled.remark);
  return settled.device;
}

/** The first to be asked knows everything: nobody else ever answers. */
function isReal([first]: readonly string[], domain: ToolsDomain): boolean {
  return routerBackends.get(first).isReal?.(domain) === true;
}

function cardOf({ id, split = 'train', family, tags }: ToolsTask): TaskCard {
  return { id, split, family, ...(tags === undefined ? {} : { tags }) };
}
