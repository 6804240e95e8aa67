// What a job's figures were measured on: environment, tasks, seeds, who acts, and settings. It is in every result: figures of two runs
// may be compared where the hashes of their sets are the same.

import { contentHash, type Json } from '../core/canonical-json.js';
import { type EvaluationSet, type EvaluationSetParts, evaluationSetOf } from '../core/evaluation-set.js';
import type { ToolsDomain, ToolsTask } from '../env/tools/domain.js';
import type { ScenarioConfig } from '../kinds/vector.js';
import type { JobContext } from './job.js';
import { digestOf, findInput } from './pipeline/inputs.js';
import type { Scenario } from './scenario.js';
import { versions } from './versions.js';

/** Of what an agent or a learner does in a world of tools. */
export function toolsSet(
  { seed }: { readonly seed: number },
  domain: ToolsDomain,
  tasks: readonly ToolsTask[],
  policies: EvaluationSetParts['policies'],
  settings: object,
): EvaluationSet {
  return evaluationSetOf({
    ...{ environment: domain.version, tasks: tasks.map(({ id }) => id), seeds: [seed], policies },
    settings: settings as Json,
  });
}

interface Measured {
  readonly policies: EvaluationSetParts['policies'];
  /** Inputs that take part, by their bytes. */
  readonly given?: readonly ('data' | 'model' | 'checkpoint')[];
  readonly settings?: object;
}

/** Of a world of numbers. */
export async function vectorSet(
  { scenario, seed, inputs }: Pick<JobContext, 'scenario' | 'seed' | 'inputs'>,
  { policies, given = [], settings = {} }: Measured,
): Promise<EvaluationSet> {
  const found: Record<string, string> = {};
  for (const name of given) {
    const folder = findInput(inputs, name);
    if (folder !== undefined) found[name] = await digestOf(folder);
  }
  return evaluationSetOf({
    ...{ environment: environmentOf(scenario), tasks: [], seeds: [seed] },
    ...{ policies: { ...policies, ...found }, settings: settings as Json },
  });
}

/** Of several trainings side by side: an arm each, and what all are judged by. */
export function comparisonSet(
  scenario: Scenario,
  arms: readonly { readonly name: string; readonly scenario: Scenario }[],
  seeds: readonly number[],
): EvaluationSet {
  const policies = arms.map(({ name, scenario: { config: own } }) => [
    name,
    digest({ ...learnerVersions(own), ...evaluationSettings(own) }),
  ]);
  const { train, quickstart, eval: of } = scenario.config;
  return evaluationSetOf({
    ...{ environment: environmentOf(scenario), tasks: [], seeds, policies: Object.fromEntries(policies) },
    settings: { threshold: train.threshold, finalEpisodes: quickstart.finalEpisodes, ...of },
  });
}

function environmentOf({ config, environment }: Scenario): Json {
  const { reverie: _, node: __, ...packages } = versions();
  return { env: config.env as unknown as Json, ...packages, ...(environment && { files: environment }) };
}

/** Who learns, and in what, by what of the scenario decides it: `sac@1f2e3d4c5b6a`. It stands for the policy that comes of it. */
export function learnerVersions({ rl, train, model, rollout, replay }: ScenarioConfig): Record<string, string> {
  const { evalEvery: _, evalEpisodes: _e, threshold: _t, checkpointSeconds: _c, keepPolicyEvery: _k, ...how } = train;
  const learner = `${rl.algorithm}@${digest({ rl, how, replay })}`;
  return train.mode === 'dream' ? { learner, dream: `${model.kind}@${digest({ model, rollout })}` } : { learner };
}

/** What of a training is measured, and how often. */
export function evaluationSettings({ train, eval: of }: ScenarioConfig): Record<string, Json> {
  const { mode, realSteps, offlineUpdates, evalEvery, evalEpisodes, threshold, stopAtThreshold } = train;
  const budget: Record<string, Json> = mode === 'offline' ? { offlineUpdates } : { realSteps };
  return { mode, ...budget, evalEvery, evalEpisodes, threshold, stopAtThreshold, ...of };
}

export function digest(value: unknown): string {
  return contentHash(value).slice(0, 12);
}
