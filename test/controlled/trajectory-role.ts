// As author of a whole trajectory: the task's reference solution as a conversation, with results by the rules; of these a
// share is wrong.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { CallSpec, ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import { ScriptedUser } from '../../src/env/tools/scripted-user.js';
import { type Asked, asObject, asText } from './asked.js';
import { drawChance } from './chance.js';
import type { ControlledOptions } from './controlled-options.js';
import type { Outcome, Truth } from './truth.js';
import { wrongOutcome } from './wrong-outcome.js';

const WHO =
  'To help you I have to know who you are: your number and your badge number, or your name and user id, please.';
const scripted = new ScriptedUser();

export function trajectoryReply(asked: Asked, truth: Truth, options: ControlledOptions): JsonObject {
  const { goal, opening } = asObject(asked.sections.Task);
  const task = truth.taskOfGoal(asText(goal));
  const first = asText(opening) || asText(goal);
  if (task === undefined)
    return { turns: [turn('user', { content: first }), turn('assistant', { content: 'I am sorry.' })] };
  return { turns: turnsOf(task, first, asked, truth, options) as unknown as Json };
}

function turnsOf(task: ToolsTask, first: string, asked: Asked, truth: Truth, options: ControlledOptions): JsonObject[] {
  const { calls = [], say } = task.reference ?? {};
  const turns = [turn('user', { content: first }), ...asks(task, first, truth)];
  let state = truth.initialState(task);
  for (const [i, call] of calls.entries()) {
    const right = truth.step(state, call);
    const { isWrong, rng } = drawChance(asked, options.transitionError ?? 0, `call ${i}`);
    const silentShare = options.silentShare ?? 0.5;
    const answer = isWrong ? wrongOutcome({ truth, state, call, right, silentShare, rng }) : right;
    turns.push(...callTurns(call, answer));
    state = right.after;
  }
  return say === undefined ? turns : [...turns, turn('assistant', { reasoning: 'Done.', content: say })];
}

/** The agent asks who it speaks to, so that it may use what the user says. */
function asks(task: ToolsTask, first: string, truth: Truth): JsonObject[] {
  const said: Message[] = [
    { role: 'user', content: first },
    { role: 'assistant', content: WHO },
  ];
  const { content } = scripted.reply({ domain: truth.domain, task, messages: said, seed: 0 });
  const answer = (task.user.script ?? []).length > 0 ? content : task.user.goal;
  return [turn('assistant', { reasoning: 'Who is it?', content: WHO }), turn('user', { content: answer })];
}

function callTurns({ name, arguments: given }: CallSpec, { operations, observation }: Outcome): JsonObject[] {
  const changes = operations.map((operation) => ({
    op: operation.op,
    path: operation.path,
    value: 'value' in operation ? JSON.stringify(operation.value) : 'null',
  }));
  return [
    turn('call', { reasoning: 'The next thing to do.', name, arguments: JSON.stringify(given) }),
    turn('result', { content: observation, name, operations: changes }),
  ];
}

function turn(role: string, given: JsonObject): JsonObject {
  return { role, reasoning: '', content: '', name: '', arguments: '', operations: [], ...given };
}
