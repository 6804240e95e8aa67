// What experience.ablation asks: calls out of real episodes of held-out tasks, as `reverie fidelity` draws them.

import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import { ScriptedUser } from '../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../src/env/tools/tools-environment.js';
import { drawQuestions, type RealCall, recordingRules, type ToolsQuestion } from '../src/fidelity/tools/question.js';
import { ReferenceAgent } from '../src/synth/episodes/agents/reference-agent.js';
import { planRow, runEpisode } from '../src/synth/episodes/run-episode.js';
import { plainSettings } from './experience-ablation-settings.js';

/** Of the agents whose episodes are taken: share of wrong calls. Each errs in its own way. */
const AGENTS = [0, 0.3, 0.3, 0.5, 0.5];

/** At most `count` different calls of the tasks' solutions and of imperfect variants of them, drawn by seed. */
export function ablationQuestions(
  domain: ToolsDomain,
  tasks: readonly ToolsTask[],
  count: number,
): Promise<ToolsQuestion[]> {
  // All episodes are one round: every task counts alike, however few questions are wanted.
  const callsOf = async (round: number) => (round === 0 ? allCalls(domain, tasks) : []);
  return drawQuestions(domain, callsOf, { count, seed: 0 });
}

async function allCalls(domain: ToolsDomain, tasks: readonly ToolsTask[]): Promise<RealCall[]> {
  const calls: RealCall[] = [];
  for (const [row, task] of tasks.entries()) {
    for (const [agent, error] of AGENTS.entries()) {
      calls.push(...(await realCalls(domain, task, error, row * AGENTS.length + agent)));
    }
  }
  return calls;
}

/** The calls of one episode in the real environment. */
async function realCalls(domain: ToolsDomain, task: ToolsTask, error: number, row: number): Promise<RealCall[]> {
  const calls: RealCall[] = [];
  const environment = new ToolsEpisodeEnvironment({
    id: domain.id,
    domain,
    responder: recordingRules(domain, calls),
    user: new ScriptedUser(),
  });
  const plan = planRow(row, { seed: 0, groupSize: 1, branchAt: 0 });
  await runEpisode(environment, new ReferenceAgent(error), task, plan, plainSettings(domain, 'real'));
  return calls;
}
