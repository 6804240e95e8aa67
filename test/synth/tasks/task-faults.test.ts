// The faults of a domain's own tasks: named by audits and checks, and by nobody's word.

import { afterAll, expect, test } from 'vitest';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { SOLVED_AT_START } from '../../../src/env/tools/verify-episode.js';
import { defectOf, lintTasks } from '../../../src/synth/tasks/lint-tasks.js';
import { loadLibrary } from '../../env/tools/library.js';

const domain = await loadLibrary();
afterAll(() => domain.close());

const problemsOf = async (changed: Partial<ToolsTask>) => {
  const [lend] = domain.tasks;
  const found = await lintTasks(domain, [{ ...lend, ...changed }]);
  return found.filter(({ shuts }) => shuts).map(({ problem }) => problem);
};

test('none are found in sound tasks', async () => {
  expect((await lintTasks(domain, domain.tasks)).filter(({ shuts }) => shuts)).toEqual([]);
});

test('a goal that holds at the start', async () => {
  const verifier = { assert: [{ path: '/books/B1/title', equals: 'Dune' }] };
  expect(await problemsOf({ verifier, failures: [] })).toEqual([SOLVED_AT_START]);
});

test('a failure that the verifier passes', async () => {
  const calls = [{ name: 'get_member', arguments: { member_id: 'M1' } }];
  const failures = [
    { name: 'lies', calls, say: 'It is due on 2030-03-22.' },
    { name: 'guesses', calls: [], say: 'It is due on 2030-03-21 or 2030-03-22.' },
  ];
  const problems = await problemsOf({ verifier: { communicate: ['2030-03-22'] }, failures });
  expect(problems).toContain('the verifier passes an agent that lies');
  expect(problems.join()).not.toContain('guesses');
});

test.each([
  ['passes-words', { verifier: { communicate: ['2030-03-22'] } }],
  ['passes-left-out', { verifier: { assert: [{ path: '/books/B1/lentTo', equals: 'M1' }] }, also: true }],
  ['reference-fails', { verifier: { communicate: ['2030-03-23'] } }],
  ['untold-id', { user: { goal: 'You want to borrow the first Dune book.' } }],
])(
  '%s shuts the task, and that task alone',
  async (kind, { also, ...changed }: Partial<ToolsTask> & { also?: boolean }) => {
    const [lend] = domain.tasks;
    const second = { name: 'lend_book', arguments: { member_id: 'M1', book_id: 'B2' } };
    const calls = [...lend.reference!.calls, ...(also ? [second] : [])];
    const task = { ...lend, ...changed, failures: [], reference: { ...lend.reference!, calls } };
    expect((await lintTasks(domain, [task])).filter(({ shuts }) => shuts).map((found) => found.kind)).toContain(kind);
    expect(await defectOf(domain, task)).toMatch(/not fit to be rewarded/);
    expect(await defectOf(domain, lend)).toBeUndefined();
  },
);
