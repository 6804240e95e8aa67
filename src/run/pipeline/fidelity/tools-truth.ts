// What dreams of tools are held against: calls answered by the domain's exact rules, or recorded episodes.

import type { ToolsDomain } from '../../../env/index.js';
import { reverieError } from '../../../errors.js';
import { drawQuestions, type ToolsQuestion, type TruthReport } from '../../../fidelity/index.js';
import type { ToolsScenario } from '../../scenario.js';
import { realEpisodes } from './tools-episodes.js';

export interface ToolsTruth {
  readonly report: TruthReport;
  readonly questions: readonly ToolsQuestion[];
  /** What cannot be compared, and why. */
  readonly notes: readonly string[];
}

/** @throws SCENARIO_INVALID where there is nothing to hold a dream against */
export async function toolsTruth(scenario: ToolsScenario, domain: ToolsDomain, seed: number): Promise<ToolsTruth> {
  return truthOfRules(scenario, domain, seed);
}

async function truthOfRules(scenario: ToolsScenario, domain: ToolsDomain, seed: number): Promise<ToolsTruth> {
  const { config } = scenario;
  const { rules } = domain;
  if (rules === undefined) {
    const problem =
      '"fidelity.truth" is "rules", but the domain has none. Give recorded episodes: fidelity.truth=recorded.';
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  let episodes = 0;
  const callsOf = async (round: number) => {
    const lived = await realEpisodes({ scenario, domain, seed }, round);
    episodes += lived.length;
    return lived.flatMap(({ queries }) => queries);
  };
  const questions = await drawQuestions(domain, callsOf, { count: config.fidelity.questions, seed });
  const unknown = domain.tools.filter(({ name }) => !rules.tools.has(name)).map(({ name }) => name);
  return {
    questions,
    report: {
      kind: 'environment',
      description: `${domain.id}: calls of agents that err, answered by the domain's exact rules`,
      version: domain.version,
      transitions: questions.length,
      episodes,
    },
    notes: [
      ...fewer(questions.length, config.fidelity.questions),
      ...(unknown.length === 0 ? [] : [`Not asked, as no rules know what they truly do: ${unknown.join(', ')}.`]),
    ],
  };
}

function fewer(found: number, wanted: number): string[] {
  return found < wanted ? [`There are ${found} different calls to ask about, not the ${wanted} that were wanted.`] : [];
}
