// How policies of text see a domain: by the commands that its world lists.

import { reverieError } from '../../../core/errors.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { LineEnvironment } from '../../../env/tools/text-environment.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import { kindOfDomain, viewOf } from '../../../kinds/registry.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

/** Episodes under way at once, where the world says no less; never changes which are lived. */
const LANES = 64;

export interface TextView {
  /** How a call is written among those that are listed. */
  readonly lineOf: (call: CallSpec) => string;
  /** Commands of a task's solution. */
  readonly walkthrough: (task: ToolsTask) => readonly string[];
}

/** @throws DOMAIN_UNFIT where no commands are listed */
export function textViewOf(domain: ToolsDomain): TextView {
  const { face, view } = kindOfDomain(domain);
  const isListed = domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible);
  if (view === undefined || !isListed) {
    throw reverieError('DOMAIN_UNFIT', {
      problem: `A policy of text chooses among commands, and "${domain.id}" does not say which do something (task "${domain.tasks[0]?.id ?? ''}").`,
      hint: "Train in a domain of the one tool act whose rules have admissible(state), or whose state lists texts as admissible: ALFWorld's games and games of PDDL do.",
    });
  }
  const lineOf = (call: CallSpec) => String(face?.lineOf?.(call) ?? '');
  return { lineOf, walkthrough: (task) => task.reference?.calls.map(lineOf) ?? [] };
}

/** Environments of lines in which `responder` answers. @throws as `textViewOf` */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): LineEnvironment[] {
  textViewOf(parts.domain);
  const make = viewOf(parts.domain, () => makeEpisodeEnvironment(parts, responder, config)) as () => LineEnvironment;
  return Array.from({ length: Math.min(LANES, responder.atOnce ?? LANES) }, make);
}
