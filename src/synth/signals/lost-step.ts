// Which step lost an episode: it is forked before each of its steps, from the last one back, and gone on with by the task's own
// solution. The last step before which that still solves the task is the one that lost it.

import { canonicalJson } from '../../core/canonical-json.js';
import type { JsonObject } from '../../core/json.js';
import {
  applyOperations,
  type CallSpec,
  initialStateOf,
  type Message,
  successfulCalls,
  type ToolsDomain,
  type ToolsTask,
  verifyEpisode,
} from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';

const SUCCEEDED = 0.5;

/**
 * Number of the step, from 0, that lost a failed episode; as many as it has steps where nothing was lost and it was only
 * cut off. Undefined where it did not fail, where rules or solution are lacking, or where the solution does not help from the start.
 */
export function lostStep(domain: ToolsDomain, task: ToolsTask, record: EpisodeRecord): number | undefined {
  const { rules } = domain;
  const calls = task.reference?.calls;
  if (!isLost(record) || calls === undefined || !calls.every(({ name }) => rules?.tools.has(name))) return undefined;
  const states = statesBefore(domain, task, record);
  // What has ended cannot be gone on with: its last step is the latest that may have lost it.
  const latest = record.steps.length - (record.terminated ? 1 : 0);
  for (let step = latest; step >= 0; step--) {
    const messages = record.messages.slice(0, record.steps[step]?.message);
    if (isSolvedFrom({ domain, task, state: states[step], messages })) return step;
  }
  return undefined;
}

/** Whether an episode was judged and failed. */
export function isLost({ return: total }: EpisodeRecord): boolean {
  return total !== null && total <= SUCCEEDED;
}

/** The state before each step, and after the last. */
function statesBefore(domain: ToolsDomain, task: ToolsTask, { steps }: EpisodeRecord): JsonObject[] {
  const states = [initialStateOf(domain, task)];
  for (const { predictions } of steps) {
    states.push(predictions.reduce((state, { operations }) => applyOperations(state, operations), states.at(-1)!));
  }
  return states;
}

interface Fork {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly state: JsonObject;
  readonly messages: readonly Message[];
}

/** Whether the rest of the solution, by the exact rules, passes every exact check. */
function isSolvedFrom({ domain, task, state, messages }: Fork): boolean {
  const lived: Message[] = [...messages];
  let finalState = state;
  for (const [i, call] of callsLeft(task.reference?.calls ?? [], messages).entries()) {
    const made = { ...call, id: `fork-${i}` };
    const { operations, observation, isError } = domain.rules!.execute(finalState, made);
    finalState = applyOperations(finalState, operations);
    lived.push({ role: 'assistant', content: null, toolCalls: [made] });
    lived.push({
      role: 'tool',
      toolCallId: made.id,
      name: call.name,
      content: observation,
      ...(isError && { isError }),
    });
  }
  if (task.reference?.say !== undefined) lived.push({ role: 'assistant', content: task.reference.say });
  const { rubric: _, ...verifier } = task.verifier;
  const end = { initialState: initialStateOf(domain, task), finalState, messages: lived };
  return verifyEpisode(domain, { ...task, verifier }, end).reward === 1;
}

/** Calls of the solution that were not made yet, each as often as it is in it. */
export function callsLeft(solution: readonly CallSpec[], messages: readonly Message[]): CallSpec[] {
  const made = successfulCalls(messages).map(keyOf);
  return solution.filter((call) => {
    const at = made.indexOf(keyOf(call));
    if (at >= 0) made.splice(at, 1);
    return at < 0;
  });
}

function keyOf({ name, arguments: given }: CallSpec): string {
  return canonicalJson([name, given]);
}
