// Whether a run can be spread over a queue at all; asked before anything is made.

import { reverieError } from '../../errors.js';
import { parseQueueUrl } from '../../synth/index.js';
import { type AnyScenario, ofFamily } from '../scenario.js';
import type { ToolsScenarioConfig } from '../tools-scenario-schema.js';

/** @throws QUEUE_URL_INVALID, SCENARIO_FAMILY, QUEUE_UNSUITED naming the setting that stands against it */
export function requireQueueable(url: string, scenario: AnyScenario): void {
  parseQueueUrl(url);
  const { config } = ofFamily('tools', scenario);
  if (!seesDreamtSteps(config)) return;
  throw reverieError('QUEUE_UNSUITED', {
    setting: `model.llm.retrieval.sources=both with experience.enrich=${config.experience.enrich}`,
    problem: 'what earlier rows dreamt would have to be with every worker before a later row begins',
  });
}

/** Whether rows are shown what earlier rows dreamt. */
function seesDreamtSteps({ experience, model }: ToolsScenarioConfig): boolean {
  return experience.enrich !== 'never' && model.llm.retrieval.sources === 'both';
}
