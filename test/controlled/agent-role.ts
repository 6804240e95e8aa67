// As agent: goes on with the task's reference solution from where the conversation stands; sometimes does something else.

import { canonicalJson, type Json } from '../../src/core/canonical-json.js';
import type { Rng } from '../../src/core/rng.js';
import type { CallSpec, ToolsTask } from '../../src/env/tools/domain.js';
import type { LlmAnswer } from '../llm-server/completion.js';
import { type Asked, asObject, parseJson } from './asked.js';
import { drawChance } from './chance.js';
import type { ControlledOptions } from './controlled-options.js';
import type { Truth } from './truth.js';
import { pick, wrongText } from './wrong-outcome.js';

const QUESTION = 'Could you tell me your employee number and badge number, please, and which one you mean?';
const NOTHING_LEFT = 'Is there anything else I can do for you?';

export function agentAnswer(asked: Asked, truth: Truth, options: ControlledOptions): LlmAnswer {
  const opening = asked.body.messages.find(({ role }) => role === 'user')?.content ?? '';
  const task = truth.taskOfOpening(opening);
  if (task?.reference === undefined) return { text: 'I am sorry, I cannot help with that.' };
  const made = callsMade(asked);
  const next = task.reference.calls[progress(task, made)];
  const { isWrong, rng } = drawChance(asked, options.agentError ?? 0, 'agent');
  if (isWrong) return wrongTurn(task, next, rng, made.length);
  if (next !== undefined && isUnheard(next, asked)) return { text: QUESTION };
  if (next !== undefined) return callAnswer(next, made.length);
  const said = asked.body.messages.some(({ role, content }) => role === 'assistant' && content === task.reference?.say);
  return { text: said ? NOTHING_LEFT : (task.reference.say ?? NOTHING_LEFT) };
}

/** Whether a call has an id that nobody mentioned; asked for once, then taken from the solution. */
function isUnheard({ arguments: given }: CallSpec, { body }: Asked): boolean {
  const heard = body.messages.map(({ content }) => content ?? '').join('\n');
  if (heard.includes(QUESTION)) return false;
  return Object.values(given).some((value) => typeof value === 'string' && /\d/.test(value) && !heard.includes(value));
}

function callsMade({ body }: Asked): CallSpec[] {
  return body.messages.flatMap(({ tool_calls }) =>
    (tool_calls ?? []).map(({ function: { name, arguments: text } }) => ({
      name,
      arguments: asObject(parseJson(text)),
    })),
  );
}

/** How many of the reference's calls were made, in its order. */
function progress({ reference }: ToolsTask, made: readonly CallSpec[]): number {
  const calls = reference?.calls ?? [];
  let done = 0;
  for (const call of made) if (done < calls.length && isSame(calls[done], call)) done += 1;
  return done;
}

function isSame(a: CallSpec, b: CallSpec): boolean {
  return a.name === b.name && canonicalJson(a.arguments) === canonicalJson(b.arguments);
}

/** The id depends on the conversation, not on when the request came. */
function callAnswer({ name, arguments: given }: CallSpec, before: number): LlmAnswer {
  return { toolCalls: [{ id: `call_${before + 1}`, name, arguments: given }] };
}

/** Says that all is done, makes a call of a known failure, or the right call with a wrong argument. */
function wrongTurn(task: ToolsTask, next: CallSpec | undefined, rng: Rng, before: number): LlmAnswer {
  const kind = rng.uniform();
  const failing = (task.failures ?? []).flatMap(({ calls }) => calls);
  if (next === undefined || kind < 0.3) return { text: task.failures?.find(({ say }) => say)?.say ?? NOTHING_LEFT };
  if (kind < 0.6 && failing.length > 0) return callAnswer(pick(failing, rng), before);
  const texts = Object.entries(next.arguments).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  if (texts.length === 0) return callAnswer(next, before);
  const [key, value] = pick(texts, rng);
  const wrong: Record<string, Json> = { ...next.arguments, [key]: wrongText(value, rng) };
  return callAnswer({ name: next.name, arguments: wrong }, before);
}
