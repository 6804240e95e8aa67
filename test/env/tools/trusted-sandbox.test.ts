// Rules that are trusted answer as they do in the sandbox, and keep as little.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type JsonObject, sha256 } from '../../../src/core/canonical-json.js';
import { areRulesOfPack, packsFolder } from '../../../src/core/packs.js';
import { LIMITS, readRules, SandboxThread, TrustedRealm } from '../../../src/env/tools/sandbox/sandbox.js';
import { sandboxedRules } from '../../../src/env/tools/sandbox/sandboxed-rules.js';
import { fixture } from './library.js';

const state = JSON.parse(readFileSync(`${fixture('library')}/state.json`, 'utf8')) as JsonObject;

function programOf(text: string) {
  return { ...readRules(text, 'rules.js'), text, file: 'rules.js', limits: LIMITS };
}

const asked = (request: string, given: object) => JSON.stringify({ request, ...given, drop: [] });

test('the answers are those of the sandbox, to the letter', () => {
  const program = programOf(readFileSync(`${fixture('library')}/rules.js`, 'utf8'));
  const [sandbox, trusted] = [new SandboxThread(program), new TrustedRealm(program)];
  const lend = { name: 'lend_book', state: 1 };
  const changes = [{ op: 'remove', path: ['books', 'B1'] }];
  const requests = [
    asked('outline', { hold: [{ key: 1, state }] }),
    asked('read', { name: 'find_books', args: { text: '' }, state: 1 }),
    asked('write', { ...lend, args: { member_id: 'M1', book_id: 'B1' } }),
    asked('write', { ...lend, args: { member_id: 'M2', book_id: 'B3' } }),
    asked('write', { ...lend, args: { member_id: 'M1', book_id: 'B9' } }),
    asked('invariants', { before: 1, after: 2, derive: [{ key: 2, from: 1, changes }] }),
    asked('read', { name: 'find_books', args: { text: '' }, state: 2 }),
  ];
  for (const request of requests) {
    const answer = sandbox.ask(request);
    expect(trusted.ask(request)).toBe(answer);
  }
  for (const place of [sandbox, trusted]) place.end();
});

test('nothing is kept from call to call, and nothing here is changed', () => {
  const trusted = new TrustedRealm(programOf('let n = 0; export const tools = { count: () => ++n };'));
  const count = asked('read', { name: 'count', args: {}, state: 1, hold: [{ key: 1, state: {} }] });
  expect([1, 2].map(() => trusted.ask(count))).toEqual(Array(2).fill('{"answer":{"observation":"1","patches":[]}}'));
  expect(Object.isFrozen(Object.prototype)).toBe(false);
  expect(typeof Math.random()).toBe('number');
  trusted.end();
});

test('rules of the package run as its code does, and these alone, wherever they lie', () => {
  const folder = packsFolder();
  const rules = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('rules.js'));
  expect(rules.length).toBeGreaterThan(1);
  for (const name of rules) {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(areRulesOfPack(sha256(text)), `the hash of ${name} in src/core/packs.ts`).toBe(true);
    expect(areRulesOfPack(sha256(`${text} `))).toBe(false);
  }
});

test('rules of the package that were edited run in the sandbox', async () => {
  const shipped = readFileSync(join(packsFolder(), 'cellar/rules.js'), 'utf8');
  const greedy = shipped.replace('export const tools = {', "$& greedy: () => String('x'.repeat(1e8).length),");
  expect(greedy).not.toBe(shipped);
  const rules = await sandboxedRules(greedy, 'rules.js', { readers: ['greedy'] });
  const spend = () => rules.execute({}, { id: '1', name: 'greedy', arguments: {} });
  expect(spend).toThrow(expect.objectContaining({ code: 'RULES_FAILED', message: expect.stringContaining('memory') }));
  rules.close?.();
  const trusted = new TrustedRealm(programOf(greedy));
  const asking = asked('read', { name: 'greedy', args: {}, state: 1, hold: [{ key: 1, state: {} }] });
  expect(trusted.ask(asking)).toContain('100000000');
  trusted.end();
});
