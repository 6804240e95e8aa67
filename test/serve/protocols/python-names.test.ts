import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { type OfferedTool, pythonTools } from '../../../src/serve/protocols/tools.js';

const text = { type: 'string' };

function tool(name: string, properties: JsonObject = {}, required: string[] = []): OfferedTool {
  return { name, description: '', parameters: { type: 'object', properties, required, additionalProperties: false } };
}

describe('names that Python can bind', () => {
  it('leave names alone that are identifiers, and make different ones of the others', () => {
    const names = ['get_user', 'get-user', 'get.user', 'class', 'reset', '2nd', '_hidden', 'é'];
    const offered = pythonTools(names.map((name) => tool(name)));
    expect([...offered.keys()]).toEqual([
      'get_user',
      'get_user_2',
      'get_user_3',
      'class_',
      'reset_',
      'x2nd',
      'x_hidden',
      'x_',
    ]);
    expect([...offered.values()].map(({ name }) => name)).toEqual(names);
  });

  it('lead back to the names of the domain', () => {
    const offered = pythonTools([tool('send', { from: text, 'reply-to': text, to: text }, ['from', 'to'])]);
    const { tool: shown, argumentsOf } = offered.get('send')!;
    expect(Object.keys(shown.parameters['properties'] as object)).toEqual(['from_', 'reply_to', 'to']);
    expect(shown.parameters['required']).toEqual(['from_', 'to']);
    expect(argumentsOf({ from_: 'a', reply_to: 'b', to: 'c' })).toEqual({ from: 'a', 'reply-to': 'b', to: 'c' });
  });

  it('leave out nulls that stand for nothing, and no others', () => {
    const properties = {
      needed: text,
      plain: text,
      nullable: { type: ['string', 'null'] },
      either: { anyOf: [text, { type: 'null' }] },
      chosen: { enum: ['a', 'b'] },
      free: {},
    };
    const { argumentsOf } = pythonTools([tool('send', properties, ['needed'])]).get('send')!;
    const nulls = Object.fromEntries([...Object.keys(properties), 'unknown'].map((key) => [key, null]));
    expect(Object.keys(argumentsOf(nulls))).toEqual(['needed', 'nullable', 'either', 'free', 'unknown']);
  });
});
