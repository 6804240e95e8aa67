import { expect, test } from 'vitest';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import { taskRecord, tauBench, tauFolder } from './fixture.js';

function load(files: Record<string, string | null>, domain: TauDomainName = 'airline') {
  return loadTauDomain({ domain, folder: tauFolder(domain, files) });
}

test('tasks become tasks of a tools environment', async () => {
  const cancel: [string, object] = ['cancel_reservation', { reservation_id: 'R00001' }];
  const tasks = [
    taskRecord('0', []),
    taskRecord('1', [cancel as never], { communicate_info: ['1,000', 'yes'] }),
    taskRecord('2', [], {
      reward_basis: ['DB', 'NL_ASSERTION'],
      communicate_info: ['7'],
      nl_assertions: ['It is kind.'],
    }),
  ];
  const domain = await load({
    'tasks.json': JSON.stringify(tasks),
    'split_tasks.json': '{"train":["0","1"],"test":["2"]}',
  });
  expect(domain.tasks[1]).toEqual({
    id: '1',
    family: 'ann_lee_1',
    split: 'train',
    user: {
      goal: 'Domain: d\nReason for call:\n\tYou want it.\n\n\tNow.\nKnown info:\n\tYou are ann_lee_1.\nTask instructions:\n\tBe brief.',
    },
    verifier: { state: 'reference', communicate: ['1,000', 'yes'] },
    reference: { calls: [{ name: 'cancel_reservation', arguments: { reservation_id: 'R00001' } }], say: '1,000, yes' },
    failures: [{ name: 'nothing is done', calls: [] }],
  });
  expect(domain.tasks[0].failures).toBeUndefined();
  expect(domain.tasks[2]).toMatchObject({ split: 'test', verifier: { state: 'reference', rubric: ['It is kind.'] } });
  expect(domain.tasks[2].verifier.communicate).toBeUndefined();
});

test('in the first release the database and what was said decide, and no judge', async () => {
  const criteria = { reward_basis: ['DB', 'NL_ASSERTION'], communicate_info: ['7'], nl_assertions: ['It is kind.'] };
  const folder = tauFolder('airline', { 'tasks.json': JSON.stringify([taskRecord('2', [], criteria)]) });
  const domain = await loadTauDomain({ domain: 'airline', folder, release: 'tau1' });
  expect(domain.tasks[0].verifier).toEqual({ state: 'reference', communicate: ['7'] });
});

test('tools are described by their docstrings and typed by their Python types', async () => {
  const { domain } = await tauBench('airline', 'tau2');
  const book = domain.tools.find(({ name }) => name === 'book_reservation')!;
  expect(book).toMatchObject({ kind: 'write', description: 'Does book_reservation.' });
  expect(book.parameters).toMatchObject({ additionalProperties: false });
  const { properties } = book.parameters as { properties: Record<string, object> };
  expect(properties.cabin).toEqual({
    type: 'string',
    enum: ['business', 'economy', 'basic_economy'],
    description: 'The cabin, as given.',
  });
  expect(properties.payment_methods).toMatchObject({ items: { required: ['payment_id', 'amount'] } });
});

test('the version tells data, rules and release apart', async () => {
  const folder = tauFolder('airline');
  const version = async (release: 'tau1' | 'tau2', at = folder) =>
    (await loadTauDomain({ domain: 'airline', folder: at, release })).version;
  const other = tauFolder('airline', { 'policy.md': 'Be brief.' });
  const versions = [await version('tau2'), await version('tau1'), await version('tau2', other)];
  expect(new Set(versions).size).toBe(3);
  expect(await version('tau2')).toBe(versions[0]);
});

test.each<[string, Record<string, string | null>, string]>([
  ['no database', { 'db.json': null }, 'TAU_DATA_MISSING .*db.json'],
  ['half a database', { 'db.json': '{"users": {' }, 'TAU_DATA_INVALID .*db.json.*it is not JSON'],
  ['a database without users', { 'db.json': '{"flights":{},"reservations":{}}' }, "db.json.*required property 'users'"],
  [
    'a tool nobody knows',
    { 'tools.json': '[{"name":"fly","kind":"write","params":[],"doc":""}]' },
    'tools.json.*tool "fly" is none of this domain',
  ],
  [
    'a type nobody knows',
    { 'tools.json': '[{"name":"calculate","kind":"generic","params":[{"name":"x","python_type":"set"}],"doc":""}]' },
    'tools.json.*parameter "x" has the unknown type "set"',
  ],
  [
    'a task with an unknown tool',
    { 'tasks.json': JSON.stringify([taskRecord('7', [['fly', {}]])]) },
    'tasks.json.*task "7" calls the unknown tool "fly"',
  ],
  [
    'two tasks of one id',
    { 'tasks.json': JSON.stringify([taskRecord('7', []), taskRecord('7', [])]) },
    'tasks.json.*two tasks have the id "7"',
  ],
  [
    'a reward we cannot decide',
    { 'tasks.json': JSON.stringify([taskRecord('7', [], { reward_basis: ['ENV_ASSERTION'] })]) },
    'TAU_DATA_INVALID .*tasks.json.*reward_basis',
  ],
  [
    'a state of its own',
    { 'tasks.json': JSON.stringify([{ ...taskRecord('7', []), initial_state: { message_history: [] } }]) },
    'TAU_DATA_INVALID .*tasks.json.*initial_state',
  ],
])('%s is one error that names the file', async (_what, files, pattern) => {
  const error = await load(files).catch((caught) => caught);
  expect(`${error.code} ${error.message}`).toMatch(new RegExp(pattern));
  expect(error.message).not.toContain('\n');
});

test('the folder of the other domain is refused', async () => {
  const loading = loadTauDomain({ domain: 'retail', folder: tauFolder('airline') });
  await expect(loading).rejects.toMatchObject({
    code: 'TAU_DATA_INVALID',
    message: expect.stringContaining('tools.json'),
  });
});

test('there are no named checks', async () => {
  const { rules, initialState } = (await tauBench('retail', 'tau2')).domain;
  const end = { initialState, finalState: initialState, messages: [] };
  expect(() => rules!.check('paid', end)).toThrow(expect.objectContaining({ code: 'TAU_CHECK_UNKNOWN' }));
});
