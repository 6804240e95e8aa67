// Plays a list of calls as an agent would make them, in the state a task begins in, and keeps what came of it.

import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import { compileSchema, type SchemaCheck } from '../../env/state/state.js';
import type { CallSpec, EpisodeEnd, ToolSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';

export interface Played {
  readonly end: EpisodeEnd;
  /** One for each call that was reached: a call that ends the episode is the last. */
  readonly answers: readonly PlayedCall[];
}

export interface PlayedCall {
  readonly call: ToolCall;
  readonly prediction: Prediction;
  /** The state after it. */
  readonly state: JsonObject;
}

/** What the conversation would be: the user's wish, the calls and their answers, what is said at the end. */
export async function playCalls(
  { domain, task, responder, seed = 0 }: { domain: ToolsDomain; task: ToolsTask; responder: Responder; seed?: number },
  calls: readonly CallSpec[],
  say?: string,
): Promise<Played> {
  const initialState = initialStateOf(domain, task);
  const messages: Message[] = [
    { role: 'system', content: domain.policy },
    { role: 'user', content: task.user.opening ?? task.user.goal },
  ];
  const answers: PlayedCall[] = [];
  let state = initialState;
  let hasEnded = false;
  for (const [step, { name, arguments: given }] of calls.entries()) {
    const call: ToolCall = { id: `call_${step}`, name, arguments: given };
    messages.push({ role: 'assistant', content: null, toolCalls: [call] });
    const prediction = await responder.answer({ domain, task, state, messages: [...messages], call, step, seed });
    const { observation, isError, operations } = prediction;
    messages.push({ role: 'tool', toolCallId: call.id, name, content: observation, ...(isError ? { isError } : {}) });
    state = applyOperations(state, operations);
    answers.push({ call, prediction, state });
    hasEnded = prediction.terminated || (!isError && isLast(domain, name));
    if (hasEnded) break;
  }
  // Nobody is there any more once a call has ended the episode.
  if (say !== undefined && !hasEnded) messages.push({ role: 'assistant', content: say });
  return { end: { initialState, finalState: state, messages }, answers };
}

function isLast({ tools }: ToolsDomain, name: string): boolean {
  return tools.find((tool) => tool.name === name)?.terminates === true;
}

/** What is wrong with calls as calls: unknown tools, arguments that break their schemas; one sentence each. */
export function callFaults(domain: ToolsDomain, calls: readonly CallSpec[]): string[] {
  return calls.flatMap(({ name, arguments: given }) => {
    const tool = domain.tools.find((known) => known.name === name);
    if (tool === undefined) return [`there is no tool "${name}"`];
    return argumentCheck(tool)(given).map((fault) => `${name}: ${fault}`);
  });
}

const checks = new WeakMap<ToolSpec, SchemaCheck>();

/** The check of a tool's arguments, compiled once. */
export function argumentCheck(tool: ToolSpec): SchemaCheck {
  const known = checks.get(tool) ?? compileSchema(tool.parameters, `the arguments of tool "${tool.name}"`);
  checks.set(tool, known);
  return known;
}
