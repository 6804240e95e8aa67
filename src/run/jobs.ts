// The table of jobs: what does each in which family of worlds, and what makes the environments of a family. Loaded when it is asked for.

import { kinds, wrongFamily } from '../kinds/registry.js';
import type {
  CollectResult,
  EvalResult,
  FidelityResult,
  FitResult,
  JobContext,
  JobResult,
  QuickstartResult,
  SynthResult,
  TrainResult,
} from './job.js';
import type { AnyScenario } from './scenario.js';
import type {
  AuditResult,
  BackendFitResult,
  ExportResult,
  RealEpisodesResult,
  SynthEpisodesResult,
  TextQuickstartResult,
} from './tools-results.js';

export type AnyJobResult =
  | CollectResult
  | FitResult
  | BackendFitResult
  | SynthResult
  | SynthEpisodesResult
  | RealEpisodesResult
  | AuditResult
  | ExportResult
  | TrainResult
  | EvalResult
  | FidelityResult
  | QuickstartResult
  | TextQuickstartResult;
export type JobName = AnyJobResult['job'];

type Loaded = (context: never) => Promise<JobResult>;

/** How a job is done in one family, and what people are told of its result. */
interface FamilyJob {
  readonly run: () => Promise<Loaded>;
  readonly text?: () => Promise<(result: never) => unknown>;
}

const vectorText = () => import('./vector-result-text.js').then(({ vectorResultText }) => vectorResultText);
const toolsText = () => import('./tools-result-text.js').then(({ toolsResultText }) => toolsResultText);
const texts = () => import('./result-text.js');
const realEpisodes = () => import('./pipeline/tools/real-episodes.js');
const fidelity = () => import('./pipeline/fidelity/fidelity-job.js');

const JOBS: Readonly<Record<string, Readonly<Record<string, FamilyJob>>>> = {
  collect: {
    vector: {
      run: async () => (await import('./pipeline/collect.js')).collectJob,
      text: async () => (await vectorText()).collect,
    },
    tools: {
      run: async () => (await realEpisodes()).collectEpisodesJob,
      text: async () => (await toolsText()).collect,
    },
  },
  fit: {
    vector: { run: async () => (await import('./pipeline/fit.js')).fitJob, text: async () => (await vectorText()).fit },
    tools: {
      run: async () => (await import('./pipeline/tools/fit-backend.js')).fitBackendJob,
      text: async () => (await toolsText()).fit,
    },
  },
  synth: {
    vector: {
      run: async () => (await import('./pipeline/synth.js')).synthJob,
      text: async () => (await vectorText()).synth,
    },
    tools: {
      run: async () => (await import('./pipeline/tools/synth-episodes.js')).synthEpisodesJob,
      text: async () => (await toolsText()).synth,
    },
  },
  train: {
    vector: {
      run: async () => (await import('./pipeline/train.js')).trainJob,
      text: async () => (await vectorText()).train,
    },
    tools: {
      run: async () => (await import('./pipeline/tools/train-policy.js')).trainPolicyJob,
      text: async () => (await toolsText()).train,
    },
  },
  eval: {
    vector: {
      run: async () => (await import('./pipeline/eval.js')).evalJob,
      text: async () => (await vectorText()).eval,
    },
    tools: { run: async () => (await realEpisodes()).evalEpisodesJob, text: async () => (await toolsText()).eval },
  },
  fidelity: {
    vector: { run: async () => (await fidelity()).vectorFidelityJob, text: async () => (await texts()).fidelityText },
    tools: { run: async () => (await fidelity()).toolsFidelityJob, text: async () => (await texts()).fidelityText },
  },
  quickstart: {
    vector: {
      run: async () => (await import('./pipeline/quickstart.js')).quickstartJob,
      text: async () => (await vectorText()).quickstart,
    },
    tools: {
      run: async () => (await import('./pipeline/tools/quickstart-text.js')).quickstartTextJob,
      text: async () => (await texts()).quickstartText,
    },
  },
  audit: {
    tools: {
      run: async () => (await import('./pipeline/tools/audit.js')).auditJob,
      text: async () => (await toolsText()).audit,
    },
  },
  export: {
    tools: {
      run: async () => (await import('./pipeline/tools/datasets.js')).exportJob,
      text: async () => (await toolsText()).export,
    },
  },
};

/** One job's ways by family, each loaded when it is asked for. */
export type Jobs<R extends JobResult> = Readonly<Record<string, () => Promise<(context: never) => Promise<R>>>>;

/** The job as it is done for `scenario`. @throws SCENARIO_UNFIT */
export async function jobFor<R extends JobResult>(
  name: string,
  { family, config }: AnyScenario,
  jobs?: Jobs<R>,
): Promise<(context: JobContext<AnyScenario>) => Promise<R>> {
  const own = kinds.get(family).jobs?.[name] ?? JOBS[name]?.[family]?.run;
  const load = jobs === undefined ? own : jobs[family];
  if (load === undefined) {
    const wanted = Object.keys(jobs ?? JOBS[name] ?? {}).join(' or ');
    throw wrongFamily(config.name, family, `${wanted} (reverie ${name})`);
  }
  return (await load()) as (context: JobContext<AnyScenario>) => Promise<R>;
}

/** What people are told of a result; undefined where its plain values are. */
export async function viewFor({ job, family }: JobResult): Promise<((result: never) => unknown) | undefined> {
  const ways = JOBS[job] ?? {};
  // A result that names no family is of the first that has the job.
  return (family === undefined ? Object.values(ways)[0] : ways[family])?.text?.();
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
