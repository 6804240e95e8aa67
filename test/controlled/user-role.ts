// As user: says the lines of the task's script; of a task without one, the beginning of what it wants, and then goodbye.

import type { JsonObject } from '../../src/core/canonical-json.js';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import { ScriptedUser } from '../../src/env/tools/scripted-user.js';
import type { UserQuery } from '../../src/env/tools/tools-family.js';
import { type Asked, asList, asText } from './asked.js';
import { openingOf, type Truth } from './truth.js';

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
