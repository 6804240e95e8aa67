import { describe, expect, it } from 'vitest';
import type { Servable } from '../../../src/run/index.js';
import { actionInText } from '../../../src/serve/facades/text-action.js';

function servedAs(family: Servable['family'], names: readonly string[] = []): Servable {
  const tools = names.map((name) => ({ name, description: '', parameters: {}, kind: 'read' as const }));
  return { family, name: family, tools } as unknown as Servable;
}

describe('what a model wrote', () => {
  const desk = servedAs('tools', ['find', 'note']);
  const call = (name: string, args: object) => ({ id: '', name, arguments: args });

  it.each([
    ['a call as JSON', '{"name": "find", "arguments": {"q": "a"}}', [call('find', { q: 'a' })]],
    ['arguments as a text of JSON', '{"name": "find", "arguments": "{\\"q\\": 1}"}', [call('find', { q: 1 })]],
    ['other words for the same', '{"tool": "find", "parameters": {}}', [call('find', {})]],
    ["AgentGym's own words", '{"thought": "", "function_name": "find", "arguments": {}}', [call('find', {})]],
    ['a fence', '```json\n{"name":"find","arguments":{}}\n```', [call('find', {})]],
    [
      'tags',
      'Let me see.\n<tool_call>\n{"name":"find","arguments":{"q":"a"}}\n</tool_call>',
      [call('find', { q: 'a' })],
    ],
    [
      'several tags',
      '<tool_call>{"name":"find","arguments":{}}</tool_call><tool_call>{"name":"note","arguments":{"x":[1]}}</tool_call>',
      [call('find', {}), call('note', { x: [1] })],
    ],
    ['ReAct', 'Thought: hm.\n\nAction: find with Action Input: {"q": "}{"}', [call('find', { q: '}{' })]],
    ['ReAct in lines', 'Thought: hm.\nAction: find\nAction Input: {"q": {"a": 1}}', [call('find', { q: { a: 1 } })]],
    [
      'what it thinks it will see',
      'Action: find with Action Input: {"q":1}\nObservation: {"a":2}',
      [call('find', { q: 1 })],
    ],
    ['thoughts', '<think>{"name":"note"}</think>{"name":"find","arguments":{}}', [call('find', {})]],
    [
      'a tool that is not there',
      'Action: finish with Action Input: {"answer": "yes"}',
      [call('finish', { answer: 'yes' })],
    ],
  ])('is a call: %s', (_, text, toolCalls) => {
    expect(actionInText(desk, text)).toEqual({ content: null, toolCalls });
  });

  it.each([
    ['words', 'Hello, who are you?', 'Hello, who are you?'],
    ['words after thoughts', '<think>Who?</think>\nWho are you?', 'Who are you?'],
    ['words after a thought', 'Thought: who is it?\nWho are you?', 'Who are you?'],
    ['words by the tool for it', 'Action: respond_to_user with Action Input: {"content": "Hi"}', 'Hi'],
    ['JSON that is no call', '{"status": "done"}', '{"status": "done"}'],
  ])('is said: %s', (_, text, content) => {
    expect(actionInText(desk, text)).toEqual({ content });
  });

  it.each([
    ['broken JSON in tags', '<tool_call>{"name": "find", </tool_call>'],
    ['broken JSON after ReAct', 'Action: find with Action Input: {"q": '],
    ['arguments that are a list', '{"name": "find", "arguments": [1]}'],
    ['a call without a name', '<tool_call>{"arguments": {}}</tool_call>'],
    ['a key of a prototype', '{"name": "find", "arguments": {"__proto__": {"a": 1}}}'],
    ['deep JSON', `{"name":"find","arguments":${'{"a":'.repeat(200)}1${'}'.repeat(201)}`],
    ['nothing', '  '],
    [
      'speaking among calls',
      '<tool_call>{"name":"find","arguments":{}}</tool_call><tool_call>{"name":"respond_to_user","arguments":{"content":"a"}}</tool_call>',
    ],
  ])('is refused: %s', (_, text) => {
    expect(() => actionInText(desk, text)).toThrow('Request invalid');
  });

  it.each([
    ['open door', 'open door'],
    ['Thought: it is shut.\nAction: open door', 'open door'],
    ['<think>Action: cry</think>Action: open door', 'open door'],
  ])('is a line of text: %s', (text, line) => {
    expect(actionInText(servedAs('text'), text)).toBe(line);
  });

  it.each([
    ['[0.5, -1]', [0.5, -1]],
    ['Thought: 3 of them.\nAction: [2]', [2]],
    ['Action: -0.25', [-0.25]],
    ['I push by +1e-1 then', [Math.fround(0.1)]],
  ])('is numbers: %s', (text, row) => {
    expect(Array.from(actionInText(servedAs('vector'), text) as Float32Array)).toEqual(row);
  });

  it('is refused where numbers should be', () => {
    expect(() => actionInText(servedAs('vector'), 'left')).toThrow('a list of numbers');
  });
});
