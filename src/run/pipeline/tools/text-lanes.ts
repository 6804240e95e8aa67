// How policies of text see a domain: the commands that its world knows, or, where nobody knows any, choices made from the conversation.

import { solutions, type TextExpert, walkthroughs } from '../../../algorithms/index.js';
import { reverieError } from '../../../core/errors.js';
import type { CallSpec, LineEnvironment, Responder, ToolsDomain } from '../../../env/index.js';
import { kindOfDomain, type ToolsScenarioConfig, viewOf } from '../../../kinds/index.js';
import { CallForms, ChoicesEnvironment, choiceText } from '../../../synth/index.js';
import type { TextPolicyNote } from '../../tools-results.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

/** Episodes under way at once, where the world says no less; never changes which are lived. */
const LANES = 64;

export interface TextView {
  /** What choices are made of; undefined where commands are listed. */
  readonly forms?: CallForms;
  /** How a call is written among those that are listed. */
  readonly lineOf: (call: CallSpec) => string;
  readonly expert: TextExpert;
  readonly choosesAmong: TextPolicyNote['choosesAmong'];
}

/** @throws TEXT_TASKS_MISSING where there is neither a list of commands nor a solution to make choices of */
export function textViewOf(domain: ToolsDomain, { train }: Pick<ToolsScenarioConfig, 'train'>): TextView {
  const { face, view } = kindOfDomain(domain);
  const lineOf = (call: CallSpec) => String(face?.lineOf?.(call) ?? choiceText({ content: null, call }));
  const isListed = domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible);
  if (view !== undefined && isListed)
    return { lineOf, expert: walkthroughs(lineOf), choosesAmong: 'admissible commands' };
  const tasks = domain.tasks.filter(({ split = 'train' }) => train.splits.includes(split));
  if (!tasks.some(({ reference }) => reference !== undefined)) {
    const problem = `none of its ${tasks.length} tasks of split ${train.splits.join(' or ')} has a reference`;
    throw reverieError('TEXT_TASKS_MISSING', { domain: domain.id, purpose: 'to make choices of', problem });
  }
  const forms = new CallForms(domain.tools, tasks);
  return { forms, lineOf, expert: solutions, choosesAmong: 'calls and sayings filled from the conversation' };
}

/** Environments of lines in which `responder` answers. @throws as `textViewOf` */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): LineEnvironment[] {
  const { forms } = textViewOf(parts.domain, config);
  const make = () => makeEpisodeEnvironment(parts, responder, config);
  const listed = viewOf(parts.domain, make) as () => LineEnvironment;
  const lane = forms === undefined ? listed : () => new ChoicesEnvironment(make(), forms);
  return Array.from({ length: Math.min(LANES, responder.atOnce ?? LANES) }, lane);
}
