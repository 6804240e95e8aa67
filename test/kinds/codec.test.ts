// What each kind of world writes to the wire, and what it takes from it.

import { describe, expect, it } from 'vitest';
import { faceOf, kinds } from '../../src/kinds/registry.js';

const codecOf = (family: string) => faceOf({ family }).codec;
const refused = (problem: string) =>
  expect.objectContaining({ code: 'REQUEST_INVALID', message: expect.stringContaining(problem) });

describe('values of', () => {
  it('numbers are lists', () => {
    const codec = codecOf('vector');
    expect(codec.encodeObservation(Float32Array.of(0.5, -1))).toEqual([0.5, -1]);
    expect(codec.decodeAction([0.5])).toEqual(Float32Array.of(0.5));
    expect(codec.decodeAction(2)).toEqual(Float32Array.of(2));
    expect(() => codec.decodeAction(['1'])).toThrowError(refused('action: expected a number or a list of numbers'));
  });

  it('text are lines', () => {
    const codec = codecOf('text');
    expect(codec.encodeObservation('A room.')).toBe('A room.');
    expect(codec.decodeAction('look')).toBe('look');
    expect(() => codec.decodeAction({ text: 'look' })).toThrowError(refused('action: expected a string'));
  });

  it('tools are messages and turns, without the thoughts of an agent', () => {
    const codec = codecOf('tools');
    const messages = [
      { role: 'assistant', content: null, reasoning: 'hm', toolCalls: [{ id: 'a', name: 'act', arguments: {} }] },
      { role: 'tool', toolCallId: 'a', name: 'act', content: 'Done.' },
    ];
    expect(codec.encodeObservation({ messages })).toEqual({
      messages: [
        { role: 'assistant', content: null, tool_calls: [{ id: 'a', name: 'act', arguments: {} }] },
        { role: 'tool', tool_call_id: 'a', name: 'act', content: 'Done.', is_error: false },
      ],
    });
    expect(codec.decodeAction({ tool_calls: [{ name: 'act', arguments: {} }] })).toEqual({
      content: null,
      toolCalls: [{ id: 'call_0', name: 'act', arguments: {} }],
    });
    expect(() => codec.decodeAction({ tool_calls: [{ arguments: {} }] })).toThrowError(refused('action.tool_calls.0'));
  });

  it('every kind that can be served are brought by it', () => {
    const served = kinds.list().filter(({ face }) => face !== undefined);
    for (const { face } of served) expect(face!.codec.decodeAction).toBeTypeOf('function');
  });
});
