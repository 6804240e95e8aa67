// What a controlled model is told: which truth it answers from, and how often and in which way it errs.

import type { ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import type { LlmServerOptions } from '../llm-server/llm-server.js';

/** All shares lie in [0, 1] and default to 0. */
export interface ControlledOptions {
  /** With rules: these are the truth. Not closed by the model. */
  readonly domain: ToolsDomain;
  readonly seed: number;
  /** Tasks beside the domain's that it may be asked about (made from others during a run). */
  readonly tasks?: readonly ToolsTask[];
  /**
   * Epsilon_P: share of answers to calls that are wrong in state, observation or both.
   */
  readonly transitionError?: number;
  /** Of wrong answers to calls that change the state: share whose observation is right all the same; 0.5 by default. */
  readonly silentShare?: number;
  /** Epsilon_R: share of verdicts that are the opposite of the truth. */
  readonly rewardError?: number;
  /**
   * What a judge goes by: `rules`, by which it finds out what the calls truly did (the default), or `conversation`: of that,
   * a call that was shown to have failed has done nothing.
   */
  readonly judgeReads?: 'rules' | 'conversation';
  /** Share of the agent's turns that do something else than the reference solution. */
  readonly agentError?: number;
  /** Share of answers to calls that name an id which does not exist; besides `transitionError`. */
  readonly inventedEntities?: number;
  /** Share of replies whose JSON is cut. */
  readonly malformedJson?: number;
  readonly slowMs?: number;
  /** Further options of the server: model, port, keepRequests. */
  readonly server?: Partial<Pick<LlmServerOptions, 'structured' | 'apiKey' | 'model' | 'port' | 'keepRequests'>>;
}
