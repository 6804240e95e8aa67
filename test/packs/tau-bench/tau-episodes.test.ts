// The same environment over tau-bench's data: every task is solved by its reference calls, and not by doing nothing.
// The data lie in the folder REVERIE_SHARED_DATA, by default ../shared/data next to the repository.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { ToolsDomain, ToolsTask, Verdict } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { ToolsStepInfo } from '../../../src/env/tools/tools-family.js';

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const folder = path.join(data, 'tau');

async function verdictOf(domain: ToolsDomain, task: ToolsTask, calls: number): Promise<Verdict | undefined> {
  const options = { id: domain.id, domain, responder: rulesResponder(domain), user: new ScriptedUser(), maxSteps: 60 };
  const env = new ToolsEpisodeEnvironment(options);
  await env.reset({ task: task.id, seed: 1 });
  const told = task.verifier.communicate?.join('; ') ?? '';
  const sentences = [`It is done. ${task.reference?.say ?? told}`, 'Goodbye.', 'Goodbye.'];
  const actions = [
    ...(task.reference?.calls ?? [])
      .slice(0, calls)
      .map((call) => ({ toolCalls: [{ id: '', ...call }], content: null })),
    ...sentences.map((content) => ({ content })),
  ];
  for (const action of actions) {
    const { terminated, info } = await env.step(action);
    if (terminated) return (info as unknown as ToolsStepInfo).verdict;
  }
  return undefined;
}

describe.skipIf(!existsSync(folder))('tau-bench episodes (skipped without REVERIE_SHARED_DATA)', () => {
  test.each(['tau-airline', 'tau-retail'] as const)('%s', async (id) => {
    const domain = await makeDomain({ id, data: path.join(folder, id.slice(4)) });
    const tasks = domain.tasks.filter(({ reference }) => reference !== undefined).slice(0, 40);
    expect(tasks.length).toBeGreaterThan(10);
    const unsolved = [];
    let refusedIdle = 0;
    for (const task of tasks) {
      const solved = await verdictOf(domain, task, Number.POSITIVE_INFINITY);
      if (solved?.checks.some(({ passed }) => passed === false)) unsolved.push([task.id, solved.checks]);
      const writes = task.reference?.calls.filter(
        ({ name }) => domain.tools.find((tool) => tool.name === name)?.kind === 'write',
      );
      if ((writes?.length ?? 0) > 0 && (await verdictOf(domain, task, 0))?.reward === 0) refusedIdle += 1;
    }
    expect(unsolved).toEqual([]);
    expect(refusedIdle).toBeGreaterThan(10);
    domain.close();
  });
});
