// From a scenario's section `model` to the router it describes.

import { reverieError } from '../../core/errors.js';
import type { Responder, ToolsDomain } from '../../env/index.js';
import type { LanguageModel } from '../../llm/index.js';
import type { ExperienceIndex } from '../../replay/index.js';
import { LlmStepModel } from '../llm/step-model.js';
import { RealModel } from '../real/real-model.js';
import { ReplayModel } from '../replay/replay-model.js';
import { RulesModel } from '../rules/rules-model.js';
import type { ToolsBackendModel } from './backend-model.js';
import { Router } from './router.js';
import type { ToolsModelConfig } from './tools-model-schema.js';

/** What backends are made from; a configured backend whose part is missing is left out, and every answer says so. */
export interface RouterParts {
  readonly domain: ToolsDomain;
  readonly index?: ExperienceIndex;
  readonly model?: LanguageModel;
  /** The real environment. */
  readonly real?: Responder;
}

/** @throws MODEL_BACKENDS_MISSING if none of the configured backends can be had */
export function makeRouter(config: ToolsModelConfig, parts: RouterParts): Router {
  const made = config.backends.map((name) => backendOf(name, config, parts));
  const backends = made.filter((backend) => typeof backend !== 'string');
  const absent = made.filter((backend) => typeof backend === 'string');
  if (backends.length === 0)
    throw reverieError('MODEL_BACKENDS_MISSING', { domain: parts.domain.id, reasons: absent.join('; ') });
  return new Router(parts.domain, config, backends, absent);
}

/** The backend, or why there is none. */
function backendOf(
  name: ToolsModelConfig['backends'][number],
  config: ToolsModelConfig,
  { domain, index, model, real }: RouterParts,
): ToolsBackendModel | string {
  switch (name) {
    case 'rules':
      return domain.rules ? new RulesModel(domain, domain.rules, config.rules.tools) : 'rules: the domain has none';
    case 'replay':
      return index ? new ReplayModel(index) : 'replay: there are no records';
    case 'llm':
      return model ? new LlmStepModel(model, config.llm, index) : 'llm: no language model is configured';
    case 'real':
      return real ? new RealModel(real) : 'real: there is no real environment';
  }
}
