// A language model whose errors are known: an OpenAI-compatible server that answers from a domain's true rules and is
// wrong as often as it is told to be. Every draw depends on (seed, content of the request, seed of the request) alone.

import type { JsonObject } from '../../src/core/canonical-json.js';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import type { LlmAnswer } from '../llm-server/completion.js';
import type { Faults } from '../llm-server/faults.js';
import { type LlmServer, type LlmServerRequestBody, startLlmServer } from '../llm-server/llm-server.js';
import { agentAnswer } from './agent-role.js';
import { type Asked, asObject, readRequest } from './asked.js';
import type { ControlledOptions } from './controlled-options.js';
import { predictionReply, textPredictionReply } from './prediction-role.js';
import { smallestValue } from './schema-role.js';
import { trajectoryReply } from './trajectory-role.js';
import { Truth } from './truth.js';
import { userReply } from './user-role.js';
import { verdictReply } from './verdict-role.js';

export type { ControlledOptions } from './controlled-options.js';

export interface ControlledModel {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  readonly server: LlmServer;
  /** Requests answered so far, by who asked: `prediction`, `user_turn`, `agent`, ... */
  readonly asked: ReadonlyMap<string, number>;
  /** Makes further tasks known, such as those a run has made. */
  know(tasks: readonly ToolsTask[]): void;
  close(): Promise<void>;
}

type Role = (asked: Asked, truth: Truth, options: ControlledOptions) => JsonObject;

const ROLES: Readonly<Record<string, Role>> = {
  prediction: predictionReply,
  text_prediction: textPredictionReply,
  user_turn: userReply,
  verdict: verdictReply,
  trajectory: trajectoryReply,
};

export async function startControlledModel(options: ControlledOptions): Promise<ControlledModel> {
  const truth = new Truth(options.domain, options.tasks);
  const asked = new Map<string, number>();
  const server = await startLlmServer({
    model: 'controlled',
    ...options.server,
    faults: faultsOf(options),
    answer: (body) => {
      const request = readRequest(body, options.seed);
      asked.set(request.role, (asked.get(request.role) ?? 0) + 1);
      return controlledAnswer(request, truth, options);
    },
  });
  const know = (tasks: readonly ToolsTask[]) =>
    tasks.forEach((task) => {
      truth.know(task);
    });
  return { url: server.url, server, asked, know, close: () => server.close() };
}

/** The answer without a server, for tests and for measuring in great number. */
export function answerOf(body: LlmServerRequestBody, truth: Truth, options: ControlledOptions): LlmAnswer {
  return controlledAnswer(readRequest(body, options.seed), truth, options);
}

function controlledAnswer(asked: Asked, truth: Truth, options: ControlledOptions): LlmAnswer {
  if (asked.role === 'agent') return agentAnswer(asked, truth, options);
  if (asked.role === 'text') return { text: 'I have nothing to say to that.' };
  const role = ROLES[asked.role];
  const schema = asObject(asked.body.response_format?.json_schema?.schema as JsonObject);
  const reply = role === undefined ? smallestValue(schema) : role(asked, truth, options);
  const text = JSON.stringify(reply);
  const isCut = asked.rng.split('malformed').uniform() < (options.malformedJson ?? 0);
  return { text: isCut ? `Certainly! Here it is: ${text.slice(0, text.length >> 1)}` : text };
}

/** None at all where nothing can go wrong: faults remember every body. */
function faultsOf({ seed, rate429, rate500, refusals, dropStream, slowMs }: ControlledOptions): Faults | undefined {
  const faults = { seed, rate429, rate500, refuse: refusals, dropStream, slowMs };
  const isFaulty = [rate429, rate500, refusals, dropStream, slowMs].some((share) => (share ?? 0) > 0);
  return isFaulty ? faults : undefined;
}
