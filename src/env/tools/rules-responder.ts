// The real environment: calls answered by the domain's own rules.

import type { JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { ToolOutcome, ToolRules, ToolsDomain } from './domain.js';
import type { ToolCall } from './message.js';
import { exactPrediction, type Prediction, refusalOf } from './prediction.js';
import type { Responder } from './tools-family.js';

/**
 * Answers every call by the domain's exact rules. Where these carry a call out although a precondition refuses it, the
 * precondition stands. `backend` is what answers are recorded as: `real` where this is the environment itself, `rules`
 * where it is part of a dream.
 */
export function rulesResponder(domain: ToolsDomain, backend: 'rules' | 'real' = 'real'): Responder {
  const { rules } = domain;
  const modelVersion = rules?.version ?? 'none';
  return {
    version: `${backend}:${modelVersion}`,
    atOnce: rules?.atOnce,
    trusts: (name) => name === backend,
    picture: (state) => (backend === 'real' ? rules?.picture?.(state) : undefined),
    /** @throws TOOL_WITHOUT_RULE on a call of a tool that the rules do not know */
    answer({ state, call }): Prediction {
      if (!rules?.tools.has(call.name)) throw reverieError('TOOL_WITHOUT_RULE', { domain: domain.id, tool: call.name });
      const outcome = rules.execute(state, call);
      const refusals = refusalsOf(rules, state, call, outcome);
      if (refusals.length === 0) {
        return exactPrediction(outcome, { backend, modelVersion, why: [`the rules know ${call.name}`] });
      }
      const why = `a precondition of ${call.name} refuses: ${refusals.join('; ')}`;
      return exactPrediction(refusalOf(refusals), { backend, modelVersion, why: [why] });
    },
    close: () => {},
  };
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
