// Questions of the service desk, drawn once for all tests of a file: calls of its tasks' solutions and of imperfect variants.

import type { Json } from '../../../src/core/canonical-json.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import type { Finding, Instrument } from '../../../src/fidelity/measure.js';
import { AskedQuestions } from '../../../src/fidelity/tools/answers.js';
import type { ToolsJudged } from '../../../src/fidelity/tools/judged.js';
import {
  drawQuestions,
  type RealCall,
  recordingRules,
  type ToolsQuestion,
} from '../../../src/fidelity/tools/question.js';
import type { ToolsTruth } from '../../../src/fidelity/tools/recorded-truth.js';
import { ReferenceAgent } from '../../../src/synth/episodes/agents/baseline-agents.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';

export async function deskQuestions(domain: ToolsDomain, count: number, seed = 0): Promise<ToolsQuestion[]> {
  return drawQuestions(domain, (round) => callsOf(domain, round), { count, seed });
}

async function callsOf(domain: ToolsDomain, round: number): Promise<RealCall[]> {
  const calls: RealCall[] = [];
  const responder = recordingRules(domain, calls);
  const agents = [new ReferenceAgent(0), new ReferenceAgent(0.3), new ReferenceAgent(0.5)];
  for (const [row, task] of domain.tasks.entries()) {
    const environment = new ToolsEpisodeEnvironment({ id: domain.id, domain, responder, user: new ScriptedUser() });
    const plan = planRow(row + 1000 * round, { seed: 0, groupSize: 1, branchAt: 0 });
    const agent = agents[(row + round) % agents.length];
    await runEpisode(environment, agent, task, plan, {
      scenario: domain.id,
      scenarioHash: domain.version,
      seed: 0,
      source: 'real',
      responderVersion: 'real',
      userVersion: 'scripted',
      maxSteps: 30,
      weigh: () => 1,
    });
  }
  return calls;
}

export function asked(responder: Responder, questions: readonly ToolsQuestion[], seed = 0): AskedQuestions {
  return new AskedQuestions({ responder, questions, seed });
}

interface Parts extends Partial<Pick<ToolsJudged, 'asked' | 'carry' | 'lived'>> {
  readonly repeats?: number;
  readonly sequences?: ToolsTruth['sequences'];
  readonly truthBackend?: string;
}

/** What a question looks at of a model under judgement. */
export function judgedOf({ repeats = 1, sequences = [], truthBackend, ...parts }: Parts): ToolsJudged {
  const setup = { scenario: { config: { fidelity: { repeats } } } };
  const notes = { steps: [], reward: [], said: [] };
  return { ground: { setup, truth: { sequences, truthBackend } }, notes, ...parts } as unknown as ToolsJudged;
}

/** Measures all chunks, takes the rows through JSON as a run's folder does, and concludes. */
export async function findingOf<Row extends Json>(instrument: Instrument<Row>): Promise<Finding> {
  const rows: Row[] = [];
  for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
  return instrument.conclude(JSON.parse(JSON.stringify(rows)) as Row[]);
}

export function metricOf({ section }: Finding, key: string) {
  const metric = section.metrics.find((one) => one.key === key);
  if (metric === undefined) throw new Error(`${section.id} has no metric ${key}`);
  return metric.estimate;
}
