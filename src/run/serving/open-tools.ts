// From a scenario of tools to what can be served of it; a domain of one tool that takes a line is served as text.

import { join } from 'node:path';
import { rulesResponder, type ToolsDomain, type ToolsTask, textEnvironment } from '../../env/index.js';
import { makeEpisodeEnvironment, makeParts } from '../pipeline/tools/parts.js';
import type { ToolsScenario } from '../scenario.js';
import type { ServableOptions } from './open-servable.js';
import type { Servable, TaskCard } from './servable.js';

export async function openTools(scenario: ToolsScenario, options: ServableOptions): Promise<Servable> {
  const { config, hash } = scenario;
  const { real = false, folder, log } = options;
  const parts = await makeParts({ scenario, out: join(folder, config.name), log });
  const { domain, user } = parts;
  const responder = real ? rulesResponder(domain) : parts.responder;
  const isText = domain.tools.length === 1 && domain.tools[0].name === 'act';
  const makeTools = () => makeEpisodeEnvironment({ domain, user }, responder, config);
  const make = () => (isText ? textEnvironment(makeTools()) : makeTools());
  const { observationSpace, actionSpace } = make();
  return {
    name: config.name,
    family: isText ? 'text' : 'tools',
    description: config.description,
    source: real || isExact(config.model.backends, domain) ? 'real' : 'dream',
    version: [hash, domain.version, responder.version, user.version].join(':'),
    tools: domain.tools,
    policy: domain.policy,
    tasks: domain.tasks.map(cardOf),
    domain,
    observationSpace,
    actionSpace,
    maxEpisodeSteps: config.synth.maxSteps,
    make: async () => make(),
    close: () => parts.close(),
  };
}

/** The first to be asked knows everything: nobody else ever answers. */
function isExact([first]: readonly string[], { rules, tools }: ToolsDomain): boolean {
  return (first === 'rules' || first === 'real') && tools.every(({ name }) => rules?.tools.has(name));
}

function cardOf({ id, split = 'train', family, tags }: ToolsTask): TaskCard {
  return { id, split, family, ...(tags === undefined ? {} : { tags }) };
}
