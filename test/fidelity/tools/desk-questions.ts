// Questions of the service desk, drawn for all tests of a file, and what a question looks at of a model under judgement.

import type { Json } from '../../../src/core/canonical-json.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import type { Finding, Instrument } from '../../../src/fidelity/section.js';
import { AskedQuestions, type ToolsQuestion } from '../../../src/fidelity/tools/answers.js';
import type { ToolsJudged } from '../../../src/fidelity/tools/judged.js';
import { type ToolsTruth, truthOf } from '../../../src/fidelity/tools/truth.js';
import { loadToolsScenario } from '../../../src/run/scenario.js';

export async function deskQuestions(domain: ToolsDomain, count: number, seed = 0): Promise<readonly ToolsQuestion[]> {
  const set = [`fidelity.questions=${count}`, 'fidelity.episodes=1'];
  const scenario = await loadToolsScenario('helpdesk', { set });
  return (await truthOf({ scenario, domain, seed, answering: [] })).questions;
}

export function asked(responder: Responder, questions: readonly ToolsQuestion[], seed = 0): AskedQuestions {
  return new AskedQuestions({ responder, questions, seed });
}

interface Parts extends Partial<Pick<ToolsJudged, 'asked' | 'carry' | 'simulated'>> {
  readonly repeats?: number;
  readonly sequences?: ToolsTruth['sequences'];
  readonly truthBackend?: string;
}

export function judgedOf({ repeats = 1, sequences = [], truthBackend, ...parts }: Parts): ToolsJudged {
  const setup = { scenario: { config: { fidelity: { repeats } } } };
  const notes = { steps: [], reward: [] };
  return {
    ground: { setup, truth: { sequences, truthBackend, notes: [] } },
    notes,
    ...parts,
  } as unknown as ToolsJudged;
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
