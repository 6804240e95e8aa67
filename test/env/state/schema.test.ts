// Schemas that come with a domain: drafts, faults in sentences, and schemas that are none.

import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/core/canonical-json.js';
import { compileSchema } from '../../../src/env/state/state.js';

describe('a schema', () => {
  test('of either draft tells what is wrong, at most five faults', () => {
    const properties = { name: { type: 'string' }, kind: { enum: ['a', 'b'] } };
    for (const $schema of ['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema']) {
      const check = compileSchema({ $schema, type: 'object', properties, additionalProperties: false }, 'it');
      expect(check({ name: 'x', kind: 'a' })).toEqual([]);
      expect(check({ name: 5, kind: 'c', nam: 1 })).toEqual([
        'it has an unknown key "nam" (did you mean "name"?)',
        '/name must be string',
        '/kind must be one of ["a","b"]',
      ]);
      expect(check({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })).toHaveLength(5);
    }
  });

  test('whose pattern would never end on a text says so in place of an answer', () => {
    const email = '^([a-zA-Z0-9_.-])+@(([a-zA-Z0-9-])+\\.)+([a-zA-Z0-9]{2,4})+$';
    const properties = { email: { type: 'string', pattern: email }, code: { type: 'string', pattern: '\\s+$' } };
    const check = compileSchema({ type: 'object', properties, patternProperties: { '^(x+)+$': false } }, 'it');
    expect(check({ email: 'ada@example.org', code: ' ' })).toEqual([]);
    expect(check({ email: 'ada', code: '-' })).toEqual([
      expect.stringContaining('/email must match pattern'),
      expect.stringContaining('/code must match pattern'),
    ]);
    for (const bad of [
      { email: `a@a.${'a'.repeat(80)}!` },
      { code: `${' '.repeat(900_000)}-` },
      { [`${'x'.repeat(60)}y`]: 1 },
    ])
      expect(check(bad as Json)).toEqual([expect.stringContaining('takes too long on a text of')]);
  }, 60_000);

  test.each([
    [{ type: 'strin' }, '/type'],
    [{ $ref: '#/$defs/none' }, "can't resolve reference"],
    [{ $schema: 'http://example.org/other' }, 'no schema with key or ref'],
  ])('such as %j is refused', (schema, problem) => {
    const compile = () => compileSchema(schema, 'the state');
    expect(compile).toThrow(expect.objectContaining({ code: 'SCHEMA_INVALID' }));
    expect(compile).toThrow(problem);
  });
});
