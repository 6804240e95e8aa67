// The scripted user: which line it says, when it leaves, and patterns that would never end.

import { expect, test } from 'vitest';
import type { UserSpec } from '../../../src/env/tools/domain.js';
import type { Message } from '../../../src/env/tools/message.js';
import { FAREWELL, NOTHING_TO_ADD, ScriptedUser } from '../../../src/env/tools/scripted-user.js';

const user = new ScriptedUser();

/** What the user says to each sentence of the agent. */
function conversation(spec: Partial<UserSpec>, sentences: readonly string[]) {
  const query = { task: { user: { goal: 'the goal', ...spec }, verifier: {} }, seed: 1 };
  const messages: Message[] = [{ role: 'user', content: user.open(query as never).content }];
  const replies: [string, boolean][] = [];
  for (const content of sentences) {
    messages.push({ role: 'assistant', content });
    const { content: said, done } = user.reply({ ...query, messages } as never);
    messages.push({ role: 'user', content: said });
    replies.push([said, done]);
  }
  return { opening: messages[0].content, replies };
}

test('says the first line that fits and was not said, and leaves with the one that is last', () => {
  const script = [
    { when: 'name|who', say: 'Ada' },
    { when: 'NAME', say: 'Ada, as I said' },
    { when: 'bye', say: 'Bye!', done: true },
  ];
  expect(conversation({ script }, ['Your name?', 'Your Name?', 'hm', 'good bye']).replies).toEqual([
    ['Ada', false],
    ['Ada, as I said', false],
    [NOTHING_TO_ADD, false],
    ['Bye!', true],
  ]);
});

test('has nothing to add once, and then leaves', () => {
  expect(conversation({}, ['a', 'b']).replies).toEqual([
    [NOTHING_TO_ADD, false],
    [FAREWELL, true],
  ]);
});

test('does not hang on a pattern that backtracks for ever', () => {
  const talk = () => conversation({ script: [{ when: '(a+)+$', say: 'x' }] }, [`${'a'.repeat(60)}b`]);
  expect(talk).toThrow(
    expect.objectContaining({ code: 'DOMAIN_FILE_INVALID', message: expect.stringContaining('(a+)+$') }),
  );
});
