// How policies of text see a domain: the commands that its world knows, or, where nobody knows any, choices made from the conversation.

import { solutions, type TextExpert, walkthroughs } from '../../../algorithms/index.js';
import { reverieError } from '../../../core/errors.js';
import { type Responder, type TextEnvironment, type ToolsDomain, textEnvironment } from '../../../env/index.js';
import type { ToolsScenarioConfig } from '../../../kinds/index.js';
import { CallForms, ChoicesEnvironment } from '../../../synth/index.js';
import type { TextPolicyNote } from '../../tools-results.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

/** Episodes under way at once; never changes which are lived. */
const LANES = 64;

export interface TextView {
  /** What choices are made of; undefined where commands are listed. */
  readonly forms: CallForms | undefined;
  readonly expert: TextExpert;
  readonly choosesAmong: TextPolicyNote['choosesAmong'];
}

/** @throws TEXT_TASKS_MISSING where there is neither a list of commands nor a solution to make choices of */
export function textViewOf(domain: ToolsDomain, { train }: Pick<ToolsScenarioConfig, 'train'>): TextView {
  if (domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible))
    return { forms: undefined, expert: walkthroughs, choosesAmong: 'admissible commands' };
  const tasks = domain.tasks.filter(({ split = 'train' }) => train.splits.includes(split));
  if (!tasks.some(({ reference }) => reference !== undefined)) {
    const problem = `none of its ${tasks.length} tasks of split ${train.splits.join(' or ')} has a reference`;
    throw reverieError('TEXT_TASKS_MISSING', { domain: domain.id, purpose: 'to make choices of', problem });
  }
  const forms = new CallForms(domain.tools, tasks);
  return { forms, expert: solutions, choosesAmong: 'calls and sayings filled from the conversation' };
}

/** Environments of text in which `responder` answers. @throws as `textViewOf` */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): TextEnvironment[] {
  const { forms } = textViewOf(parts.domain, config);
  return Array.from({ length: LANES }, () => {
    const environment = makeEpisodeEnvironment(parts, responder, config);
    return forms === undefined ? textEnvironment(environment) : new ChoicesEnvironment(environment, forms);
  });
}
