// What experience.ablation asks: calls out of real episodes of held-out tasks, as `reverie fidelity` draws them.

import {
  type CallQuery,
  type Responder,
  rulesResponder,
  ScriptedUser,
  type ToolsDomain,
  ToolsEpisodeEnvironment,
  type ToolsTask,
} from '../src/env/index.js';
import { drawQuestions, type ToolsQuestion } from '../src/fidelity/index.js';
import { liveEpisode, planRow, ReferenceAgent } from '../src/synth/index.js';
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

async function allCalls(domain: ToolsDomain, tasks: readonly ToolsTask[]): Promise<CallQuery[]> {
  const queries: CallQuery[] = [];
  for (const [row, task] of tasks.entries()) {
    for (const [agent, error] of AGENTS.entries()) {
      queries.push(...(await realCalls(domain, task, error, row * AGENTS.length + agent)));
    }
  }
  return queries;
}

/** The calls of one episode in the real environment. */
async function realCalls(domain: ToolsDomain, task: ToolsTask, error: number, row: number): Promise<CallQuery[]> {
  const queries: CallQuery[] = [];
  const real = rulesResponder(domain);
  const recording: Responder = {
    ...real,
    answer: (query) => {
      queries.push(query);
      return real.answer(query);
    },
  };
  const environment = new ToolsEpisodeEnvironment({
    id: domain.id,
    domain,
    responder: recording,
    user: new ScriptedUser(),
  });
  const plan = planRow(row, { seed: 0, groupSize: 1, branchAt: 0 });
  await liveEpisode(environment, new ReferenceAgent(error), task, plan, plainSettings(domain, 'real'));
  return queries;
}
