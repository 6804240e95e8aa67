// `reverie induce SCENARIO --operators FILE`: operators from recorded episodes of a world whose states are facts about objects.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { reverieError } from '../core/errors.js';
import { writeFileAtomic } from '../core/files.js';
import { service } from '../core/services.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import { makeDomain } from '../env/tools/make-domain.js';
import { toolsScenario } from '../kinds/tools/kind.js';
import type { ExperienceStep } from '../replay/experience/experience.js';
import { readEpisodeLogs } from '../replay/experience/logs/read-episode-logs.js';
import { SCENARIO_FILE, savedScenario } from './run-folder.js';
import { loadToolsScenario } from './scenario.js';

type InduceRecorded = (
  steps: readonly ExperienceStep[],
  domain: ToolsDomain,
) => {
  readonly from: { readonly transitions: number; readonly accepted: number };
  readonly operators: readonly (Record<'preconditions' | 'effects' | 'wordings', readonly unknown[]> &
    Record<'accepted' | 'refused' | 'unexplained' | 'unexplainedChanges', number> & { readonly action: string })[];
  readonly refused: readonly { readonly action: string }[];
};

export interface InduceOperatorsOptions {
  /** Where they are written. */
  readonly operators: string;
  /** Files or folders of records; those of the run unless given. */
  readonly logs?: readonly string[];
  readonly tolerant?: boolean;
}

export interface InduceOperatorsResult {
  readonly file: string;
  readonly episodes: number;
  readonly transitions: number;
  readonly accepted: number;
  readonly operators: readonly OperatorLine[];
  /** Actions that were refused each time. */
  readonly refused: readonly string[];
}

/** An operator in a line. */
export interface OperatorLine {
  readonly action: string;
  readonly accepted: number;
  readonly refused: number;
  readonly preconditions: number;
  readonly effects: number;
  readonly wordings: number;
  /** Refusals that no precondition explains, and changes that no effect does. */
  readonly unexplained: number;
}

/**
 * @param reference  a run of collect, whose scenario is taken, or a scenario
 * @throws RUN_FOLDER_INVALID, SCENARIO_NOT_FOUND, SCENARIO_UNFIT, DOMAIN_UNFIT, LOG_INVALID, SCENARIO_UNFIT
 */
export async function induceScenarioOperators(
  reference: string,
  { operators, logs = [join(reference, 'logs')], tolerant }: InduceOperatorsOptions,
): Promise<InduceOperatorsResult> {
  const saved = existsSync(join(reference, SCENARIO_FILE)) ? await savedScenario(reference) : undefined;
  const { config, folder } = saved === undefined ? await loadToolsScenario(reference) : toolsScenario(saved);
  const domain = await makeDomain(config.domain, { folder });
  try {
    if (domain.rules?.scene === undefined)
      throw reverieError('DOMAIN_UNFIT', {
        problem: `The states of domain "${domain.id}" are no facts about objects, so operators cannot be found in its records.`,
        hint: 'Take a domain of PDDL games (text-games, alfworld). Rules of other domains: reverie induce FOLDER --logs RECORDS.',
      });
    const read = await Promise.all(logs.map((path) => readEpisodeLogs(path, { domain, tolerant })));
    const induceRecorded = await service<InduceRecorded>('induced-operators');
    const found = induceRecorded(
      read.flatMap(({ steps }) => steps),
      domain,
    );
    if (found.from.transitions === 0)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `The logs ${logs.join(', ')} hold no answered call of a tool of "${reference}".`,
        hint: 'Name logs of these tools: records with calls and their answers (docs/domains.md, "logs").',
      });
    const file = resolve(operators);
    await writeFileAtomic(file, `${JSON.stringify(found, null, 2)}\n`);
    return {
      file,
      episodes: read.reduce((sum, { episodes }) => sum + episodes.length, 0),
      transitions: found.from.transitions,
      accepted: found.from.accepted,
      operators: found.operators.map((one) => ({
        action: one.action,
        accepted: one.accepted,
        refused: one.refused,
        preconditions: one.preconditions.length,
        effects: one.effects.length,
        wordings: one.wordings.length,
        unexplained: one.unexplained + one.unexplainedChanges,
      })),
      refused: found.refused.map(({ action }) => action),
    };
  } finally {
    domain.close();
  }
}

/** What was found, for people. */
export async function operatorsText(result: InduceOperatorsResult): Promise<string> {
  const { terminalTable } = await import('./result-text.js');
  const columns = ['action', 'carried out', 'refused', 'needs', 'makes so', 'wordings', 'unexplained'];
  const rows = result.operators.map((one) => [
    one.action,
    ...[one.accepted, one.refused, one.preconditions, one.effects, one.wordings, one.unexplained].map(String),
  ]);
  const { refused, transitions, accepted, episodes, file } = result;
  return [
    `${result.operators.length} operators from ${transitions} calls in ${episodes} episodes, ${accepted} of them carried out.`,
    terminalTable({ columns, rows }, { alignment: 'text', columns: process.stdout.columns }),
    ...(refused.length === 0 ? [] : [`Refused each time: ${refused.join('; ')}.`]),
    `Written to ${file}. Next: model.backends: [operators], model.operators.file in a scenario of the same domain.`,
  ].join('\n');
}
