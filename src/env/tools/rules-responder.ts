// The real environment: calls answered by the domain's own rules.

import { NO_COST } from '../../core/cost.js';
import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { ToolOutcome, ToolRules, ToolsDomain } from './domain.js';
import type { ToolCall } from './message.js';
import type { Prediction } from './prediction.js';
import type { CallQuery, Responder } from './tools-family.js';

/**
 * Answers every call by the domain's exact rules. Where these carry a call out although a precondition refuses it, the
 * precondition stands. `backend` is what answers are recorded as: `real` where this is the environment itself, `rules`
 * where it is part of a dream.
 * @throws TOOL_WITHOUT_RULE on a call of a tool that the rules do not know
 */
export function rulesResponder(domain: ToolsDomain, backend: 'rules' | 'real' = 'real'): Responder {
  const { rules } = domain;
  const modelVersion = rules?.version ?? 'none';
  return {
    version: `${backend}:${modelVersion}`,
    answer: ({ state, call }: CallQuery): Prediction => {
      if (!rules?.tools.has(call.name)) throw reverieError('TOOL_WITHOUT_RULE', { domain: domain.id, tool: call.name });
      const outcome = rules.execute(state, call);
      const refusals = refusalsOf(rules, state, call, outcome);
      if (refusals.length === 0) {
        return exactPrediction(outcome, { backend, modelVersion, why: [`the rules know ${call.name}`] });
      }
      const why = `a precondition of ${call.name} refuses: ${refusals.join('; ')}`;
      return exactPrediction(refusalOf(refusals), { backend, modelVersion, why: [why] });
    },
    trusts: (name) => name === backend,
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

/** An exact backend's answer as a prediction. */
export function exactPrediction(
  { operations, observation, isError }: ToolOutcome,
  { backend, modelVersion, why }: Pick<Prediction, 'backend' | 'modelVersion' | 'why'>,
): Prediction {
  return {
    operations,
    observation,
    isError,
    reward: null,
    terminated: false,
    truncated: false,
    confidence: 1,
    backend,
    modelVersion,
    why,
    cost: NO_COST,
  };
}

/** What the agent is shown of a call that must fail. */
export function refusalOf(reasons: readonly string[]): ToolOutcome {
  return { operations: [], observation: `Error: ${reasons.join('; ')}`, isError: true };
}
