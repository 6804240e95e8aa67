// Verdicts: each part of a verifier, what counts as told and as called, and when nothing is decided.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import type { CallSpec, ToolsDomain, ToolsTask, VerifierSpec } from '../../../src/env/tools/domain.js';
import { type Message, spokenMessages } from '../../../src/env/tools/message.js';
import { referenceStateOf } from '../../../src/env/tools/situation.js';
import { verifyEpisode } from '../../../src/env/tools/verify-episode.js';
import { loadLibrary } from './library.js';

let domain: ToolsDomain;

beforeAll(async () => {
  domain = await loadLibrary();
});
afterAll(() => domain.close());

const taskOf = (id: string) => domain.tasks.find((task) => task.id === id) as ToolsTask;

function verdictOf(verifier: VerifierSpec, messages: readonly Message[] = [], finalState = domain.initialState) {
  const task = { ...taskOf('lend-dune'), verifier };
  return verifyEpisode(domain, task, { initialState: domain.initialState, finalState, messages });
}

function called(calls: readonly CallSpec[], isError = false): Message[] {
  const toolCalls = calls.map((call, i) => ({ ...call, id: `${i}` }));
  const answers = toolCalls.map(({ id, name }) => ({
    role: 'tool' as const,
    toolCallId: id,
    name,
    content: '',
    isError,
  }));
  return [{ role: 'assistant', content: null, toolCalls }, ...answers];
}

const say = (content: string): Message => ({ role: 'assistant', content });

describe('the end state', () => {
  test('must be that of the reference, and a difference is named', () => {
    const reference = referenceStateOf(domain, taskOf('lend-dune')) as JsonObject;
    expect(reference).toMatchObject({ books: { B1: { lentTo: 'M1' } } });
    expect(referenceStateOf(domain, taskOf('lend-dune'))).toBe(reference);
    expect(verdictOf({ state: 'reference' }, [], reference).reward).toBe(1);
    const { reward, checks } = verdictOf({ state: 'reference' });
    expect(reward).toBe(0);
    expect(checks[0].reason).toMatch(
      /differs from that of the reference at \/members\/M1\/books\/0, \/books\/B1\/lentTo/,
    );
  });

  test.each([
    [{ path: '/books/B1/title', equals: 'Dune' }, true],
    [{ path: '/books/B1/title', equals: 'Emma' }, false],
    [{ path: '/books/B1/lentTo', equals: null }, true],
    [{ path: '/members/M2/books', equals: ['B3'] }, true],
    [{ path: '/members/M2/books/length', exists: true }, false],
    [{ path: '/members/M2/books/1', exists: false }, true],
    [{ path: '/books/B9', exists: true }, false],
    [{ path: '/books/toString', exists: false }, true],
    [{ path: '/books/B1/lentTo', exists: true, equals: 'M1' }, false],
  ])('is looked at by %j: %s', (expected, passed) => {
    expect(verdictOf({ assert: [expected] }).checks[0]).toMatchObject({ passed });
  });
});

describe('what the user was told', () => {
  test.each([
    ['1234', [say('It costs $1,234.00.')], true],
    ['dUNE', [say('You have Dune.')], true],
    ['Dune', [{ role: 'user', content: 'Dune?' }], false],
    ['Dune', [{ ...say(''), reasoning: 'Dune' }], false],
    ['Dune', [{ role: 'tool', toolCallId: '1', name: 'a', content: 'Dune' }], false],
  ] as [string, Message[], boolean][])('"%s" in %j: %s', (text, messages, passed) => {
    expect(verdictOf({ communicate: [text] }, messages).checks[0].passed).toBe(passed);
  });

  test.each([
    ['12', 'There are 12.', true],
    ['12', 'There are 1120.', false],
    ['12', 'It is $12.00, thank you', true],
    ['$1,120.50', 'It costs 1120.5 in all', true],
    ['1120.5', 'Das macht 1.120,50 €', true],
    ['12', 'You have 12kg of it', true],
    ['12', 'On 2026-05-12 at 12:30', false],
    ['12', 'It is 11 or 12.', false],
    ['12', 'It is 12 pieces, or maybe 13.', false],
    ['12', 'Between 12 and 14.', false],
    ['12', '10, 11, 12, 13', false],
    ['12', '11 or 12? I looked it up: there are 12.', true],
    ['12', 'It went from 10 to 12, 3 more to come', true],
    ['12', 'You have 10, 11 and 12', true],
    ['B-306', 'Booked for 7 May as B-306, it costs 25.', true],
    ['B-306', 'It is B-3061', false],
    ['B-306', 'It is B-306 or B-307', false],
    ['stock', 'It is out-of-stock, sorry', true],
    ['ship', 'We shipped it', false],
    ['7 May', 'on 17 May', false],
    ['#W12', 'order #W12 or so', true],
  ])('"%s" in "%s": %s', (wanted, said, passed) => {
    expect(verdictOf({ communicate: [wanted] }, [say(said)]).checks[0].passed).toBe(passed);
  });

  test('may be a list of all that is wanted', () => {
    expect(verdictOf({ communicate: ['10', '11', '12'] }, [say('10, 11, 12')]).reward).toBe(1);
  });

  test('beside calls counts if the user answered it', () => {
    const [asking, answer] = called([{ name: 'get_member', arguments: {} }]);
    const telling = { ...asking, content: 'Dune' } as Message;
    const user: Message = { role: 'user', content: 'ok' };
    expect(verdictOf({ communicate: ['Dune'] }, [telling, answer]).reward).toBe(0);
    expect(verdictOf({ communicate: ['Dune'] }, [telling, answer, say('x'), user]).reward).toBe(0);
    expect(verdictOf({ communicate: ['Dune'] }, [telling, answer, user]).reward).toBe(1);
    expect(spokenMessages([telling, answer, user]).map(({ content }) => content)).toEqual(['Dune', 'ok']);
  });
});

describe('calls', () => {
  const lend: CallSpec = { name: 'lend_book', arguments: { book_id: 'B1', member_id: 'M1' } };

  test('that were wanted must have succeeded, with the arguments that are given', () => {
    const wanted = { called: [{ name: 'lend_book', arguments: { book_id: 'B1' } }] };
    expect(verdictOf(wanted, called([lend])).reward).toBe(1);
    expect(verdictOf(wanted, called([lend], true)).reward).toBe(0);
    expect(verdictOf(wanted, called([{ ...lend, arguments: { book_id: 'B2' } }])).reward).toBe(0);
    expect(verdictOf(wanted, called([lend]).slice(0, 1)).reward).toBe(0);
    expect(verdictOf({ called: [{ name: 'lend_book', arguments: {} }] }, called([lend])).reward).toBe(1);
  });

  test('that were not wanted count where they succeeded', () => {
    expect(verdictOf({ notCalled: ['lend_book'] }, called([lend])).reward).toBe(0);
    expect(verdictOf({ notCalled: ['lend_book'] }, called([lend], true)).reward).toBe(1);
  });
});

describe('the reward', () => {
  test('is null while a judge is needed, and 0 as soon as anything failed', () => {
    expect(verdictOf({ rubric: ['It is polite.'] })).toEqual({
      reward: null,
      checks: [{ name: 'rubric: It is polite.', passed: null, reason: 'needs a judge' }],
    });
    expect(verdictOf({ rubric: ['It is polite.'], communicate: ['x'] }).reward).toBe(0);
  });

  test('is null where nothing need be done, unless the task is to leave something alone', () => {
    const already = { assert: [{ path: '/books/B1/title', equals: 'Dune' }] };
    expect(verdictOf(already)).toMatchObject({ reward: null, checks: [{ passed: true }, { name: 'start' }] });
    expect(verdictOf({ ...already, notCalled: ['lend_book'] }).reward).toBe(1);
    expect(verdictOf({ ...already, communicate: ['Dune'] }, [say('Dune')]).reward).toBe(1);
  });

  test('is null, not 1, where nothing is verified', () => {
    expect(verdictOf({}).reward).toBeNull();
    expect(verdictOf({ communicate: [], checks: [] }).reward).toBeNull();
  });

  test('follows the checks of the rules', () => {
    expect(verdictOf({ checks: ['nothing_changed'], notCalled: ['lend_book'] })).toMatchObject({ reward: 1 });
    expect(verdictOf({ checks: ['looked_up_first'] })).toMatchObject({
      reward: null,
      checks: [{ name: 'check: looked_up_first', passed: null, reason: 'nothing was lent' }],
    });
  });
});
