// Backends whose word is exact: code of the domain, of all tools it knows or of some; the same call in the same state that was run before;
// and the real environment, asked where no other backend could answer and where the scenario allows it.

import { z } from 'zod';
import { NO_COST } from '../../core/cost.js';
import { stateHash } from '../../env/state/state.js';
import { allTools, type ToolOutcome, type ToolRules, type ToolsDomain } from '../../env/tools/domain.js';
import { refusalOf } from '../../env/tools/prediction.js';
import { elsewhere, refusalsOf } from '../../env/tools/rules-responder.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../replay/experience/experience.js';
import type { BackendEntry, BackendModel, Declined, PredictOptions, RawProposal } from './backend-model.js';
import { callsBefore, toolOf } from './checks.js';

/** `all` the rules know, those that change nothing, or these by name. */
type RuledTools = 'all' | 'reads' | readonly string[];

class RulesModel implements BackendModel {
  readonly version: string;
  private readonly tools: ReadonlySet<string>;
  /** Tools for which the rules know refusals but not effects. */
  private readonly refusing: ReadonlySet<string>;

  constructor(
    domain: ToolsDomain,
    private readonly rules: ToolRules,
    tools: RuledTools = 'all',
  ) {
    const isRuled = (name: string, kind: string) =>
      tools === 'all' || (tools === 'reads' ? kind !== 'write' : tools.includes(name));
    const named = allTools(domain).filter(({ name, kind }) => isRuled(name, kind));
    const [known, others] = [true, false].map((is) => named.filter(({ name }) => rules.tools.has(name) === is));
    this.tools = new Set(known.map(({ name }) => name));
    this.refusing = new Set(rules === domain.declared ? others.map(({ name }) => name) : []);
    this.version = `rules:${rules.version}:${tools === 'all' ? tools : [...this.tools].sort().join(',')}`;
  }

  async predict({ state, call }: CallQuery): Promise<RawProposal | Declined> {
    const refused = this.refusing.has(call.name) ? this.rules.preconditions(state, call) : [];
    if (refused.length > 0) return { ...refusalOf(refused), confidence: 1, cost: NO_COST };
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

export const rulesSection = z
  .strictObject({
    tools: z
      .union([z.enum(['all', 'reads']), z.array(z.string().min(1)).min(1)])
      .default('all')
      .describe('Tools that exact code answers: all it knows, those that change nothing (`reads`), or these by name.'),
  })
  .prefault({})
  .describe('Backend `rules`: exact rules of the domain.');

export const rulesBackend: BackendEntry = {
  name: 'rules',
  summary: 'Exact rules of the domain: declared in rules.yaml, or code in rules.js.',
  schema: rulesSection,
  trust: 'exact',
  isReal: ({ rules, tools }, settings = {}) =>
    (settings.tools ?? 'all') === 'all' && tools.every(({ name }) => rules?.tools.has(name) === true),
  make: async () => {
    return ({ domain }, { tools }) => {
      const rules = domain.rules ?? domain.declared;
      return rules ? new RulesModel(domain, rules, tools as RuledTools) : 'rules: the domain has none';
    };
  },
};

class ReplayModel implements BackendModel {
  readonly version = 'replay:1';

  constructor(private readonly index: ExperienceIndex) {}

  async predict(query: CallQuery): Promise<RawProposal | Declined> {
    const step = this.index.exact({
      call: { name: query.call.name, arguments: query.call.arguments },
      history: callsBefore(query),
      stateHash: stateHash(query.state),
      sources: 'real',
    });
    if (step === undefined) return { declined: 'this call was never recorded in this state' };
    const operations = changesOf(step, toolOf(query.domain, step.call.name)?.kind === 'write');
    if (operations === undefined) return { declined: 'it was recorded in this state, but not what it changed' };
    const modelVersion = `${this.version}:${step.scenario}/${step.episode}#${step.step}`;
    const { observation, isError } = step;
    return { operations, observation, isError, confidence: 1, modelVersion, cost: NO_COST };
  }
}

function changesOf(step: ExperienceStep, isWrite: boolean) {
  if (step.operations !== undefined) return step.operations;
  return step.isError || !isWrite ? [] : undefined;
}

export const replayBackend: BackendEntry = {
  name: 'replay',
  summary: 'A recorded transition of the same call in the same state.',
  trust: 'exact',
  needs: ['records'],
  make: async () => {
    return ({ index, hasStates = true }) =>
      index && hasStates ? new ReplayModel(index) : 'replay: there are no records whose state is known';
  },
};

export const realBackend: BackendEntry = {
  name: 'real',
  summary: 'The real environment, asked where no other backend could answer.',
  trust: 'exact',
  isReal: (domain) =>
    elsewhere(domain) !== undefined || allTools(domain).every(({ name }) => domain.rules?.tools.has(name) === true),
  make: async () => {
    return ({ real }) => (real ? new RealModel(real) : 'real: there is no real environment');
  },
};

class RealModel implements BackendModel {
  readonly version: string;

  constructor(private readonly real: Responder) {
    this.version = `real:${real.version}`;
  }

  async predict(query: CallQuery, { signal }: PredictOptions): Promise<RawProposal> {
    const answer = await this.real.answer(query, signal);
    const { operations, observation, isError, confidence, modelVersion, cost, reward, terminated } = answer;
    return { operations, observation, isError, confidence, modelVersion, cost, exact: { reward, terminated } };
  }
}
