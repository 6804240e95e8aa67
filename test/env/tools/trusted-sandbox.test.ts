// Rules that are trusted answer as they do in the sandbox, and keep as little.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.js';
import { LIMITS, SandboxFailure } from '../../../src/env/tools/sandbox/interpreter.js';
import { readRules } from '../../../src/env/tools/sandbox/rules-source.js';
import { Sandbox } from '../../../src/env/tools/sandbox/sandbox.js';
import { TrustedSandbox } from '../../../src/env/tools/sandbox/trusted-sandbox.js';
import { fixture } from './library.js';

const state = JSON.parse(readFileSync(`${fixture('library')}/state.json`, 'utf8')) as JsonObject;

function programOf(text: string) {
  const { program: rules, keepsNothing } = readRules(text, 'rules.js');
  return { rules, keepsNothing, file: 'rules.js', limits: LIMITS };
}

const asked = (request: string, given: object) => JSON.stringify({ request, ...given, drop: [] });

test('the answers are those of the sandbox, to the letter', async () => {
  const program = programOf(readFileSync(`${fixture('library')}/rules.js`, 'utf8'));
  const [sandbox, trusted] = [await Sandbox.open(program), new TrustedSandbox(program)];
  const lend = { name: 'lend_book', state: 1, keep: 2 };
  const requests = [
    asked('outline', { hold: [{ key: 1, state }] }),
    asked('read', { name: 'find_books', args: { text: '' }, state: 1 }),
    asked('write', { ...lend, args: { member_id: 'M1', book_id: 'B1' } }),
    asked('write', { ...lend, keep: 3, args: { member_id: 'M2', book_id: 'B3' } }),
    asked('write', { ...lend, keep: 3, args: { member_id: 'M1', book_id: 'B9' } }),
    asked('invariants', { before: 1, after: 2 }),
    asked('read', { name: 'find_books', args: { text: '' }, state: 2 }),
  ];
  for (const request of requests) expect(trusted.ask(request)).toBe(sandbox.ask(request));
  for (const place of [sandbox, trusted]) place.close();
  expect(() => trusted.ask(requests[0])).toThrow(SandboxFailure);
});

test('nothing is kept from call to call, and nothing here is changed', () => {
  const trusted = new TrustedSandbox(programOf('let n = 0; export const tools = { count: () => ++n };'));
  const count = asked('read', { name: 'count', args: {}, state: 1, hold: [{ key: 1, state: {} }] });
  expect([1, 2].map(() => trusted.ask(count))).toEqual(Array(2).fill('{"answer":{"observation":"1","patches":[]}}'));
  expect(Object.isFrozen(Object.prototype)).toBe(false);
  expect(typeof Math.random()).toBe('number');
  trusted.close();
});
