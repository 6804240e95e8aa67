// Do the tasks of a domain fit its tools, its state and its rules? The first fault is an error that names the task.

import { nearest, type ReverieError, reverieError } from '../../core/errors.js';
import { pointerKeys } from '../state/pointer.js';
import { compileSchema, type SchemaCheck } from '../state/schema.js';
import { callChecks } from './call-checks.js';
import type { CallSpec, ToolsDomain, ToolsTask } from './domain.js';
import { initialStateOf } from './task-states.js';

/**
 * All but what the rules have to say.
 * @param file what the tasks are called in errors
 * @throws DOMAIN_FILE_INVALID
 */
export function checkTasks(domain: ToolsDomain, file: string): void {
  const stateCheck = compileSchema(domain.stateSchema, 'the state');
  const seen = new Set<string>();
  for (const task of domain.tasks) {
    const problem = seen.has(task.id) ? 'another task has the same id' : problemOfTask(domain, task, stateCheck);
    if (problem !== undefined) throw invalid(file, task, problem);
    seen.add(task.id);
  }
}

/**
 * @param checks names of the checks that the rules have
 * @throws DOMAIN_FILE_INVALID if a task asks for another one
 */
export function checkNamedChecks({ tasks }: ToolsDomain, checks: ReadonlySet<string>, file: string): void {
  for (const task of tasks) {
    const unknown = task.verifier.checks?.find((name) => !checks.has(name));
    if (unknown === undefined) continue;
    const known = nearest(unknown, [...checks]);
    const hint = known === undefined ? '' : ` (did you mean "${known}"?)`;
    throw invalid(file, task, `verifier: the rules have no check "${unknown}"${hint}`);
  }
}

function problemOfTask(domain: ToolsDomain, task: ToolsTask, stateCheck: SchemaCheck): string | undefined {
  return (
    problemOfUser(task) ??
    problemOfStart(domain, task, stateCheck) ??
    problemOfCalls(domain, task) ??
    problemOfVerifier(task)
  );
}

function problemOfUser({ user }: ToolsTask): string | undefined {
  for (const { when } of user.script ?? []) {
    if (when === undefined) continue;
    try {
      new RegExp(when, 'i');
    } catch (error) {
      return `user.script: ${(error as Error).message}`;
    }
  }
  return undefined;
}

function problemOfStart(domain: ToolsDomain, task: ToolsTask, stateCheck: SchemaCheck): string | undefined {
  if (!task.initialOperations?.length) return undefined;
  try {
    const problems = stateCheck(initialStateOf(domain, task));
    if (problems.length > 0) return `initialOperations: the state no longer fits its schema: ${problems.join('; ')}`;
  } catch (error) {
    return `initialOperations: ${(error as Error).message}`;
  }
  return undefined;
}

/** Reference and failures must be calls that reach a backend; of verified calls, what is given must be an argument. */
function problemOfCalls({ tools }: ToolsDomain, { reference, failures, verifier }: ToolsTask): string | undefined {
  const check = callChecks(tools);
  const problemOf = (where: string, calls: readonly CallSpec[]) => {
    const problems = calls.flatMap((call, i) => check.problems(call).map((problem) => `${where} ${i + 1}: ${problem}`));
    return problems[0];
  };
  const listed: [string, readonly CallSpec[]][] = [
    ['reference, call', reference?.calls ?? []],
    ...(failures ?? []).map(({ name, calls }) => [`failure "${name}", call`, calls] as [string, readonly CallSpec[]]),
  ];
  const known = tools.map(({ name }) => name);
  const named = [...(verifier.called ?? []).map(({ name }) => name), ...(verifier.notCalled ?? [])];
  const unknown = named.find((name) => !known.includes(name));
  if (unknown !== undefined) return `verifier: unknown tool "${unknown}" (did you mean "${nearest(unknown, known)}"?)`;
  return listed.map(([where, calls]) => problemOf(where, calls)).find((problem) => problem !== undefined);
}

function problemOfVerifier({ verifier, reference }: ToolsTask): string | undefined {
  const parts = Object.values(verifier).flatMap((part) => part ?? []);
  if (parts.length === 0) return 'verifier: it verifies nothing, so that every episode would pass';
  if (verifier.state === 'reference' && reference === undefined) {
    return 'verifier: "state: reference" needs the reference calls';
  }
  for (const { path, equals, exists } of verifier.assert ?? []) {
    if (pointerKeys(path) === undefined) return `verifier.assert: "${path}" is no JSON Pointer: it must begin with "/"`;
    if (equals === undefined && exists === undefined) return `verifier.assert: ${path} needs "equals" or "exists"`;
  }
  return undefined;
}

function invalid(file: string, { id }: ToolsTask, problem: string): ReverieError {
  return reverieError('DOMAIN_FILE_INVALID', {
    problem: `Domain file "${file}": ${`task "${id}": ${problem}`}`,
    hint: 'Correct the task; the verifier must be able to tell success from failure.',
  });
}
