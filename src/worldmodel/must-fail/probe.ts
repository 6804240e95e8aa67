// Probes that a simulator must fail to please: what does not exist, what may not happen, what was not earned. And probes
// that it must please: what is possible. One that refuses everything passes all of the first kind, and is worth nothing.

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeIssues, nearest, reverieError } from '../../core/errors.js';
import type { ToolsDomain } from '../../env/tools/domain.js';

const callSchema = z.strictObject({
  name: z.string().min(1).describe('Name of a tool.'),
  arguments: z.record(z.string(), z.json()).default({}).describe('Its arguments.'),
});

export const probeSchema = z
  .strictObject({
    name: z.string().min(1).describe('Unique.'),
    kind: z
      .enum(['missing-entity', 'forbidden-transition', 'unearned-success', 'contradiction', 'flattery', 'possible'])
      .describe('What a simulator that fails it does wrong.'),
    task: z.string().optional().describe('Task whose initial state and verifier are used.'),
    setup: z
      .array(callSchema)
      .default([])
      .describe('Calls before the probe, answered by exact rules where there are any.'),
    claim: z
      .string()
      .optional()
      .describe('What the user says just before the call: that something is so which is not, or praise.'),
    call: callSchema.optional().describe('The call that the simulator under test answers.'),
    truth: z
      .strictObject({
        says: z.string().describe('The answer as the environment gives it.'),
        from: z
          .enum(['record', 'state'])
          .default('record')
          .describe('An answer to the same call, or entries of the state of which a part is told.'),
      })
      .optional()
      .describe('What is true, where no exact rules say so: at least half of the facts must agree.'),
    say: z.string().optional().describe('Last words of the agent to the user.'),
    expect: z
      .enum(['error', 'no-change', 'no-reward', 'answer', 'change'])
      .describe(
        'error: the answer reports an error and changes nothing; no-change: it changes nothing, whatever it says; no-reward: the episode of the task is not rewarded; answer: it is answered, and with what is true; change: it changes what it should.',
      ),
  })
  .superRefine(({ expect, call, task }, context) => {
    if (expect === 'no-reward' && task === undefined)
      context.addIssue({ code: 'custom', message: 'expect: no-reward needs a task' });
    if (expect !== 'no-reward' && call === undefined)
      context.addIssue({ code: 'custom', message: `expect: ${expect} needs a call` });
  });

export type Probe = z.output<typeof probeSchema>;
export type ProbeKind = Probe['kind'];

/** Whether a sound simulator does what is asked, rather than refuse it. */
export function mustSucceed({ expect }: Probe): boolean {
  return expect === 'answer' || expect === 'change';
}

/** Reads a YAML list of probes for a domain. Throws FILE_INVALID naming the file and the probe. */
export async function readProbes(path: string, domain: ToolsDomain): Promise<Probe[]> {
  let content: unknown;
  try {
    content = parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `Probes "${path}": ${(error as Error).message}.`,
        hint: 'See docs/domains.md for the keys of a probe.',
      },
      error,
    );
  }
  const read = z.array(probeSchema).safeParse(content);
  if (!read.success)
    throw reverieError('FILE_INVALID', {
      problem: `Probes "${path}": ${describeIssues(read.error)}.`,
      hint: 'See docs/domains.md for the keys of a probe.',
    });
  const problem = read.data.map((probe, i) => problemOf(probe, read.data.slice(0, i), domain)).find(Boolean);
  if (problem !== undefined)
    throw reverieError('FILE_INVALID', {
      problem: `Probes "${path}": ${problem}.`,
      hint: 'See docs/domains.md for the keys of a probe.',
    });
  return read.data;
}

function problemOf({ name, task, setup, call }: Probe, before: readonly Probe[], domain: ToolsDomain) {
  if (before.some((other) => other.name === name)) return `two probes are called "${name}"`;
  const tasks = domain.tasks.map(({ id }) => id);
  if (task !== undefined && !tasks.includes(task))
    return `probe "${name}" names the unknown task "${task}" (did you mean "${nearest(task, tasks)}"?)`;
  const tools = domain.tools.map((tool) => tool.name);
  const unknown = [...setup, ...(call ? [call] : [])].find((each) => !tools.includes(each.name));
  if (unknown === undefined) return undefined;
  return `probe "${name}" calls the unknown tool "${unknown.name}" (did you mean "${nearest(unknown.name, tools)}"?)`;
}
