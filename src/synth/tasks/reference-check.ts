// Does a task's reference solve it? Asked of seeds, of variants before they are proposed, and again on admission.

import type { CheckResult, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { unknownIds } from './call-ids.js';
import type { Rejection } from './proposal.js';
import { type Played, playCalls } from './task-play.js';
import { checksOf } from './task-verdict.js';

export interface ReferenceCheck {
  readonly reasons: readonly Rejection[];
  readonly played: Played;
}

const remembered = new WeakMap<Responder, WeakMap<ToolsTask, Promise<ReferenceCheck>>>();

/** As `playReference`, remembered by task and responder: seeds are asked about again and again. */
export function checkReference(domain: ToolsDomain, task: ToolsTask, responder: Responder): Promise<ReferenceCheck> {
  const byTask = remembered.get(responder) ?? new WeakMap<ToolsTask, Promise<ReferenceCheck>>();
  remembered.set(responder, byTask);
  const check = byTask.get(task) ?? playReference(domain, task, responder);
  byTask.set(task, check);
  // What failed for want of a budget or a server may succeed another time.
  check.catch(() => byTask.delete(task));
  return check;
}

/** Plays the reference and gives every reason why it does not count as a solution; the task must have one. */
async function playReference(domain: ToolsDomain, task: ToolsTask, responder: Responder): Promise<ReferenceCheck> {
  const { calls, say } = task.reference!;
  const played = await playCalls({ domain, task, responder }, calls, say);
  const faults = playFaults(task, played);
  if (faults.length > 0) return { reasons: faults, played };
  return { reasons: verdictFaults(checksOf(domain, task, played.end, played.end.finalState)), played };
}

function playFaults(task: ToolsTask, { end, answers }: Played): Rejection[] {
  const errors = answers.filter(({ prediction }) => prediction.isError);
  const unreached = task.reference!.calls.length - answers.length;
  const faults = errors.map(({ call, prediction }) => `${call.name} answers "${prediction.observation.slice(0, 200)}"`);
  if (unreached > 0) faults.push(`its last ${unreached} calls come after its end`);
  return [
    ...faults.map((detail): Rejection => ({ code: 'reference_fails', detail })),
    ...unknownIds(end.initialState, answers).map((detail): Rejection => ({ code: 'unknown_id', detail })),
  ];
}

function verdictFaults(checks: readonly CheckResult[]): Rejection[] {
  const refused = checks.filter(({ passed }) => passed === false);
  if (refused.length > 0)
    return refused.map(({ name, reason }) => ({ code: 'reference_fails', detail: `${name}: ${reason}` }));
  if (checks.some(({ passed }) => passed === true)) return [];
  return [{ code: 'undecidable', detail: 'none of its checks can be decided without a judge' }];
}
