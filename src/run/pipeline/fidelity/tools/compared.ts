// The model of another scenario of the same domain, judged beside the scenario's own.

import { reverieError } from '../../../../errors.js';
import { loadAnyScenario, type ToolsScenario } from '../../../scenario.js';
import { makeParts, type ToolsParts } from '../../tools/parts.js';
import { type JudgedModel, ownModel } from './models.js';

export interface ComparedOptions {
  /** Where its records are kept. */
  readonly folder: string;
  /** Where replies of its language models are kept, unless it says so itself. */
  readonly cache: string;
  readonly log: (line: string) => void;
}

export interface ComparedModel extends JudgedModel {
  readonly scenario: ToolsScenario;
}

/**
 * @param given  file or folder of a scenario
 * @throws FIDELITY_SUBJECT_UNFIT where it is none of this domain, and what `loadAnyScenario` and `makeParts` throw
 */
export async function openCompared(
  given: string,
  { domain }: ToolsParts,
  { folder, cache, log }: ComparedOptions,
): Promise<ComparedModel> {
  const scenario = loadAnyScenario(given);
  const unfit = (problem: string) => reverieError('FIDELITY_SUBJECT_UNFIT', { given, problem });
  if (scenario.family !== 'tools') throw unfit(`it is a scenario of family ${scenario.family}, and not of tools`);
  const config = { ...scenario.config, cache: scenario.config.cache ?? cache };
  const own = { ...scenario, config };
  const parts = await makeParts({ scenario: own, out: folder, log });
  try {
    if (parts.domain.version !== domain.version)
      throw unfit(`its domain is "${parts.domain.id}", and not "${domain.id}" as it is here`);
    const model = await ownModel(own, parts, folder);
    return {
      ...model,
      scenario: own,
      close: async () => {
        await model.close();
        await parts.close();
      },
    };
  } catch (error) {
    await parts.close();
    throw error;
  }
}
