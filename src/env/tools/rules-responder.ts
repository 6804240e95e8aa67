// The real environment: calls answered by the domain's own rules.

import type { JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { ToolOutcome, ToolRules, ToolsDomain } from './domain.js';
import type { ToolCall } from './message.js';
import { exactPrediction, type Prediction, refusalOf } from './prediction.js';
import type { Responder, UserSimulator } from './tools-family.js';

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

/** What lives elsewhere, and is asked there. */
export interface RealEnvironment {
  /** Episodes that may run there at once. */
  readonly sessions: number;
  /** Answers calls; an episode that has to be run again must go as it went. Closing it does nothing. */
  readonly responder: Responder;
  /** Tells what is seen first. */
  readonly user: UserSimulator;
}

/** A domain that runs elsewhere; copies with other tasks are, too. */
export interface DomainElsewhere extends ToolsDomain {
  readonly real: RealEnvironment;
}

/** Undefined for domains that run by their rules, or not at all. */
export function elsewhere(domain: ToolsDomain): RealEnvironment | undefined {
  return (domain as Partial<DomainElsewhere>).real;
}

/** Whether there is a real environment that can be asked. */
export function isReal(domain: ToolsDomain): boolean {
  return domain.rules !== undefined || elsewhere(domain) !== undefined;
}

/** The real environment; rules that are lacking say so when they are asked. What lives elsewhere is closed by its domain. */
export function realResponder(domain: ToolsDomain): Responder {
  return elsewhere(domain)?.responder ?? rulesResponder(domain);
}
