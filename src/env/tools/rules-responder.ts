// The real environment: calls answered by the domain's own rules.

import type { JsonObject } from '../../core/canonical-json.js';
import type { ToolsSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { applyOperations } from '../state/operations.js';
import { type CallChecks, callChecks, messageOf } from './check-action.js';
import type { ToolOutcome, ToolRules, ToolSpec, ToolsDomain } from './domain.js';
import type { Message, ToolCall } from './message.js';
import { exactPrediction, type Prediction, refusalOf } from './prediction.js';
import type { Situation } from './situation.js';
import type { Responder, ToolsAction, UserSimulator } from './tools-family.js';

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
  /** Answers calls; an episode that has to be run again must go as it went. */
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

/** The real environment; rules that are lacking say so when they are asked. */
export function realResponder(domain: ToolsDomain): Responder {
  const real = elsewhere(domain);
  return real === undefined ? rulesResponder(domain) : lent(real.responder);
}

/** The domain closes it. */
function lent(responder: Responder): Responder {
  return {
    version: responder.version,
    trusts: (backend) => responder.trusts?.(backend) === true,
    answer: (query, signal) => responder.answer(query, signal),
    ended: (episode) => responder.ended?.(episode),
    close: () => {},
  };
}

interface PlayedTurn {
  readonly situation: Situation;
  /** One for each call, in order. */
  readonly predictions: readonly Prediction[];
}

export class Turns {
  readonly actionSpace: ToolsSpace;
  private readonly checks: CallChecks;
  private readonly ending: ReadonlySet<string>;

  /** @throws SCHEMA_INVALID if the parameters of a tool are no JSON Schema */
  constructor(
    private readonly domain: ToolsDomain,
    private readonly responder: Responder,
  ) {
    this.checks = callChecks(domain.tools);
    this.actionSpace = toolsSpace(domain.tools);
    this.ending = new Set(domain.tools.filter(({ terminates }) => terminates).map(({ name }) => name));
  }

  /** What is not declared is not trusted. */
  trusts({ backend }: Prediction): boolean {
    return this.responder.trusts?.(backend) === true;
  }

  /**
   * The situation after the agent's message and the answers to its calls. Only a trusted backend or a tool that ends the
   * conversation ends it.
   * @throws ACTION_OUT_OF_SPACE; what the responder throws
   */
  async play(before: Situation, action: ToolsAction, signal?: AbortSignal): Promise<PlayedTurn> {
    const said = messageOf(action, before.messages, this.actionSpace);
    let situation: Situation = { ...before, messages: [...before.messages, said] };
    const predictions: Prediction[] = [];
    for (const call of said.toolCalls ?? []) {
      const prediction = await this.answer(situation, call, signal);
      predictions.push(prediction);
      situation = this.after(situation, call, prediction);
    }
    return { situation, predictions };
  }

  private after(before: Situation, { id, name }: ToolCall, prediction: Prediction): Situation {
    const { observation, isError, operations, terminated } = prediction;
    const answer: Message = { role: 'tool', toolCallId: id, name, content: observation };
    return {
      ...before,
      state: applyOperations(before.state, operations),
      operations: operations.length === 0 ? before.operations : [...before.operations, ...operations],
      messages: [...before.messages, isError ? { ...answer, isError } : answer],
      calls: before.calls + 1,
      ended: before.ended || (terminated && this.trusts(prediction)) || (!isError && this.ending.has(name)),
    };
  }

  /** Calls after one that ended the episode are refused, so that each has its answer. */
  private answer(situation: Situation, call: ToolCall, signal?: AbortSignal) {
    const { task, state, messages, calls, seed, row, ended } = situation;
    const problems = ended ? ['the conversation has ended'] : this.checks.problems(call);
    if (problems.length > 0) return this.checks.refuse(problems);
    const query = { domain: this.domain, task, state, messages, call, step: calls, seed };
    return this.responder.answer(row === undefined ? query : { ...query, row }, signal);
  }
}

/** What the agent can do in a domain, as functions in JSON Schema. */
function toolsSpace(tools: readonly ToolSpec[]): ToolsSpace {
  const functions = tools.map(({ name, description, parameters }) => {
    return { type: 'function', function: { name, description, parameters } };
  });
  return { type: 'tools', tools: functions };
}
