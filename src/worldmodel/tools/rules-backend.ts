// Exact code of a domain as a backend, of all tools it knows or of some.

import { z } from 'zod';
import { NO_COST } from '../../core/cost.js';
import type { ToolOutcome, ToolRules, ToolsDomain } from '../../env/tools/domain.js';
import { refusalOf } from '../../env/tools/prediction.js';
import { refusalsOf } from '../../env/tools/rules-responder.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { BackendEntry, BackendModel, Declined, RawProposal } from './backend-model.js';

/** `all` the rules know, those that change nothing, or these by name. */
export type RuledTools = 'all' | 'reads' | readonly string[];

export class RulesModel implements BackendModel {
  readonly version: string;
  private readonly tools: ReadonlySet<string>;

  constructor(
    domain: ToolsDomain,
    private readonly rules: ToolRules,
    tools: RuledTools = 'all',
  ) {
    const named = domain.tools.filter(({ name, kind }) => isRuled(tools, name, kind)).map(({ name }) => name);
    this.tools = new Set(named.filter((name) => rules.tools.has(name)));
    this.version = `rules:${rules.version}:${tools === 'all' ? tools : [...this.tools].sort().join(',')}`;
  }

  async predict({ state, call }: CallQuery): Promise<RawProposal | Declined> {
    if (!this.tools.has(call.name)) return { declined: `no exact code for ${call.name}` };
    const outcome = this.rules.execute(state, call);
    const refusals = refusalsOf(this.rules, state, call, outcome);
    if (refusals.length === 0) return { ...proposalOf(outcome), confidence: 1, cost: NO_COST };
    // As in the real environment: a precondition stands, whatever the code would have done.
    return { ...refusalOf(refusals), confidence: 1, cost: NO_COST };
  }
}

function proposalOf({ operations, observation, isError, reward, terminated }: ToolOutcome) {
  const proposal = { operations, observation, isError };
  if (reward === undefined && terminated === undefined) return proposal;
  return { ...proposal, exact: { reward: reward ?? null, terminated: terminated ?? false } };
}

function isRuled(tools: RuledTools, name: string, kind: string): boolean {
  if (tools === 'all') return true;
  return tools === 'reads' ? kind !== 'write' : tools.includes(name);
}

export const rulesSection = z
  .strictObject({
    tools: z
      .union([z.enum(['all', 'reads']), z.array(z.string().min(1)).min(1)])
      .default('all')
      .describe('Tools that exact code answers: all it knows, those that change nothing (`reads`), or these by name.'),
  })
  .prefault({})
  .describe('Backend `rules`: exact code of the domain.');

export const rulesBackend: BackendEntry = {
  name: 'rules',
  summary: 'Exact code of the domain.',
  schema: rulesSection,
  trust: 'exact',
  isReal: ({ rules, tools }, settings = {}) =>
    (settings.tools ?? 'all') === 'all' && tools.every(({ name }) => rules?.tools.has(name) === true),
  make: async () => {
    return ({ domain }, { tools }) =>
      domain.rules ? new RulesModel(domain, domain.rules, tools as RuledTools) : 'rules: the domain has none';
  },
};
