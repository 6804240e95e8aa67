// What an episode truly came to, whatever a judge or a simulator made of it: its calls are made again by the exact rules, and
// the task's exact checks decide. Where there are none, the state decides: was anything of the solution done at all?

import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import { callChecks } from '../../env/tools/check-action.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import { successfulCalls } from '../../env/tools/message.js';
import { refusalsOf } from '../../env/tools/rules-responder.js';
import { initialStateOf, referenceStateOf } from '../../env/tools/situation.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import { isTrueChange } from '../../worldmodel/must-fail/run-must-fail.js';

/** `earned` null: it cannot be told. */
export interface Truth {
  readonly earned: boolean | null;
  readonly reason: string;
}

/** Why nothing can be said of a task's episodes; undefined where it can. */
export function whyUntellable(domain: ToolsDomain, task: ToolsTask): string | undefined {
  if (task.reference === undefined) return 'it has no solution to hold an episode against';
  if (domain.rules === undefined) {
    return writesOf(domain, task).length > 0 ? undefined : 'its solution changes nothing';
  }
  const end = referenceStateOf(domain, task);
  if (end === undefined) return 'the rules do not know all calls of its solution';
  if (stateHash(end) === stateHash(initialStateOf(domain, task))) return 'its solution changes nothing';
  return isIdlePaid(domain, task) ? 'its exact checks are passed by doing nothing' : undefined;
}

/** Whether the task's exact checks, if there are any, let pass who does nothing. */
function isIdlePaid(domain: ToolsDomain, task: ToolsTask): boolean {
  const state = initialStateOf(domain, task);
  return verifyEpisode(domain, exactly(task), { initialState: state, finalState: state, messages: [] }).reward === 1;
}

/** The task without what only a judge can decide. */
function exactly(task: ToolsTask): ToolsTask {
  const { rubric: _, ...verifier } = task.verifier;
  return { ...task, verifier };
}

/** What came of the calls of a conversation in the real environment. */
export function truthOf(domain: ToolsDomain, task: ToolsTask, messages: readonly Message[]): Truth {
  if (domain.rules === undefined) return truthByCalls(domain, task, messages);
  const initialState = initialStateOf(domain, task);
  const real = replayed(domain, initialState, messages);
  const verdict = verifyEpisode(domain, exactly(task), { initialState, ...real });
  const failed = verdict.checks.find(({ passed }) => passed === false);
  if (failed !== undefined) return { earned: false, reason: `${failed.name}: ${failed.reason}` };
  if (verdict.reward === 1) return { earned: true, reason: 'every exact check is passed' };
  const wanted = referenceStateOf(domain, task);
  if (wanted === undefined) return { earned: null, reason: 'the rules do not know all calls of its solution' };
  return isTrueChange(initialState, wanted, real.finalState)
    ? { earned: true, reason: 'at least half of what the solution changes was changed' }
    : { earned: false, reason: 'little or nothing of what the solution changes was changed' };
}

/** Without rules: that none of the solution's changes was even asked for is certain, anything else is not. */
function truthByCalls(domain: ToolsDomain, task: ToolsTask, messages: readonly Message[]): Truth {
  const wanted = new Set(writesOf(domain, task));
  const isTried = successfulCalls(messages).some(({ name }) => wanted.has(name));
  return isTried
    ? { earned: null, reason: 'no rules say what its calls do' }
    : { earned: false, reason: `none of the solution's changes was asked for (${[...wanted].join(', ')})` };
}

function writesOf({ tools }: ToolsDomain, { reference }: ToolsTask): string[] {
  const writes = new Set(tools.filter(({ kind }) => kind === 'write').map(({ name }) => name));
  return (reference?.calls ?? []).map(({ name }) => name).filter((name) => writes.has(name));
}

/** The same calls, answered by the rules. */
function replayed(
  { rules, tools }: ToolsDomain,
  initialState: JsonObject,
  messages: readonly Message[],
): { readonly finalState: JsonObject; readonly messages: readonly Message[] } {
  const checks = callChecks(tools);
  const answers = new Map<string, { readonly content: string; readonly isError: boolean }>();
  let state = initialState;
  for (const call of messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))) {
    if (!rules?.tools.has(call.name) || checks.problems(call).length > 0) continue;
    const outcome = rules.execute(state, call);
    const refusals = refusalsOf(rules, state, call, outcome);
    if (refusals.length === 0) state = applyOperations(state, outcome.operations);
    answers.set(call.id, { content: outcome.observation, isError: outcome.isError || refusals.length > 0 });
  }
  const told = messages.map((message): Message => {
    const answer = message.role === 'tool' ? answers.get(message.toolCallId) : undefined;
    return message.role === 'tool' && answer !== undefined ? { ...message, ...answer } : message;
  });
  return { finalState: state, messages: told };
}
