// Which domain a job lives in: its own, or one with more tasks.

import { expect, it } from 'vitest';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { withAddedTasks } from '../../../src/run/pipeline/tools/gates.js';
import { screensDomain } from '../../../src/screens/screens-domain.js';
import { CONTRACT } from '../../screens/fixture.js';

const SHARES = { validation: 0.1, test: 0.1 };

it('begins no task and looks for no solution before one is played', () => {
  const pages = [{ id: 'gone.1', file: '/nowhere/gone.html', seed: 1, split: 'train' as const }];
  const domain = screensDomain({ id: 'gone', version: '1', contract: CONTRACT, browser: 'jsdom', pages });
  const same = withAddedTasks(domain, [], SHARES);
  expect(same.tasks.map(({ id, split }) => [id, split])).toEqual([['gone.1', 'train']]);
  expect(same.version).toBe(domain.version);
  // To look at it is to open its page.
  expect(() => same.tasks[0].initialOperations).toThrow();
  domain.close();
});

it('has the tasks that were added, each with a split, and a version of its own', async () => {
  const domain = await makeDomain({ id: 'helpdesk' });
  const { split: _, ...task } = { ...domain.tasks[0], id: 'another', family: 'another' };
  const more = withAddedTasks(domain, [task], SHARES);
  expect(more.tasks).toHaveLength(domain.tasks.length + 1);
  expect(more.tasks.at(-1)).toMatchObject({ id: 'another', split: expect.stringMatching(/^(train|validation|test)$/) });
  expect(more.version).not.toBe(domain.version);
  domain.close();
});
