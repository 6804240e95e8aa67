// Verdicts: each part of a verifier, what counts as told and as called, and when nothing is decided.

import { afterAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import type { CallSpec, ToolsTask, VerifierSpec } from '../../../src/env/tools/domain.js';
import { type Message, spokenMessages } from '../../../src/env/tools/message.js';
import { referenceStateOf } from '../../../src/env/tools/situation.js';
import { verifyEpisode } from '../../../src/env/tools/verify-episode.js';
import { testData } from '../../data.js';
import { loadLibrary } from './library.js';

const domain = await loadLibrary();
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

  test.each(testData<[string, string, boolean][]>('env/tools/said.yaml'))(
    '"%s" in "%s": %s',
    (wanted, said, passed) => {
      expect(verdictOf({ communicate: [wanted] }, [say(said)]).checks[0].passed).toBe(passed);
    },
  );

  test('may be taken back later', () => {
    const wanted = { communicate: ['12'] };
    expect(verdictOf(wanted, [say('There are 12.'), say('Sorry, there are 13.')]).reward).toBe(0);
    expect(verdictOf(wanted, [say('There are 13.'), say('Sorry, there are 12.')]).reward).toBe(1);
  });

  test('may have to be read first', () => {
    const wanted = { communicate: ['12'], grounded: true };
    const read: Message = { role: 'tool', toolCallId: '1', name: 'a', content: '{"quantity":12}' };
    expect(verdictOf(wanted, [say('12')]).checks[0].reason).toMatch(/before any answer/);
    expect(verdictOf(wanted, [say('12'), read]).reward).toBe(0);
    expect(verdictOf(wanted, [read, say('twelve')]).reward).toBe(1);
    expect(verdictOf(wanted, [{ ...read, isError: true }, say('12')]).reward).toBe(0);
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

describe('how it was gone about', () => {
  const lend: CallSpec = { name: 'lend_book', arguments: { book_id: 'B1', member_id: 'M1' } };
  const look: CallSpec = { name: 'get_member', arguments: { member_id: 'M1' } };
  const user = (content: string): Message => ({ role: 'user', content });
  const made = (call: CallSpec, id: string, isError = false): Message[] =>
    called([call], isError).map((message) =>
      message.role === 'tool' ? { ...message, toolCallId: id } : { ...message, toolCalls: [{ ...call, id }] },
    ) as Message[];

  test.each([
    [[...made(look, 'a'), ...made(lend, 'b')], 1],
    [[...made(lend, 'b'), ...made(look, 'a')], 0],
    [[...made(look, 'a', true), ...made(lend, 'b')], 0],
    [[...made(lend, 'b', true), ...made(look, 'a'), ...made(lend, 'c')], 1],
    [called([look, lend]), 0],
  ] as [Message[], number][])('before, case %#: %s', (messages, reward) => {
    const before = { 'find_member | get_member': ['lend_book'] };
    expect(verdictOf({ before, called: [lend] }, messages).reward).toBe(reward);
  });

  test.each([
    ['Shall I lend B1 to M1?', 'Yes, please.', 1],
    ['I would give B1 to M1 now. Is that all right?', 'ok', 1],
    ['Shall I lend B1 to M1?', "That's right, go ahead. I do not need anything else.", 1],
    ['Shall I lend B1 to M1?', 'No, thanks', 0],
    ['Shall I lend B1 to M1?', 'Yes, but B2 instead', 0],
    ['Shall I lend B1 to M1?', 'Yes... no, wait', 0],
    ['Shall I lend B1 to M1?', 'Sure? No.', 0],
    ['Shall I lend B1 to M1?', 'Yes. No problem, thanks', 1],
    ['Shall I lend B1 to M1?', 'Sí', 1],
    ['Shall I lend B1 to M1?', 'Sí, gracias', 1],
    ['Shall I lend B1 to M1?', 'Jawohl nicht', 0],
    ['Shall I lend B2 to M1?', 'Yes', 0],
    ['Shall I look up B1 and M1?', 'Yes', 0],
    ['Anything else?', 'Yes', 0],
  ])('confirmed: "%s" "%s": %s', (asked, answer, reward) => {
    const messages = [say(asked), user(answer), ...made(lend, 'b')];
    expect(verdictOf({ confirmed: ['lend_book'], called: [lend] }, messages).reward).toBe(reward);
  });

  test('a yes is taken back by what the user says before the call', () => {
    const messages = [
      say('Shall I lend B1?'),
      user('Yes'),
      say('One moment'),
      user('Wait, not yet'),
      ...made(lend, 'b'),
    ];
    expect(verdictOf({ confirmed: ['lend_book'], called: [lend] }, messages).reward).toBe(0);
  });

  test('never counts a call that was refused, too', () => {
    expect(verdictOf({ never: ['lend_book'] }, made(lend, 'b', true)).reward).toBe(0);
    expect(verdictOf({ never: ['lend_book'] }, made(look, 'a')).reward).toBe(1);
  });

  test('sets come in any order, and partial credit is given where it is asked for', () => {
    const list = { type: 'array', uniqueItems: true };
    const stateSchema = {
      type: 'object',
      properties: { sets: { $ref: '#/$defs/sets' } },
      $defs: { sets: { additionalProperties: list } },
    };
    const set = { ...domain, stateSchema };
    const end = {
      initialState: domain.initialState,
      finalState: { sets: { a: ['x', 'y'] }, lists: ['x', 'y'] },
      messages: [],
    };
    const rewardOf = (verifier: VerifierSpec) => verifyEpisode(set, { ...taskOf('lend-dune'), verifier }, end).reward;
    const [asSet, asList] = ['/sets/a', '/lists'].map((path) => ({ path, equals: ['y', 'x'] }));
    expect(rewardOf({ assert: [asSet] })).toBe(1);
    expect(rewardOf({ assert: [asSet, asList] })).toBe(0);
    const partly = (...more: object[]) => Object.assign({ assert: [asSet, asList], partial: true }, ...more);
    expect(rewardOf(partly())).toBe(0.5);
    // What is so from the start is no credit, what it breaks is a fault, and what is open leaves all open.
    const kept = { path: '/none', exists: false };
    const broken = { path: '/books/B1', exists: true };
    expect(rewardOf(partly({ assert: [kept, asSet, asList] }))).toBe(0.5);
    expect(rewardOf(partly({ assert: [kept, asList] }))).toBe(0);
    expect(rewardOf(partly({ assert: [broken, asSet] }))).toBe(0.5);
    expect(rewardOf(partly({ rubric: ['It is polite.'] }))).toBeNull();
    expect(rewardOf(partly({ rubric: ['It is polite.'], confirmed: [] }))).toBeNull();
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
