// Where a task takes long, probes are made of some tasks alone, nothing is asked of the others, and whoever stops it is heard.

import { afterAll, describe, expect, it } from 'vitest';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { generateProbes, generateSuccesses } from '../../../src/worldmodel/must-fail/probes.js';

const domain = await makeDomain({ id: 'helpdesk' });
afterAll(() => domain.close?.());

/** The domain, which makes probes of so many tasks and tells whose solutions were asked for. */
function watched(probedTasks: number | undefined, onSolution: (task: string) => void) {
  const rules = new Proxy(domain.rules!, {
    get: (of, key) => (key === 'probedTasks' ? probedTasks : Reflect.get(of, key, of)),
  });
  const tasks = domain.tasks.map(
    (task) =>
      new Proxy(task, {
        get: (of, key) => {
          if (key === 'reference') onSolution(of.id);
          return Reflect.get(of, key, of);
        },
      }) as ToolsTask,
  );
  return { ...domain, tasks, rules };
}

describe('probes of a domain that is slow', () => {
  it('are made of as many tasks as the rules say, each of another family', async () => {
    const solved = new Set<string>();
    const slow = watched(2, (task) => solved.add(task));
    const probes = [...(await generateProbes(slow)).probes, ...(await generateSuccesses(slow))];
    const first = new Map([...domain.tasks].reverse().map(({ family, id }) => [family, id]));
    const expected = [...new Set(domain.tasks.map(({ family }) => family))]
      .slice(0, 2)
      .map((family) => first.get(family));
    expect([...solved].sort()).toEqual(expected.sort());
    expect([...new Set(probes.map(({ task }) => task))].sort()).toEqual(expected);
  });

  it.each([generateProbes, generateSuccesses])('end where the job is stopped: %o', async (generate) => {
    const stop = new AbortController();
    const solved = new Set<string>();
    const slow = watched(undefined, (task) => {
      solved.add(task);
      // As the signal of a process: heard once the thread is free.
      setImmediate(() => stop.abort(new Error('stopped')));
    });
    await expect(generate(slow, { signal: stop.signal })).rejects.toThrow('stopped');
    expect(solved.size).toBeLessThan(3);
  });
});
