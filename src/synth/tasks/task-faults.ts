// What is wrong with a domain's own tasks: whose verifier pays for nothing, loses its reference, or passes a failure that it must refuse.

import { isWorkedOutLater } from '../../env/tools/act-domain.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { isSolvedAtStart, SOLVED_AT_START } from '../../env/tools/verify-episode.js';
import { checkReference } from './reference-check.js';
import { playCalls } from './task-play.js';
import { checksOf } from './task-verdict.js';

export interface TaskFault {
  readonly task: string;
  readonly problem: string;
}

/** Tasks whose work is found out when they begin are left out, as beginning each may take minutes; so are plays of domains without rules. */
export async function taskFaults(
  domain: ToolsDomain,
  tasks: readonly ToolsTask[] = domain.tasks,
): Promise<TaskFault[]> {
  const faults: TaskFault[] = [];
  for (const task of tasks) {
    if (isWorkedOutLater(task)) continue;
    const problems = isSolvedAtStart(domain, task) ? [SOLVED_AT_START] : [];
    problems.push(...(await playedFaults(domain, task)));
    faults.push(...problems.map((problem) => ({ task: task.id, problem })));
  }
  return faults;
}

async function playedFaults(domain: ToolsDomain, task: ToolsTask): Promise<string[]> {
  const { reference, failures = [], verifier } = task;
  if (domain.rules === undefined || reference === undefined) return [];
  const called = [...reference.calls, ...failures.flatMap(({ calls }) => calls)];
  if (called.some(({ name }) => !domain.rules!.tools.has(name))) return [];
  const responder = rulesResponder(domain, 'rules');
  const problems: string[] = [];
  const { played } = await checkReference(domain, task, responder);
  const wanted = played.end.finalState;
  // What a reference says is often left out.
  const isSilent = reference.say === undefined && (verifier.communicate ?? []).length > 0;
  const lost = isSilent ? undefined : checksOf(domain, task, played.end, wanted).find(({ passed }) => passed === false);
  if (lost !== undefined) problems.push(`its verifier fails its reference: ${lost.name}: ${lost.reason}`);
  for (const { name, calls, say } of failures) {
    const { end } = await playCalls({ domain, task, responder }, calls, say);
    if (checksOf(domain, task, end, wanted).every(({ passed }) => passed !== false)) {
      problems.push(`its verifier passes the failure "${name}"`);
    }
  }
  return problems;
}
