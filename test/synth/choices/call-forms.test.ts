// What an agent may choose from: calls under schemas, filled with what was named, beside questions and sayings.

import { describe, expect, it } from 'vitest';
import type { Message, ToolSpec, ToolsTask } from '../../../src/env/index.js';
import { CallForms, choiceText, chosenOf } from '../../../src/synth/index.js';

const tools: ToolSpec[] = [
  {
    name: 'unlock',
    description: '',
    kind: 'write',
    parameters: {
      type: 'object',
      properties: {
        user_id: { type: 'string', description: 'User, such as USR-1' },
        door: { type: 'string', enum: ['front', 'back'] },
        times: { type: 'integer', minimum: 1 },
      },
      required: ['user_id', 'door'],
    },
  },
];
const tasks = [
  {
    id: 'one',
    user: { opening: '', goal: '' },
    verifier: {},
    reference: {
      calls: [{ name: 'unlock', arguments: { user_id: 'USR-9', door: 'back' } }],
      say: 'Door of USR-9 is open.',
    },
  },
] as unknown as ToolsTask[];
const forms = new CallForms(tools, tasks);
const talk = (...said: string[]): Message[] => [
  { role: 'system', content: 'USR-77 is nobody.' },
  ...said.map((content): Message => ({ role: 'user', content })),
];
const texts = (...said: string[]) => forms.at(talk(...said)).map(({ text }) => text);

describe('choices of a moment', () => {
  it('copy ids from users and tools alone, the latest first, and try all that a schema lists', () => {
    const found = texts('I am USR-1042.', 'No: USR-1043!');
    const calls = found.filter((text) => text.startsWith('unlock')).filter((text) => text.split(' ').length === 3);
    expect(calls).toEqual([
      'unlock USR-1043 back',
      'unlock USR-1043 front',
      'unlock USR-1042 back',
      'unlock USR-1042 front',
    ]);
    expect(found).toContain('unlock USR-1043 back 1');
  });

  it('are questions and sayings where nothing is known', () => {
    expect(texts('Hello.')).toEqual([
      'say That is done. Is there anything else I can help with?',
      'ask To go on, please tell me your user id',
    ]);
    expect(texts('USR-5 here.')).toContain('say Door of USR-5 is open.');
  });

  it('stay within what a policy can be shown', () => {
    const many = Array.from({ length: 300 }, (_, i) => `USR-${i}`).join(', ');
    expect(texts(many).length).toBeLessThanOrEqual(250);
  });

  it('read as the actions they are', () => {
    for (const { text, action } of forms.at(talk('USR-5 wants in.'))) {
      expect(choiceText(action)).toBe(text);
      const { content, call } = action;
      expect(chosenOf(call === undefined ? { content } : { content, toolCalls: [{ id: 'a', ...call }] })).toEqual(
        action,
      );
    }
  });
});
