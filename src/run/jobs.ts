// The table of jobs: what does each in which family of worlds, and what makes the environments of a family. Loaded when it is asked for.

import { reverieError } from '../core/errors.js';
import { kinds, wrongFamily } from '../kinds/registry.js';
import type { JobContext, JobInputs, JobResult } from './job.js';
import type { AnyScenario } from './scenario.js';

type Job = (context: never) => Promise<JobResult>;

const episodes = () => import('./pipeline/tools/episodes.js');
const fidelity = () => import('./pipeline/fidelity.js');

const JOBS = {
  collect: {
    vector: async () => (await import('./pipeline/collect.js')).collectJob,
    tools: async () => (await episodes()).collectEpisodesJob,
  },
  fit: {
    vector: async () => (await import('./pipeline/fit.js')).fitJob,
    tools: async () => (await import('./pipeline/tools/records.js')).fitBackendJob,
  },
  synth: {
    vector: async () => (await import('./pipeline/synth.js')).synthJob,
    tools: async () => (await episodes()).synthEpisodesJob,
  },
  train: {
    vector: async () => (await import('./pipeline/train.js')).trainJob,
    tools: async () => (await import('./pipeline/tools/train-policy.js')).trainPolicyJob,
  },
  eval: {
    vector: async () => (await import('./pipeline/collect.js')).evalJob,
    tools: async () => (await episodes()).evalEpisodesJob,
  },
  fidelity: {
    vector: async () => (await fidelity()).vectorFidelityJob,
    tools: async () => (await fidelity()).toolsFidelityJob,
  },
  quickstart: { vector: async () => (await import('./pipeline/quickstart.js')).quickstartJob },
  audit: { tools: async () => (await import('./pipeline/tools/gates.js')).auditJob },
  export: { tools: async () => (await import('./pipeline/tools/gates.js')).exportJob },
} satisfies Record<string, Record<string, () => Promise<Job>>>;
export type JobName = keyof typeof JOBS;

/** One job's ways by family, each loaded when it is asked for. */
export type Jobs<R extends JobResult> = Readonly<Record<string, () => Promise<(context: never) => Promise<R>>>>;

/** The job as it is done for `scenario`. @throws SCENARIO_UNFIT */
export async function jobFor<R extends JobResult>(
  name: string,
  { family, config }: AnyScenario,
  jobs?: Jobs<R>,
): Promise<(context: JobContext<AnyScenario>) => Promise<R>> {
  const table: Readonly<Record<string, () => Promise<unknown>>> = jobs ?? JOBS[name as JobName] ?? {};
  const load = jobs?.[family] ?? kinds.get(family).jobs?.[name] ?? table[family];
  if (load === undefined)
    throw wrongFamily(config.name, family, `${Object.keys(table).join(' or ')} (reverie ${name})`);
  return (await load()) as (context: JobContext<AnyScenario>) => Promise<R>;
}

const OWN = 'nothing: its scenario says who acts (agent) and who answers (model), and names records (experience.logs)';

/** By family and job: inputs that it would leave out, and what is expected instead. */
const UNUSED: Readonly<Record<string, Readonly<Record<string, readonly [inputs: string, expected: string]>>>> = {
  tools: {
    fit: ['model', 'none: a backend is fitted from its records alone, not from an earlier model'],
    synth: ['model data checkpoint', OWN],
    train: ['model data checkpoint', OWN],
    fidelity: [
      'model data checkpoint compare',
      'nothing: models of tools are named by fidelity.subjects, and records by --held-out',
    ],
  },
};
const BOTH_TRUTHS = ['data', 'nothing beside --held-out: models are judged by the one or by the other'] as const;

/** Nothing is left out in silence. @throws FLAG_INVALID */
export function requireUsed(name: string, { family }: AnyScenario, inputs: JobInputs): void {
  const [unused, expected] = UNUSED[family]?.[name] ?? (inputs.heldOut === undefined ? [''] : BOTH_TRUTHS);
  const flag = unused.split(' ').find((input) => inputs[input as keyof JobInputs] !== undefined);
  if (flag === undefined) return;
  throw reverieError('FLAG_INVALID', { flag: `--${flag}`, value: inputs[flag as keyof JobInputs], expected });
}

type World = typeof import('./serve-vector.js') | typeof import('./serve-tools.js');

const WORLDS: Readonly<Record<string, () => Promise<World>>> = {
  vector: () => import('./serve-vector.js'),
  tools: () => import('./serve-tools.js'),
};

/** What opens, makes and checks the environments of a family. @throws SCENARIO_UNFIT */
export async function worldOf(family: string, name = family): Promise<World> {
  const load = WORLDS[family];
  if (load !== undefined) return load();
  throw wrongFamily(name, family, Object.keys(WORLDS).join(' or '));
}

/** Tries every promise of the environment contract on a scenario's real environment. @throws only where it cannot be made at all */
export async function checkedEnvironment(scenario: AnyScenario) {
  const { check } = await worldOf(scenario.family, scenario.config.name);
  const report = await check(scenario as never);
  const { describeReport } = await import('../env/check-environment.js');
  return { report, text: describeReport(report) };
}
