// A lending library as a language model might draft it: whole files, of which tests spoil one or another.

import type { DraftFiles } from '../../../src/synth/drafting/draft-domain.js';

const ids = (key: string) => ({ type: 'object', properties: { [key]: { type: 'string' } }, required: [key] });
const both = {
  type: 'object',
  properties: { member_id: { type: 'string' }, book_id: { type: 'string' } },
  required: ['member_id', 'book_id'],
};
const tools = [
  { name: 'get_book', description: 'One book.', kind: 'read', parameters: ids('book_id') },
  { name: 'lend_book', description: 'Lends a book to a member.', kind: 'write', parameters: both },
  { name: 'return_book', description: 'Takes a book back.', kind: 'write', parameters: ids('book_id') },
];

const record = (properties: object) => ({
  type: 'object',
  additionalProperties: { type: 'object', required: Object.keys(properties), additionalProperties: false, properties },
});
const schema = {
  type: 'object',
  required: ['members', 'books'],
  additionalProperties: false,
  properties: {
    members: record({ name: { type: 'string' } }),
    books: record({ title: { type: 'string' }, lentTo: { type: ['string', 'null'] } }),
  },
};
const state = {
  members: { 'M-1': { name: 'Ada' }, 'M-2': { name: 'Kurt' } },
  books: {
    'B-1': { title: 'Dune', lentTo: null },
    'B-2': { title: 'Solaris', lentTo: 'M-2' },
    'B-3': { title: 'Emma', lentTo: null },
  },
};

const lend = (member_id: string, book_id: string) => ({ name: 'lend_book', arguments: { member_id, book_id } });
const get = (book_id: string) => ({ name: 'get_book', arguments: { book_id } });
const back = (book_id: string) => ({ name: 'return_book', arguments: { book_id } });

const tasks = [
  {
    id: 'lend-dune',
    family: 'lend',
    user: { opening: 'I am M-1, can I have B-1?', goal: 'You are M-1 and want to borrow B-1, Dune.' },
    verifier: { assert: [{ path: '/books/B-1/lentTo', equals: 'M-1' }] },
    reference: { calls: [get('B-1'), lend('M-1', 'B-1')], say: 'Dune is yours.' },
    failures: [{ name: 'only says so', calls: [], say: 'Dune is yours.' }],
  },
  {
    id: 'return-solaris',
    family: 'return',
    user: { opening: 'M-2 here, I bring back B-2.', goal: 'You are M-2 and bring back B-2, Solaris.' },
    verifier: { assert: [{ path: '/books/B-2/lentTo', equals: null }] },
    reference: { calls: [back('B-2')], say: 'Thank you.' },
    failures: [{ name: 'only thanks', calls: [], say: 'Thank you.' }],
  },
  {
    id: 'solaris-is-lent',
    family: 'refused',
    user: { opening: 'M-1 again: B-2, please.', goal: 'You are M-1 and want B-2, Solaris, which Kurt has.' },
    verifier: { communicate: ['is lent'], notCalled: ['lend_book', 'return_book'] },
    reference: { calls: [get('B-2')], say: 'I am sorry, Solaris is lent.' },
    failures: [{ name: 'takes it back', calls: [back('B-2')], say: 'It is lent no more.' }],
  },
];

const probe = (name: string, kind: string, call: object, expect: string, setup: object[] = []) => ({
  ...{ name, kind, call, expect, setup },
});
const probes = [
  probe('no such book', 'missing-entity', lend('M-1', 'B-9'), 'error'),
  probe('lent already', 'forbidden-transition', lend('M-1', 'B-2'), 'error'),
  probe('lent twice', 'forbidden-transition', lend('M-2', 'B-1'), 'error', [lend('M-1', 'B-1')]),
  probe('back from nowhere', 'missing-entity', back('B-9'), 'error'),
  probe('back though here', 'forbidden-transition', back('B-1'), 'error'),
  probe('a book is there', 'possible', get('B-3'), 'answer'),
  probe('Emma can be had', 'possible', lend('M-2', 'B-3'), 'change'),
  probe('Solaris can come back', 'possible', back('B-2'), 'change'),
];

const rules = (isCareful: boolean) => `
tools:
  get_book:
    enforces: [{ require: call.book_id in state.books, error: "Book {call.book_id} not found" }]
    answers: state.books[call.book_id]
  lend_book:
    enforces:
      - { require: call.book_id in state.books, error: "Book {call.book_id} not found" }
      - { require: call.member_id in state.members, error: "Member {call.member_id} not found" }
${isCareful ? '      - { require: "state.books[call.book_id].lentTo == null", error: "Book {call.book_id} is lent" }' : ''}
    effects: [{ set: "/books/{call.book_id}/lentTo", to: call.member_id }]
    answers: state.books[call.book_id]
  return_book:
    enforces:
      - { require: call.book_id in state.books, error: "Book {call.book_id} not found" }
      - { require: "state.books[call.book_id].lentTo != null", error: "Book {call.book_id} is here" }
    effects: [{ set: "/books/{call.book_id}/lentTo", to: null }]
    answers: state.books[call.book_id]
`;
/** Lends whatever is asked for. */
export const CARELESS = rules(false);

const text = (value: unknown) => JSON.stringify(value, null, 2);

export const LENDING = {
  'policy.md': '# Library\n\nLend a book only if nobody has it.\n',
  'tools.yaml': text(tools),
  'state.schema.json': text(schema),
  'state.json': text(state),
  'tasks.yaml': text(tasks),
  'must-fail.yaml': text(probes),
  'rules.yaml': rules(true),
} as const satisfies DraftFiles;

export const WORLD = ['policy.md', 'tools.yaml', 'state.schema.json', 'state.json'] as const;

/** A reply of the model. */
export function reply(files: DraftFiles) {
  return {
    reasoning: 'As it is wanted.',
    files: Object.entries(files).map(([name, written]) => ({ name, text: written })),
  };
}

export function part(...names: readonly (keyof typeof LENDING)[]): DraftFiles {
  return Object.fromEntries(names.map((name) => [name, LENDING[name]]));
}
