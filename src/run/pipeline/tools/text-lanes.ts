// How policies of text see a domain: the commands that its world knows, or, where nobody knows any, choices made from the conversation.

import { solutions, type TextExpert, walkthroughs } from '../../../algorithms/index.js';
import { reverieError } from '../../../core/errors.js';
import type { CallSpec, LineEnvironment, Responder, ToolsDomain } from '../../../env/index.js';
import { kindOfDomain, type ToolsScenarioConfig, viewOf } from '../../../kinds/index.js';
import { type ActionForms, CallForms, ChoicesEnvironment, choiceText, WrittenActions } from '../../../synth/index.js';
import { type TextPolicyNote, WRITTEN } from '../../tools-results.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

/** Episodes under way at once, where the world says no less; never changes which are lived. */
const LANES = 64;

export interface TextView {
  /** What choices are made of, or what is written; undefined where commands are listed. */
  readonly forms?: ActionForms;
  /** How a call is written among those that are listed. */
  readonly lineOf: (call: CallSpec) => string;
  readonly expert: TextExpert;
  readonly choosesAmong: TextPolicyNote['choosesAmong'];
}

/**
 * @param writes whether the policy writes its actions itself
 * @throws TEXT_TASKS_MISSING where there is neither a list of commands nor a solution to make choices of; TEXT_WRITING_UNFIT where actions
 * are listed and the policy would write them
 */
export function textViewOf(
  domain: ToolsDomain,
  { train }: Pick<ToolsScenarioConfig, 'train'>,
  writes = false,
): TextView {
  const { face, view } = kindOfDomain(domain);
  const lineOf = (call: CallSpec) => String(face?.lineOf?.(call) ?? choiceText({ content: null, call }));
  const isListed = domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible);
  if (writes) {
    if (view !== undefined && isListed)
      throw reverieError('TEXT_WRITING_UNFIT', { problem: `the commands of domain "${domain.id}" are listed` });
    if (train.mode === 'value')
      throw reverieError('TEXT_WRITING_UNFIT', { problem: 'in mode value nothing is written' });
    const forms = new WrittenActions(domain.tools);
    return { forms, lineOf, expert: solutions(forms), choosesAmong: WRITTEN };
  }
  if (view !== undefined && isListed)
    return { lineOf, expert: walkthroughs(lineOf), choosesAmong: 'admissible commands' };
  const tasks = domain.tasks.filter(({ split = 'train' }) => train.splits.includes(split));
  if (!tasks.some(({ reference }) => reference !== undefined)) {
    const problem = `none of its ${tasks.length} tasks of split ${train.splits.join(' or ')} has a reference`;
    throw reverieError('TEXT_TASKS_MISSING', { domain: domain.id, purpose: 'to make choices of', problem });
  }
  const forms = new CallForms(domain.tools, tasks);
  return { forms, lineOf, expert: solutions(forms), choosesAmong: 'calls and sayings filled from the conversation' };
}

/** Environments of lines in which `responder` answers. @throws as `textViewOf` */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
  writes = false,
): LineEnvironment[] {
  const { forms } = textViewOf(parts.domain, config, writes);
  const make = () => makeEpisodeEnvironment(parts, responder, config);
  const listed = viewOf(parts.domain, make) as () => LineEnvironment;
  const lane = forms === undefined ? listed : () => new ChoicesEnvironment(make(), forms);
  return Array.from({ length: Math.min(LANES, responder.atOnce ?? LANES) }, lane);
}
