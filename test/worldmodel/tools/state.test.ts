// What a proposal for a call may do to a typed state, and of whom it may speak.

import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { Operation } from '../../../src/env/tools/prediction.js';
import { checkProposal } from '../../../src/worldmodel/tools/checks.js';
import { deskDomain, deskQuery, deskRules } from './desk.js';

const ruled = deskDomain({ rules: deskRules, tickets: 30 });

interface Proposed {
  readonly operations?: readonly Operation[];
  readonly observation?: string;
  readonly isError?: boolean;
  readonly confidence?: number;
}

function check(name: string, given: JsonObject, proposed: Proposed, domain: ToolsDomain = ruled) {
  const proposal = { operations: [], observation: 'ok', isError: false, confidence: 1, ...proposed };
  return checkProposal({ ...deskQuery(name, given, { domain }), proposal });
}

const problemsOf = (result: ReturnType<typeof check>) => result.problems?.join(' ') ?? 'none';
const closed: Operation = { op: 'replace', path: '/tickets/T1001/status', value: 'closed' };

describe('a proposal', () => {
  it('that is right leads to the next state, tests left out', () => {
    const test: Operation = { op: 'test', path: '/tickets/T1001/status', value: 'open' };
    const result = check('close_ticket', { ticket_id: 'T1001' }, { operations: [test, closed] });
    expect(result).toMatchObject({ operations: [closed], after: { tickets: { T1001: { status: 'closed' } } } });
  });

  it.each<[string, string, JsonObject, Proposed, RegExp]>([
    ['a change by a read', 'get_ticket', { ticket_id: 'T1001' }, { operations: [closed] }, /of kind read/],
    ['a change by an error', 'close_ticket', { ticket_id: 'T1001' }, { operations: [closed], isError: true }, /fails/],
    ['a path that is not there', 'close_ticket', {}, { operations: [{ ...closed, path: '/tickets/T9/status' }] }, /T9/],
    ['a value outside the schema', 'close_ticket', {}, { operations: [{ ...closed, value: 'shut' }] }, /one of/],
    ['a broken invariant', 'close_ticket', {}, { operations: [{ op: 'remove', path: '/tickets/T1002' }] }, /deleted/],
    ['the prototype', 'close_ticket', {}, { operations: [{ op: 'add', path: '/__proto__/x', value: 1 }] }, /no key/],
    ['the whole state', 'close_ticket', {}, { operations: [{ op: 'replace', path: '', value: {} }] }, /at once/],
    ['a confidence that is none', 'close_ticket', {}, { confidence: Number.NaN }, /in \[0, 1\]/],
    ['an endless observation', 'get_ticket', {}, { observation: 'x'.repeat(100_001) }, /100001 characters/],
    ['an abyss', 'close_ticket', {}, { operations: [{ op: 'add', path: '/x', value: abyss(5_000) }] }, /nested deeper/],
    ['a flood', 'close_ticket', {}, { operations: Array.from({ length: 201 }, () => closed) }, /201 operations/],
  ])('is refused for %s', (_, name, given, proposed, reason) => {
    expect(problemsOf(check(name, given, proposed))).toMatch(reason);
  });

  it('must fail where a precondition says so', () => {
    const domain = { ...ruled, rules: { ...deskRules, preconditions: () => ['the desk is shut'] } };
    const call = ['close_ticket', { ticket_id: 'T1001' }] as const;
    expect(problemsOf(check(...call, { operations: [closed] }, domain))).toMatch(/must fail here.*the desk is shut/);
    expect(check(...call, { isError: true, observation: 'Error: shut' }, domain).problems).toBeUndefined();
  });
});

describe('ids', () => {
  it('that nobody knows are refused, in observations and in changes', () => {
    const read = check(
      'get_ticket',
      { ticket_id: 'T1001' },
      { observation: '{"ticket_id":"T1001","customer_id":"C999"}' },
    );
    expect(problemsOf(read)).toMatch(/nothing creates them: C999\./);
    const moved: Operation = { op: 'replace', path: '/tickets/T1001/customer_id', value: 'C777' };
    expect(problemsOf(check('close_ticket', { ticket_id: 'T1001' }, { operations: [moved] }))).toMatch(/C777/);
  });

  it('of the state, the call, the conversation, or made by the call are spoken of freely', () => {
    const value = { customer_id: 'C101', subject: 's', status: 'open', comments: [] };
    const fresh: Operation = { op: 'add', path: '/tickets/T1031', value };
    const observation = '{"ticket_id":"T1031","customer_id":"C101","seen":"T1002"}';
    expect(check('open_ticket', {}, { operations: [fresh], observation }).problems).toBeUndefined();
    const failed = { isError: true, observation: 'Error: Ticket T9999 not found' };
    expect(check('get_ticket', { ticket_id: 'T9999' }, failed).problems).toBeUndefined();
  });

  it('are not taken for what is none: dates, amounts, words', () => {
    const observation = 'Since 2024-05-01 T12 has cost 1001 in Q4, see room B12 and TICKET.';
    expect(check('get_ticket', {}, { observation }).problems).toBeUndefined();
  });
});

function abyss(depth: number): Json {
  let value: Json = 0;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}
