// The panel of episodes of tools: what decides which episodes are lived, and by whom.

import { type Panel, panelOf } from '../../../core/panel.js';
import type { ToolsTask } from '../../../env/index.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ToolsParts } from './parts.js';

/** @param answers  version of who answers calls */
export function episodesPanel(
  { scenario, seed }: Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>,
  { domain, agent, user }: Pick<ToolsParts, 'domain' | 'agent' | 'user'>,
  tasks: readonly ToolsTask[],
  answers: string,
): Panel {
  const { synth } = scenario.config;
  const { episodes, groupSize, branchAt, maxSteps, pick, mode } = synth;
  const { maxTurns } = scenario.config.user;
  return panelOf({
    environment: domain.version,
    tasks: tasks.map(({ id }) => id),
    seeds: [seed],
    policies: { agent: agent.version, user: user.version, answers },
    settings: { episodes, groupSize, branchAt, maxSteps, pick, mode, maxTurns },
  });
}
