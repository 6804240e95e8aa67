// Making tasks end to end: in the shop, and out of the tasks of the service desk that we ship.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { makeTasks } from '../../../src/synth/tasks/make-tasks.js';
import { checkReference } from '../../../src/synth/tasks/task-checks.js';
import { tasksSchema } from '../../../src/synth/tasks/tasks-schema.js';
import { CANCEL, shop } from './shop.js';

async function make(domain: ReturnType<typeof shop>, variation: object, seed = 1) {
  const config = tasksSchema.parse({ variation });
  const made = [];
  for await (const one of makeTasks({ domain, config, rng: Rng.fromSeed(seed) })) made.push(one);
  const tasks = made.flatMap(({ admission }) => (admission.admitted ? [admission.task] : []));
  return { made, tasks };
}

describe('the shop', () => {
  it('gets as many tasks as are wanted, all different, none from what is kept', async () => {
    const { tasks, made } = await make(shop(), { count: 6 });
    expect(tasks.length).toBe(6);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(6);
    expect(tasks.every(({ split, family }) => split === 'train' && family !== 'readdress')).toBe(true);
    expect((await make(shop(), { count: 6 })).made).toEqual(made);
    expect((await make(shop(), { count: 6 }, 2)).tasks).not.toEqual(tasks);
  });

  it('stops after so many proposals, and makes none where none are wanted', async () => {
    const one = { ...CANCEL, verifier: { rubric: ['The agent is kind.'] } };
    const { made, tasks } = await make(shop([one]), { count: 2 });
    expect([made.length, tasks.length]).toEqual([12, 0]);
    expect((await make(shop(), {})).made).toEqual([]);
  });
});

it('the service desk gets sound tasks from its own by rules alone', async () => {
  const domain = await loadDomain('packs/helpdesk');
  const { tasks, made } = await make(domain, { count: 4 });
  expect(tasks.length).toBe(4);
  const player = rulesResponder(domain, 'rules');
  for (const task of tasks) expect((await checkReference(domain, task, player)).reasons).toEqual([]);
  const kept = new Set(domain.tasks.filter(({ split }) => split !== 'train').map(({ family }) => family));
  expect(tasks.filter(({ family }: ToolsTask) => kept.has(family))).toEqual([]);
  const refused = made.flatMap(({ admission }) => (admission.admitted ? [] : admission.reasons));
  for (const { detail } of refused) expect(detail).toBeTruthy();
  domain.close();
});
