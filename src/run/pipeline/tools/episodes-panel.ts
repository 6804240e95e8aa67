// The panels of figures about worlds of tools: what decides which episodes are lived, and by whom; who was trained or fitted, and who
// audited.

import { contentHash, type Json } from '../../../core/canonical-json.js';
import { type Panel, panelOf } from '../../../core/evaluation-set.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
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

/** Of a training of text: judged on `tasks` where `answers` answers; who learns, and in what, is told by digests. */
export function trainingPanel(
  { scenario, seed }: Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>,
  { domain, user, responder }: Pick<ToolsParts, 'domain' | 'user' | 'responder'>,
  tasks: readonly ToolsTask[],
  answers: string,
): Panel {
  const { rl, train } = scenario.config;
  const { evalEvery, evalChoice, evalSplits, evalTasks, checkpointSeconds: _, ...how } = train;
  // One that is made of records is told by how they are gathered.
  const isGiven = train.mode !== 'real' && train.gather === undefined;
  const learner = `${rl.algorithm}@${contentHash({ rl, how }).slice(0, 12)}`;
  const dream: Record<string, string> = isGiven ? { dream: responder.version } : {};
  return panelOf({
    environment: domain.version,
    tasks: tasks.map(({ id }) => id),
    seeds: [seed],
    policies: { learner, ...dream, user: user.version, answers },
    settings: { evalEvery, evalChoice, evalSplits, evalTasks, maxSteps: scenario.config.synth.maxSteps },
  });
}

/** Of a fit of a backend: what learns and what from; it is judged on tasks held out of the same records. */
export function backendFitPanel(
  { seed }: Pick<JobContext<ToolsScenario>, 'seed'>,
  domain: ToolsDomain,
  { learner, data }: Readonly<Record<'learner' | 'data', string>>,
): Panel {
  return panelOf({
    environment: domain.version,
    tasks: [],
    seeds: [seed],
    policies: { learner, data },
    settings: {},
  });
}

/** Of an audit: whoever answers and whoever judges are what is audited. */
export function auditPanel(
  { scenario, seed }: Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>,
  { domain, responder }: Pick<ToolsParts, 'domain' | 'responder'>,
  tasks: readonly ToolsTask[],
  judge: string | undefined,
): Panel {
  const { mustFail, mustSucceed, judge: judged, hacker } = scenario.config.reward;
  return panelOf({
    environment: domain.version,
    tasks: tasks.map(({ id }) => id),
    seeds: [seed],
    policies: { answers: responder.version, ...(judge && { judge }) },
    settings: { mustFail, mustSucceed, hacker, judge: judged?.audit ?? null } as unknown as Json,
  });
}
