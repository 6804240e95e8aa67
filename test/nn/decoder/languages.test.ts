// Languages that generation is held to: the trie and the schema by one contract, and the schema by the validator of tools.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../../src/core/json.js';
import { Rng } from '../../../src/core/rng.js';
import { callChecks, compileSchema, type ToolSpec } from '../../../src/env/index.js';
import * as nn from '../../../src/nn/index.js';
import { languageContract } from './language-contract.js';

const tools = parse(readFileSync('packs/helpdesk/tools.yaml', 'utf8')) as ToolSpec[];
const calls: JsonObject = {
  anyOf: tools.map(({ name, parameters }) => ({
    type: 'object',
    properties: { name: { const: name }, arguments: parameters },
    required: ['name', 'arguments'],
  })),
};
const tokenizer = nn.trainTokenizer(
  tools.map(({ name }) => `{"name":"${name}","arguments":{"employee_id":"EMP-1003"}}`),
  { size: 330 },
);

describe('a trie', () => {
  const END = 9;
  const texts = [[1, 2, 3], [1, 2], [4], [1, 5, 6, 7, 8, 2, 2, 2]];
  const said = new Set(texts.map((text) => text.join()));
  const language = new nn.TokenTrie(texts, END);
  languageContract({ language, end: END, vocabSize: 20, room: 5, has: (tokens) => said.has(tokens.join()) });
});

describe('a JSON Schema', () => {
  const { end } = tokenizer.special;
  const language = new nn.SchemaLanguage(calls, tokenizer);
  const problems = callChecks(tools).problems;
  const has = (tokens: readonly number[]) => problems(JSON.parse(tokenizer.decode(tokens))).length === 0;
  languageContract({ language, end, vocabSize: tokenizer.size, room: 90, has });

  it('lets through calls that the validator of tools accepts, in any cut into tokens, and knows its own texts', () => {
    const named = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const text = walked(language, Rng.fromSeed(i), 60 + i);
      const call = JSON.parse(text);
      expect(problems(call)).toEqual([]);
      expect(language.has(text)).toBe(true);
      expect(JSON.stringify(call)).toBe(text);
      named.add(call.name);
    }
    expect(named.size).toBeGreaterThan(tools.length / 2);
    const reference = '{"name":"get_employee","arguments":{"employee_id":"EMP-1003 \\"Ümit\\"\\n"}}';
    expect(language.has(reference)).toBe(true);
    expect(nn.choicesAlong(language, [...tokenizer.encode(reference), end]).length).toBeLessThan(reference.length);
    for (const wrong of [reference.slice(0, -1), reference.replace('get', 'let'), reference.replace(':{', ': {')])
      expect(language.has(wrong)).toBe(false);
  });

  it.each([
    { type: 'string', minLength: 2, maxLength: 4 },
    { type: 'string', pattern: '^[A-Z]{2}-"\\d+$', maxLength: 6 },
    { type: 'string', pattern: 'a|^b', minLength: 3, maxLength: 5 },
    { type: ['string', 'null'], format: 'date' },
    { type: 'integer' },
    { type: 'integer', minimum: -12, maximum: 205 },
    { type: 'integer', exclusiveMinimum: 98, maximum: 1001 },
    { type: 'number' },
    { type: 'number', minimum: -1.25, maximum: 10.5 },
    { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.01 },
    { type: 'number', maximum: -0.125 },
    { type: 'array', items: { enum: ['é', 'x\n', 3, null, { a: [1] }] }, minItems: 2, maxItems: 3 },
    { type: 'array', items: { type: 'boolean' } },
    { type: 'object', properties: { a: { type: 'null' }, b: {}, c: { const: 3 }, d: false }, required: ['c'] },
    { type: 'object', properties: { a: { type: 'null' }, b: { type: 'boolean' } }, additionalProperties: false },
    { anyOf: [{ $ref: '#/$defs/x~1y' }, { type: 'null' }], $defs: { 'x/y': { type: 'integer', maximum: 3 } } },
    {
      ...{ type: 'object', required: ['k'] },
      oneOf: [
        { properties: { k: { const: 'a' }, v: { type: 'integer' } }, required: ['k', 'v'] },
        { properties: { k: { enum: ['b', 'c'] } }, required: ['k'] },
      ],
    },
    { allOf: [{ properties: { a: { type: 'null' } } }, { type: 'object', properties: { b: {} }, required: ['b'] }] },
  ] as JsonObject[])('writes what is valid under %j', (schema) => {
    const some = new nn.SchemaLanguage(schema, tokenizer);
    const check = compileSchema(schema, 'the test');
    const texts = Array.from({ length: 15 }, (_, i) => walked(some, Rng.fromSeed(i), Math.max(30, some.least)));
    for (const text of texts) expect([text, check(JSON.parse(text))]).toEqual([text, []]);
    expect(new Set(texts).size).toBeGreaterThan(1);
  });

  it.each([
    [{ $ref: 'https://example.org/call.json' }, /"#" refers to "https:.* not within the schema/],
    [{ type: 'object', properties: { a: { $ref: '#' } } }, /"#\/properties\/a" refers to "#", which contains itself/],
    [{ $ref: '#/$defs/a' }, /which is not there/],
    [{ not: {} }, /has "not"/],
    [{ type: 'strang' }, /"#\/type" is no schema/],
    [{ type: 'string', pattern: '(?=x)a' }, /lookarounds/],
    [{ type: 'string', pattern: '(' }, /cannot be read/],
    [{ type: 'string', pattern: '(a|b)*a(a|b){20}' }, /too large an automaton/],
    [{ type: 'integer', minimum: 5, maximum: 2 }, /no number/],
    [{ oneOf: [{ type: 'integer' }, { type: 'number' }] }, /not told apart/],
    [{ type: 'object', required: ['x'] }, /requires "x"/],
    [{ enum: ['a'], type: 'null' }, /allows nothing/],
    [{ allOf: [{ minLength: 1 }, { minLength: 2 }] }, /something else of "minLength"/],
  ] as [JsonObject, RegExp][])('refuses %j', (schema, problem) => {
    const refused = expect.objectContaining({
      code: 'DECODER_SCHEMA_UNSUPPORTED',
      message: expect.stringMatching(problem),
    });
    expect(() => new nn.SchemaLanguage(schema, tokenizer)).toThrow(refused);
  });

  it('refuses a vocabulary that cannot write JSON', () => {
    const { parts } = nn.trainTokenizer([], { size: 259 });
    const tokens = parts.tokens.map((token) => (token === '"' ? 'ab' : token));
    const make = () => new nn.SchemaLanguage(calls, new nn.Tokenizer({ ...parts, tokens }));
    expect(make).toThrow(
      expect.objectContaining({
        code: 'DECODER_VOCABULARY_UNFIT',
        message: expect.stringMatching(/no token for "\\""/),
      }),
    );
  });
});

/** The text of a walk that takes each token that is allowed as often as any other. */
function walked(language: nn.TokenLanguage, rng: Rng, room: number): string {
  const constraint = language.constraint(room);
  const tokens: number[] = [];
  while (!constraint.isComplete) {
    const allowed = constraint.allowed()!;
    tokens.push(allowed[rng.int(allowed.length)]);
    constraint.accept(tokens.at(-1)!);
  }
  expect(tokens.length).toBeLessThanOrEqual(room);
  return tokenizer.decode(tokens);
}
