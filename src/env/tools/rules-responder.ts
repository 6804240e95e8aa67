// The real environment: calls answered by the domain's own rules.

import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { CallDynamics } from './call-dynamics.js';
import type { Picture, ToolOutcome, ToolRules, ToolsDomain } from './domain.js';
import type { ToolCall } from './message.js';
import { exactPrediction, type Prediction, refusalOf } from './prediction.js';
import type { StructuredDynamics } from './structured.js';
import type { CallQuery } from './tools-family.js';

/**
 * Answers every call by the domain's exact rules. Where these carry a call out although a precondition refuses it, the
 * precondition stands. `backend` is what answers are recorded as: `real` where this is the environment itself, `rules`
 * where it is part of a dream.
 */
export function rulesResponder(domain: ToolsDomain, backend: 'rules' | 'real' = 'real'): StructuredDynamics {
  return new RulesDynamics(domain, backend);
}

class RulesDynamics extends CallDynamics {
  readonly version: string;
  readonly atOnce?: number;
  private readonly rulesVersion: string;

  constructor(domain: ToolsDomain, backend: 'rules' | 'real') {
    super(domain, backend);
    this.rulesVersion = domain.rules?.version ?? 'none';
    this.version = `${backend}:${this.rulesVersion}`;
    this.atOnce = domain.rules?.atOnce;
  }

  trusts(name: string): boolean {
    return name === this.backend;
  }

  picture(state: JsonObject): Picture | undefined {
    return this.backend === 'real' ? this.domain.rules?.picture?.(state) : undefined;
  }

  /** @throws TOOL_WITHOUT_RULE on a call of a tool that the rules do not know */
  answer({ state, call }: CallQuery): Prediction {
    const { backend, domain, rulesVersion: modelVersion } = this;
    const { rules } = domain;
    if (!rules?.tools.has(call.name)) throw reverieError('TOOL_WITHOUT_RULE', { domain: domain.id, tool: call.name });
    const outcome = rules.execute(state, call);
    const refusals = refusalsOf(rules, state, call, outcome);
    if (refusals.length === 0) {
      return exactPrediction(outcome, { backend, modelVersion, why: [`the rules know ${call.name}`] });
    }
    const why = `a precondition of ${call.name} refuses: ${refusals.join('; ')}`;
    return exactPrediction(refusalOf(refusals), { backend, modelVersion, why: [why] });
  }
}

/** Why a call that the rules carried out must fail all the same; empty if it stands. */
export function refusalsOf(
  rules: ToolRules,
  state: JsonObject,
  call: ToolCall,
  outcome: ToolOutcome,
): readonly string[] {
  return outcome.isError || rules.refusesItself ? [] : rules.preconditions(state, call);
}
