// The faults of a domain's own tasks: named by audits and checks, and by nobody's word.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ToolsDomain, ToolsTask } from '../../../src/env/tools/domain.js';
import { SOLVED_AT_START } from '../../../src/env/tools/verify-episode.js';
import { taskFaults } from '../../../src/synth/tasks/task-checks.js';
import { loadLibrary } from '../../env/tools/library.js';

let domain: ToolsDomain;

beforeAll(async () => {
  domain = await loadLibrary();
});
afterAll(() => domain.close());

const problemsOf = async (changed: Partial<ToolsTask>) => {
  const [lend] = domain.tasks;
  return (await taskFaults(domain, [{ ...lend, ...changed }])).map(({ problem }) => problem);
};

test('none are found in sound tasks', async () => {
  expect(await taskFaults(domain)).toEqual([]);
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
  expect(problems).toEqual(['its verifier passes the failure "lies"']);
});
