// The domain's exact rules as truth: calls of agents that err in real episodes, as many as are wanted.

import type { ToolsDomain } from '../../../../env/index.js';
import { reverieError } from '../../../../errors.js';
import { carryOutForReal, drawQuestions, shuffled, type TrueSequence } from '../../../../fidelity/index.js';
import type { EpisodeRecord } from '../../../../replay/index.js';
import { Rng } from '../../../../rng.js';
import type { ToolsScenario } from '../../../scenario.js';
import { realEpisodes } from './episodes.js';
import { fewer, LEAST_CALLS, type ToolsTruth } from './truth.js';

/** @throws SCENARIO_INVALID where the domain has no rules */
export async function rulesTruth(scenario: ToolsScenario, domain: ToolsDomain, seed: number): Promise<ToolsTruth> {
  const { config } = scenario;
  const { rules } = domain;
  if (rules === undefined) {
    const problem =
      '"fidelity.truth" is "rules", but the domain has none. Give recorded episodes: fidelity.truth=recorded.';
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const records: EpisodeRecord[] = [];
  const callsOf = async (round: number) => {
    const lived = await realEpisodes({ scenario, domain, seed }, round);
    records.push(...lived.map(({ record }) => record));
    return lived.flatMap(({ queries }) => queries);
  };
  const questions = await drawQuestions(domain, callsOf, { count: config.fidelity.questions, seed });
  const sequences = await sequencesOf(domain, records, config.fidelity.episodes, seed);
  return {
    questions,
    sequences,
    report: {
      kind: 'environment',
      description: `${domain.id}: calls of agents that err, answered by the domain's exact rules`,
      version: domain.version,
      transitions: questions.length,
      episodes: records.length,
    },
    notes: [...fewer(questions.length, config.fidelity.questions), ...unknownTools(domain)],
  };
}

async function sequencesOf(domain: ToolsDomain, records: readonly EpisodeRecord[], count: number, seed: number) {
  const sequences: TrueSequence[] = [];
  for (const { id, task: name, messages } of shuffled(records, Rng.fromSeed(seed).split('sequences'))) {
    if (sequences.length === count) break;
    const task = domain.tasks.find((each) => each.id === name)!;
    const { steps, isWhole } = await carryOutForReal(domain, task, messages);
    if (!isWhole || steps.length < LEAST_CALLS) continue;
    const known = steps.map(({ prediction: { observation, isError }, state }) => ({ observation, isError, state }));
    sequences.push({ id, task, messages, steps: known });
  }
  return sequences;
}

function unknownTools({ tools, rules }: ToolsDomain): string[] {
  const unknown = tools.filter(({ name }) => !rules!.tools.has(name)).map(({ name }) => name);
  return unknown.length === 0 ? [] : [`Not asked, as no rules know what they truly do: ${unknown.join(', ')}.`];
}
