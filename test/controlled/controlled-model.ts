// A language model whose errors are known: an OpenAI-compatible server that answers from a domain's true rules and is
// wrong as often as it is told to be. Every draw depends on (seed, content of the request, seed of the request) alone.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import { ScriptedUser } from '../../src/env/tools/scripted-user.js';
import type { UserQuery } from '../../src/env/tools/tools-family.js';
import type { LlmAnswer } from '../llm-server/completion.js';
import { type LlmServer, type LlmServerRequestBody, startLlmServer } from '../llm-server/llm-server.js';
import { agentAnswer } from './agent-role.js';
import { type Asked, asList, asObject, asText, readRequest } from './asked.js';
import type { ControlledOptions } from './controlled-options.js';
import { predictionReply, textPredictionReply } from './prediction-role.js';
import { trajectoryReply } from './trajectory-role.js';
import { openingOf, Truth } from './truth.js';
import { verdictReply } from './verdict-role.js';

const TEXT =
  'The first choice does what was asked for and keeps to the policy; the other changes nothing that was asked for.';

/** For any other schema: the smallest value that fits it. Enough for replies that are only read. */
function smallestValue(schema: JsonObject, root: JsonObject = schema): Json {
  if (typeof schema.$ref === 'string') return smallestValue(referred(schema.$ref, root), root);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0] as Json;
  const choices = asList(schema.anyOf ?? schema.oneOf);
  if (choices.length > 0) return smallestValue(choices[0], root);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'object':
      return objectOf(schema, root);
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => smallestValue(asObject(schema.items), root));
    case 'string':
      return typeof schema.maxLength === 'number' ? TEXT.slice(0, schema.maxLength) : TEXT;
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function objectOf({ properties }: JsonObject, root: JsonObject): JsonObject {
  const entries = Object.entries(asObject(properties)).map(([key, part]) => [key, smallestValue(asObject(part), root)]);
  return Object.fromEntries(entries);
}

function referred(reference: string, root: JsonObject): JsonObject {
  const path = asText(reference).split('/').slice(1);
  return asObject(path.reduce<Json>((part, key) => asObject(part)[key], root));
}

const scripted = new ScriptedUser();
export function userReply({ sections }: Asked, truth: Truth): JsonObject {
  const goal = asText(sections.Goal);
  const messages = asList(sections.Conversation).map(
    ({ speaker, content }): Message => ({ role: speaker === 'user' ? 'user' : 'assistant', content: asText(content) }),
  );
  const task = withOpening(
    truth.taskOfGoal(goal) ?? { id: 'strange', family: 'strange', user: { goal }, verifier: {} },
  );
  const query = { domain: truth.domain, task, messages, seed: 0 } satisfies UserQuery;
  const { content, done } = messages.length === 0 ? scripted.open(query) : scripted.reply(query);
  return { reasoning: done ? 'Nothing is left to ask.' : 'The agent needs to hear this.', content, done };
}

function withOpening(task: ToolsTask): ToolsTask {
  return { ...task, user: { ...task.user, opening: openingOf(task.user) } };
}

export type { ControlledOptions } from './controlled-options.js';

export interface ControlledModel {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  readonly server: LlmServer;
  /** Requests answered so far, by who asked: `prediction`, `user_turn`, `agent`, ... */
  readonly asked: ReadonlyMap<string, number>;
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
    // None at all where nothing can go wrong: faults remember every body.
    faults: options.slowMs === undefined ? undefined : { seed: options.seed, slowMs: options.slowMs },
    answer: (body) => {
      const request = readRequest(body, options.seed);
      asked.set(request.role, (asked.get(request.role) ?? 0) + 1);
      return controlledAnswer(request, truth, options);
    },
  });
  return { url: server.url, server, asked, close: () => server.close() };
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
