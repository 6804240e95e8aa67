// What every pack of ours is tested for: its tasks are solvable, its verifiers cannot be fooled by the ways
// to fail that it lists, its state keeps to its schema, and its recorded episodes are what its rules do.

import type { JsonObject } from '../../src/core/canonical-json.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { SchemaCheck } from '../../src/env/state/state.js';
import type { CallSpec, EpisodeEnd, ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import { verifyEpisode } from '../../src/env/tools/verify-episode.js';
import { scenarioFolder } from '../controlled/native-domain.js';
import { jsonLines } from '../data.js';
import { rulesEnvironment } from '../env/tools/library.js';

/** An episode as files hold it: messages in OpenAI's form. */
export interface FiledEpisode {
  readonly id: string;
  readonly task: string;
  readonly messages: readonly FiledMessage[];
  readonly reward?: number;
  readonly success?: boolean;
  readonly reason?: string;
}

interface FiledMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

export function readEpisodes(scenario: string, file: string): FiledEpisode[] {
  return jsonLines(`${scenarioFolder(scenario)}/${file}`);
}

/** The messages of the real environment when an agent makes these calls, one a turn, and says this at the end. */
export async function liveThrough(
  domain: ToolsDomain,
  task: ToolsTask,
  { calls, say }: { readonly calls: readonly CallSpec[]; readonly say?: string },
): Promise<{ reward: number | null | undefined; state: JsonObject }> {
  const env = rulesEnvironment(domain, { maxSteps: 60 });
  await env.reset({ seed: 1, task: task.id });
  const actions = [
    ...calls.map((call, i) => ({ content: null, toolCalls: [{ id: `call-${i}`, ...call }] })),
    ...(say === undefined ? [] : [{ content: say }]),
  ];
  let reward: number | null | undefined;
  for (const action of actions) {
    const step = await env.step(action);
    if (!step.terminated && !step.truncated) continue;
    reward = (step.info as { verdict?: { reward: number | null } }).verdict?.reward;
    break;
  }
  const { state } = env;
  const end = { initialState: initialStateOf(domain, task), finalState: state, messages: env.messages };
  const found = reward === undefined ? verifyEpisode(domain, task, end).reward : reward;
  await env.close();
  return { reward: found, state };
}

/** Episode by the rules alone, without an environment; for probes and files. */
export function playCalls(
  domain: ToolsDomain,
  task: ToolsTask | undefined,
  { calls, say }: { readonly calls: readonly CallSpec[]; readonly say?: string },
): EpisodeEnd {
  const initialState = task === undefined ? domain.initialState : initialStateOf(domain, task);
  const messages: Message[] = task?.user.opening === undefined ? [] : [{ role: 'user', content: task.user.opening }];
  let finalState = initialState;
  calls.forEach((call, i) => {
    const toolCall = { id: `call-${i}`, ...call };
    const { operations, observation, isError } = domain.rules!.execute(finalState, toolCall);
    finalState = applyOperations(finalState, operations);
    messages.push({ role: 'assistant', content: null, toolCalls: [toolCall] });
    messages.push({ role: 'tool', toolCallId: toolCall.id, name: call.name, content: observation, isError });
  });
  if (say !== undefined) messages.push({ role: 'assistant', content: say }, { role: 'user', content: 'Thank you.' });
  return { initialState, finalState, messages };
}

/** Carries the calls of a filed episode out: where the answers differ from those filed, and the verdict. */
export function replayFiled(
  domain: ToolsDomain,
  episode: FiledEpisode,
): { differences: string[]; reward: number | null } {
  const task = domain.tasks.find(({ id }) => id === episode.task)!;
  const initialState = initialStateOf(domain, task);
  const differences: string[] = [];
  const messages: Message[] = [];
  let finalState = initialState;
  const answers = new Map<string, string>();
  for (const { role, content, tool_calls = [], tool_call_id = '', name = '' } of episode.messages) {
    if (role === 'user') messages.push({ role, content: content! });
    if (role === 'assistant') {
      const toolCalls = tool_calls.map(({ id, function: made }) => ({
        id,
        name: made.name,
        arguments: JSON.parse(made.arguments) as JsonObject,
      }));
      messages.push({ role, content, ...(toolCalls.length > 0 ? { toolCalls } : {}) });
      for (const call of toolCalls) {
        const { operations, observation } = domain.rules!.execute(finalState, call);
        finalState = applyOperations(finalState, operations);
        answers.set(call.id, observation);
      }
    }
    if (role !== 'tool') continue;
    const expected = answers.get(tool_call_id);
    if (expected !== content) differences.push(`${episode.id} ${tool_call_id}: ${expected} instead of ${content}`);
    messages.push({ role, toolCallId: tool_call_id, name, content: content!, isError: content!.startsWith('Error: ') });
  }
  return { differences, reward: verifyEpisode(domain, task, { initialState, finalState, messages }).reward };
}

/** Faults of the state after the task's reference: of its schema, and of the rules' invariants at every call. */
export function stateFaults(domain: ToolsDomain, task: ToolsTask, check: SchemaCheck): string[] {
  let state = initialStateOf(domain, task);
  const faults = [...check(state), ...domain.rules!.invariants(state, state)];
  (task.reference?.calls ?? []).forEach((call, i) => {
    const after = applyOperations(state, domain.rules!.execute(state, { id: `c${i}`, ...call }).operations);
    faults.push(...domain.rules!.invariants(state, after));
    state = after;
  });
  return [...faults, ...check(state)];
}
