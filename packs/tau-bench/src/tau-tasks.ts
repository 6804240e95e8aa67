// Tasks of τ-bench as tasks of a tools environment: what the user wants, the calls that solve it, what decides the reward.

import { type CallSpec, type JsonObject, type ToolsTask, type VerifierSpec, z } from 'reverie/extend';
import type { TauRelease } from './tool-kit.js';

const nullish = z.string().nullish();

export const tasksFileSchema = z
  .array(
    z.object({
      id: z.string(),
      user_scenario: z.object({
        persona: nullish,
        instructions: z.union([
          z.string(),
          z.object({
            domain: z.string(),
            reason_for_call: z.string(),
            known_info: nullish,
            unknown_info: nullish,
            task_instructions: z.string(),
          }),
        ]),
      }),
      initial_state: z.null().optional(),
      evaluation_criteria: z.object({
        actions: z
          .array(z.object({ name: z.string(), arguments: z.record(z.string(), z.json()) }))
          .nullish()
          .transform((actions) => actions ?? []),
        communicate_info: z
          .array(z.string())
          .nullish()
          .transform((texts) => texts ?? []),
        nl_assertions: z
          .array(z.string())
          .nullish()
          .transform((sentences) => sentences ?? []),
        reward_basis: z.array(z.enum(['DB', 'COMMUNICATE', 'NL_ASSERTION'])).default(['DB', 'COMMUNICATE']),
      }),
    }),
  )
  .min(1);

export const splitFileSchema = z.object({ train: z.array(z.string()), test: z.array(z.string()) });

export type TasksFile = z.infer<typeof tasksFileSchema>;
type TaskRecord = TasksFile[number];
type Criteria = TaskRecord['evaluation_criteria'];

export interface TaskOptions {
  readonly release: TauRelease;
  readonly split?: z.infer<typeof splitFileSchema>;
  /** Whether calls, from the initial state on, leave another state. */
  readonly changesState: (calls: readonly CallSpec[]) => boolean;
  /** Whom a task is about: tasks about the same customer are variants of one another. */
  readonly customerOf: (text: string, calls: readonly CallSpec[]) => string | undefined;
}

export function toolsTask(task: TaskRecord, options: TaskOptions): ToolsTask {
  const { instructions, persona } = task.user_scenario;
  const goal = typeof instructions === 'string' ? instructions : describeInstructions(instructions);
  const calls = task.evaluation_criteria.actions.map(({ name, arguments: args }) => ({
    name,
    arguments: args as JsonObject,
  }));
  const verifier = verifierOf(task.evaluation_criteria, options.release);
  const split = splitOf(task.id, options);
  return {
    id: task.id,
    family: options.customerOf(goal, calls) ?? `task ${task.id}`,
    ...(split === undefined ? {} : { split }),
    user: { goal, ...(persona == null ? {} : { persona }) },
    verifier,
    reference: { calls, ...(verifier.communicate === undefined ? {} : { say: verifier.communicate.join(', ') }) },
    ...(options.changesState(calls) ? { failures: [{ name: 'nothing is done', calls: [] }] } : {}),
  };
}

/**
 * What τ-bench's reward is made of. The first release always compares the database and what was said; the successor does
 * what a task's `reward_basis` names, where sentences need a judge and none to judge counts as passed.
 */
function verifierOf({ communicate_info, nl_assertions, reward_basis }: Criteria, release: TauRelease): VerifierSpec {
  const basis: readonly string[] = release === 'tau1' ? ['DB', 'COMMUNICATE'] : reward_basis;
  return {
    ...(basis.includes('DB') ? { state: 'reference' } : {}),
    ...(basis.includes('COMMUNICATE') && communicate_info.length > 0 ? { communicate: communicate_info } : {}),
    ...(basis.includes('NL_ASSERTION') && nl_assertions.length > 0 ? { rubric: nl_assertions } : {}),
  };
}

function splitOf(id: string, { split }: TaskOptions): 'train' | 'test' | undefined {
  if (split?.test.includes(id)) return 'test';
  return split?.train.includes(id) ? 'train' : undefined;
}

type Instructions = Exclude<TaskRecord['user_scenario']['instructions'], string>;

/** As the successor shows them to its simulated user. */
function describeInstructions({
  domain,
  reason_for_call,
  known_info,
  unknown_info,
  task_instructions,
}: Instructions): string {
  const sections = [
    ['Reason for call', reason_for_call],
    ['Known info', known_info],
    ['Unknown info', unknown_info],
    ['Task instructions', task_instructions],
  ];
  const given = sections
    .filter(([, body]) => body != null)
    .map(([title, body]) => `${title}:\n${indented(body as string)}`);
  return [`Domain: ${domain}`, ...given].join('\n');
}

function indented(body: string): string {
  return body
    .split('\n')
    .map((line) => (line.trim() === '' ? line : `\t${line}`))
    .join('\n');
}
