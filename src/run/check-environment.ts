// `reverie check-env`: the environment checker, run on a scenario's environment.

import { reverieError } from '../core/errors.js';
import { checkEnvironment, type EnvironmentReport } from '../env/check-environment.js';
import { makeEnvironment } from '../env/make-environment.js';
import { makeDomain } from '../env/tools/make-domain.js';
import { elsewhere, realResponder } from '../env/tools/real-environment.js';
import { ScriptedUser } from '../env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';
import { kinds } from '../kinds/registry.js';
import { viewOf } from '../kinds/views.js';
import { taskFaults } from '../synth/tasks/task-faults.js';
import { makeRouter } from '../worldmodel/tools/make-router.js';
import type { AnyScenario, Scenario, ToolsScenario } from './scenario.js';

export { describeReport as environmentReportText } from '../env/check-environment.js';

/** Tries every promise of the environment contract; throws only where the environment cannot be made at all. */
export async function checkScenarioEnvironment(scenario: AnyScenario): Promise<EnvironmentReport> {
  const { checkEnvironment: load } = kinds.get(scenario.family);
  if (load === undefined) {
    const able = kinds.list().filter((kind) => kind.checkEnvironment !== undefined);
    const wanted = able.map(({ name }) => name).join(' or ');
    throw reverieError('SCENARIO_UNFIT', {
      problem: `Scenario "${scenario.config.name}" is of family ${scenario.family}; this is for scenarios of family ${wanted}.`,
      hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
    });
  }
  const check = await load();
  return check(scenario as never) as Promise<EnvironmentReport>;
}

export function checkVectorEnvironment({ config, folder }: Scenario): Promise<EnvironmentReport> {
  return checkEnvironment(() => makeEnvironment(config.env, { folder }), { seed: config.seed });
}

/**
 * The real environment: the server it is on, or the domain's exact rules; where it has neither, what was accepted of rules from logs.
 * @throws TOOL_WITHOUT_RULE if it has neither
 */
export async function checkToolsEnvironment({ config, folder }: ToolsScenario): Promise<EnvironmentReport> {
  const domain = await makeDomain(config.domain, { folder });
  const isInduced = domain.rules === undefined && domain.induced?.rules.some(({ accepted }) => accepted) === true;
  const responder = isInduced
    ? await makeRouter({ ...config.model, backends: ['induced'] }, { domain })
    : realResponder(domain);
  const user = elsewhere(domain)?.user ?? new ScriptedUser();
  const make = () => new ToolsEpisodeEnvironment({ id: config.name, domain, responder, user });
  try {
    const report = await checkEnvironment(viewOf(domain, make), { seed: config.seed });
    const problems = (await taskFaults(domain)).map(({ task, problem }) => `task "${task}": ${problem}`);
    const passed = problems.length === 0;
    return {
      ...report,
      passed: report.passed && passed,
      checks: [...report.checks, { name: 'tasks', passed, problems }],
    };
  } finally {
    domain.close();
  }
}
