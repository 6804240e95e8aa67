// `reverie check-env`: the environment checker, run on a scenario's environment.

import {
  checkEnvironment,
  type EnvironmentReport,
  makeDomain,
  makeEnvironment,
  rulesResponder,
  ScriptedUser,
  type ToolsDomain,
  ToolsEpisodeEnvironment,
  textEnvironment,
} from '../env/index.js';

export { describeReport as environmentReportText } from '../env/index.js';

import type { AnyScenario, ToolsScenario } from './scenario.js';

/** Tries every promise of the environment contract; throws only where the environment cannot be made at all. */
export function checkScenarioEnvironment(scenario: AnyScenario): Promise<EnvironmentReport> {
  if (scenario.family === 'tools') return checkToolsEnvironment(scenario);
  const { config, folder } = scenario;
  return checkEnvironment(() => makeEnvironment(config.env, { folder }), { seed: config.seed });
}

/** The real environment: the domain's exact rules. @throws TOOL_WITHOUT_RULE if it has none */
async function checkToolsEnvironment({ config, folder }: ToolsScenario): Promise<EnvironmentReport> {
  const domain = await makeDomain(config.domain, { folder });
  const responder = rulesResponder(domain);
  const user = new ScriptedUser();
  const make = () => new ToolsEpisodeEnvironment({ id: config.name, domain, responder, user });
  try {
    return await checkEnvironment(isText(domain) ? () => textEnvironment(make()) : make, { seed: config.seed });
  } finally {
    domain.close();
  }
}

/** A domain of one tool that takes a line of text is played as text. */
function isText({ tools }: ToolsDomain): boolean {
  return tools.length === 1 && tools[0].name === 'act';
}
