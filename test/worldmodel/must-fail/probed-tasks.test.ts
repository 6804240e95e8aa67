// Where a task takes long, probes are made of some tasks alone, and nothing is asked of the others.

import { expect, it } from 'vitest';
import { makeDomain, type ToolsTask } from '../../../src/env/index.js';
import { generateProbes, generateSuccesses } from '../../../src/worldmodel/index.js';

it('probes are made of as many tasks as the rules say, each of another family', async () => {
  const domain = await makeDomain({ id: 'helpdesk' });
  const rules = new Proxy(domain.rules!, {
    get: (of, key) => (key === 'probedTasks' ? 2 : Reflect.get(of, key, of)),
  });
  const solved = new Set<string>();
  const tasks = domain.tasks.map(
    (task) =>
      new Proxy(task, {
        get: (of, key) => {
          if (key === 'reference') solved.add(of.id);
          return Reflect.get(of, key, of);
        },
      }) as ToolsTask,
  );
  const slow = { ...domain, tasks, rules };
  const probes = [...generateProbes(slow).probes, ...generateSuccesses(slow)];
  const first = new Map([...domain.tasks].reverse().map(({ family, id }) => [family, id]));
  const expected = [...new Set(domain.tasks.map(({ family }) => family))]
    .slice(0, 2)
    .map((family) => first.get(family));
  expect([...solved].sort()).toEqual(expected.sort());
  expect([...new Set(probes.map(({ task }) => task))].sort()).toEqual(expected);
  domain.close();
});
