// Whether a drafted domain holds: it is loaded as any domain is, its rules run in the sandbox, its tasks are solved by their
// references and not by their failures, and probes of both kinds are put to it: what must fail, and what must succeed.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ReverieError } from '../../core/errors.js';
import { temporaryFolder } from '../../core/files.js';
import { compileSchema } from '../../env/state/state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { loadDomain, withTasks } from '../../env/tools/load-domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { generateProbes, mustSucceed, type Probe, readProbes } from '../../worldmodel/must-fail/probes.js';
import { runMustFail } from '../../worldmodel/must-fail/run-must-fail.js';
import { Admissions } from '../tasks/admission.js';
import { playCalls } from '../tasks/task-checks.js';
import { DRAFT_FILES, type DraftFiles } from './draft-domain.js';

/** What was found of a draft. */
export interface DraftTrial {
  /** One sentence each; empty: it holds. */
  readonly faults: readonly string[];
  readonly tools: number;
  readonly tasks: number;
  /** Probes that were put to its rules, and how many it passed. */
  readonly probes: { readonly passed: number; readonly total: number };
}

const NOTHING = { tools: 0, tasks: 0, probes: { passed: 0, total: 0 } };
/** Faults that are told at once. */
const MOST_FAULTS = 24;

/** @param least number of tasks it must have */
export async function tryDraft(files: DraftFiles, least: number): Promise<DraftTrial> {
  const missing = DRAFT_FILES.filter((name) => files[name] === undefined);
  if (missing.length > 0) return { faults: missing.map((name) => `${name} is missing`), ...NOTHING };
  const root = temporaryFolder('draft');
  try {
    const folder = join(root.path, 'draft');
    await mkdir(folder);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const { faults, ...found } = await tried(folder, least);
    const told = faults.map((fault) => fault.replaceAll(`${folder}/`, ''));
    return { faults: [...new Set(told)].slice(0, MOST_FAULTS), ...found };
  } finally {
    root.remove();
  }
}

async function tried(folder: string, least: number): Promise<DraftTrial> {
  let domain: ToolsDomain | undefined;
  try {
    domain = await loadDomain(folder);
    const probes = await readProbes(join(folder, 'must-fail.yaml'), domain);
    const whole = wholenessFaults(domain, probes, least);
    const counts = { tools: domain.tools.length, tasks: domain.tasks.length };
    if (whole.length > 0) return { ...NOTHING, ...counts, faults: whole };
    const solved = await taskFaults(domain);
    const probed = await probeFaults(domain, probes);
    return { ...counts, probes: probed.probes, faults: [...solved, ...probed.faults] };
  } catch (error) {
    // What the domain's own files are to blame for, its rules' running included.
    if (!(error instanceof ReverieError)) throw error;
    return { ...NOTHING, faults: [error.message] };
  } finally {
    domain?.close();
  }
}

/** Whether there is enough of everything to be tried by. */
function wholenessFaults({ tools, tasks, rules }: ToolsDomain, probes: readonly Probe[], least: number): string[] {
  const writes = tools.filter(({ kind }) => kind === 'write').map(({ name }) => name);
  const solving = new Set(tasks.flatMap(({ reference }) => reference?.calls.map(({ name }) => name) ?? []));
  const of = (name: string, wanted: boolean) =>
    probes.some((probe) => probe.call?.name === name && mustSucceed(probe) === wanted);
  return [
    ...(writes.length === 0 ? ['no tool is of kind write: nothing can be done in this world'] : []),
    ...tools.flatMap(({ name }) => (rules?.tools.has(name) ? [] : [`rules.js has no tool "${name}"`])),
    ...(tasks.length < least ? [`there are ${tasks.length} tasks; at least ${least} are wanted`] : []),
    ...writes.flatMap((name) => (solving.has(name) ? [] : [`no reference of a task calls "${name}"`])),
    ...writes.flatMap((name) =>
      of(name, false) ? [] : [`no probe of must-fail.yaml says what "${name}" must refuse`],
    ),
    ...tools.flatMap(({ name }) => (of(name, true) ? [] : [`no probe of kind possible calls "${name}"`])),
  ];
}

async function taskFaults(domain: ToolsDomain): Promise<string[]> {
  const admissions = new Admissions(withTasks(domain, []));
  const fits = compileSchema(domain.stateSchema, 'the state');
  const faults: string[] = [];
  for (const task of domain.tasks) {
    const reasons = await admissions.faultsOf(task);
    faults.push(...reasons.map(({ detail }) => `task "${task.id}": ${detail}`));
    if (reasons.length > 0) continue;
    const { answers } = await playCalls({ domain, task, responder: rulesResponder(domain) }, task.reference!.calls);
    for (const { call, state } of answers) {
      const misfit = fits(state);
      if (misfit.length > 0)
        faults.push(`task "${task.id}": after ${call.name} the data break their schema: ${misfit[0]}`);
    }
  }
  return faults;
}

/**
 * Probes that were written beside the tasks, and those that can be made of any domain. The latter are made as if nobody knew the
 * rules, and what must succeed is tried without them: rules would only agree with themselves.
 */
async function probeFaults(domain: ToolsDomain, written: readonly Probe[]) {
  const { rules: _, ...alone } = domain;
  const responder = rulesResponder(domain);
  const probes = [...written, ...(await generateProbes(alone)).probes];
  const faults: string[] = [];
  for (const probe of probes) {
    const problem = await problemOf(probe, { domain: mustSucceed(probe) ? alone : domain, responder });
    if (problem !== undefined) faults.push(`probe "${probe.name}" ${problem}`);
  }
  return { faults, probes: { passed: probes.length - faults.length, total: probes.length } };
}

type Asked = Pick<Parameters<typeof runMustFail>[0], 'domain' | 'responder'>;

/** A probe that ends in a fault of the rules takes no other with it. */
async function problemOf(probe: Probe, asked: Asked): Promise<string | undefined> {
  try {
    const { failures } = await runMustFail({ ...asked, probes: [probe] });
    return failures[0]?.problem;
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    return `could not be tried: ${error.message}`;
  }
}
