// As judge: whether each sentence of the rubric holds. The truth is found by carrying the conversation's calls out by the
// rules and asking the task's exact checks; with the chance `rewardError` the verdict is the opposite.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import { verifyEpisode } from '../../src/env/tools/verify-episode.js';
import { type Asked, asList, asObject, asText } from './asked.js';
import { drawChance } from './chance.js';
import type { ControlledOptions } from './controlled-options.js';
import type { Truth } from './truth.js';

export function verdictReply(asked: Asked, truth: Truth, options: ControlledOptions): JsonObject {
  const { isWrong, confidence } = drawChance(asked, options.rewardError ?? 0, 'reward');
  const isSolved = isTrulySolved(asked, truth, options.judgeReads);
  const passed = isWrong ? !isSolved : isSolved;
  const count = asList(asked.sections.Criteria).length;
  const reasoning = passed ? 'Everything that was asked for was done.' : 'Something that was asked for is missing.';
  const verdicts = Array.from({ length: count }, (_, i) => ({ criterion: i + 1, passed, reason: reasoning }));
  return { reasoning, verdicts, confidence };
}

/** Whether the exact checks of the task that the conversation is about all pass. */
export function isTrulySolved(asked: Asked, truth: Truth, reads: ControlledOptions['judgeReads'] = 'rules'): boolean {
  const shown = messagesOf(asked.sections.Conversation);
  const opening = shown.find(({ role }) => role === 'user')?.content ?? '';
  const task = truth.taskOfGoal(asText(asked.sections.Goal)) ?? truth.taskOfOpening(opening);
  if (task === undefined) return false;
  const initialState = truth.initialState(task);
  const failed = new Set(reads === 'rules' ? [] : failedCalls(shown));
  const finalState = shown.reduce((state, message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    return calls
      .filter(({ id }) => !failed.has(id))
      .reduce((before, call) => applyOperations(before, truth.outcome(before, call).operations), state);
  }, initialState);
  const { rubric: _, ...verifier } = task.verifier;
  const exact: ToolsTask = { ...task, verifier };
  return verifyEpisode(truth.domain, exact, { initialState, finalState, messages: shown }).reward === 1;
}

function failedCalls(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === 'tool' && message.isError ? [message.toolCallId] : []));
}

/** The judge's turns as messages; answers belong to the calls before them, in order. */
function messagesOf(section: Json | undefined): Message[] {
  const open: string[] = [];
  let made = 0;
  return asList(section).map(({ speaker, content: said, name, isError, calls }): Message => {
    const content = asText(said);
    if (speaker === 'user') return { role: 'user', content };
    if (speaker === 'tool') {
      return {
        role: 'tool',
        toolCallId: open.shift() ?? 'none',
        name: asText(name),
        content,
        isError: isError === true,
      };
    }
    const toolCalls = asList(calls).map((call) => {
      return { id: `c${made++}`, name: asText(call.name), arguments: asObject(call.arguments) };
    });
    open.push(...toolCalls.map(({ id }) => id));
    return { role: 'assistant', content, ...(toolCalls.length > 0 ? { toolCalls } : {}) };
  });
}
