// The panels of figures about worlds of numbers: what a recording, a fit, dreamt transitions, an evaluation, a training and a comparison
// of trainings were measured on.

import type { Json } from '../../core/canonical-json.js';
import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { type Panel, panelOf } from '../../core/evaluation-set.js';
import type { JobContext, JobInputs } from '../job.js';
import type { Scenario } from '../scenario.js';
import { versions } from '../versions.js';
import { digestOf, findInput } from './inputs.js';

type Context = Pick<JobContext, 'scenario' | 'seed' | 'inputs'>;

/** Of a recording: the returns of whoever acts. */
export function collectPanel({ scenario: { config }, seed }: Context, agent: string): Panel {
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds: [seed],
    policies: { agent },
    settings: { steps: config.collect.steps },
  });
}

/** Who explores, by what of the scenario decides it. */
export function explorerVersion({ collect, model }: Config): string {
  return `explorer@${digest({ explore: collect.explore, model })}`;
}

/** Of a fit: what learns, what it learns from and what it goes on from. Its error is that of rows held out of the same records. */
export async function fitPanel({ scenario: { config }, seed, inputs }: Context): Promise<Panel> {
  const { model } = config;
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds: [seed],
    policies: { learner: `${model.kind}@${digest(model)}`, ...(await givenTo(inputs, ['data', 'model'])) },
    settings: {},
  });
}

/** Of dreamt transitions: who acts, the dream's version, and the records that rollouts begin in. */
export async function synthPanel(
  { scenario: { config }, seed, inputs }: Context,
  agent: string,
  dream: string,
): Promise<Panel> {
  const { horizon, disagreementLimit, propagation, chunkRows } = config.rollout;
  const { starts, episodes } = config.synth;
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds: [seed],
    policies: { agent, dream, ...(await givenTo(inputs, ['data'])) },
    settings: { horizon, disagreementLimit, propagation, chunkRows, starts, episodes },
  });
}

/** The seeds of episodes follow from the run's. */
export function evalPanel({ scenario: { config }, seed }: Context, policy: string): Panel {
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds: [seed],
    policies: { agent: policy },
    settings: { ...config.eval },
  });
}

/** Who learns, and in what, stands for the policy that comes of it; what it was given is known by its bytes. */
export async function trainPanel({ scenario: { config }, seed, inputs }: Context): Promise<Panel> {
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds: [seed],
    policies: { ...whoLearns(config), ...(await givenTo(inputs, ['data', 'model', 'checkpoint'])) },
    settings: evaluationOf(config),
  });
}

interface ComparedArm {
  readonly name: string;
  readonly scenario: Scenario;
}

/** Of several trainings side by side: an arm each, and what all are judged by. */
export function comparisonPanel({ config }: Scenario, arms: readonly ComparedArm[], seeds: readonly number[]): Panel {
  const policies = arms.map(({ name, scenario }) => [
    name,
    digest({ ...whoLearns(scenario.config), ...evaluationOf(scenario.config) }),
  ]);
  const { threshold } = config.train;
  const { finalEpisodes } = config.quickstart;
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds,
    policies: Object.fromEntries(policies),
    settings: { threshold, finalEpisodes, ...config.eval },
  });
}

type Config = Scenario['config'];

function environmentOf({ env }: Config): Json {
  const { reverie: _, node: __, ...packages } = versions();
  return { env: env as unknown as Json, ...packages };
}

/** By what of the scenario decides it: `sac@1f2e3d4c5b6a`. */
function whoLearns({ rl, train, model, rollout, replay }: Config): Record<string, string> {
  const {
    evalEvery: _,
    evalEpisodes: __,
    threshold: ___,
    checkpointSeconds: ____,
    keepPolicyEvery: _____,
    ...how
  } = train;
  const learner = `${rl.algorithm}@${digest({ rl, how, replay })}`;
  return train.mode === 'dream' ? { learner, dream: `${model.kind}@${digest({ model, rollout })}` } : { learner };
}

/** What of a training is measured, and how often. */
function evaluationOf({ train, eval: of }: Config): Record<string, Json> {
  const { mode, realSteps, offlineUpdates, evalEvery, evalEpisodes, threshold, stopAtThreshold } = train;
  const budget: Record<string, Json> = mode === 'offline' ? { offlineUpdates } : { realSteps };
  return { mode, ...budget, evalEvery, evalEpisodes, threshold, stopAtThreshold, ...of };
}

/** What a job was given, by its bytes. */
async function givenTo(
  inputs: JobInputs,
  names: readonly ('data' | 'model' | 'checkpoint')[],
): Promise<Record<string, string>> {
  const given = await Promise.all(
    names.map(async (name) => {
      const folder = findInput(inputs, name);
      return folder === undefined ? [] : [[name, await digestOf(folder)] as const];
    }),
  );
  return Object.fromEntries(given.flat());
}

function digest(value: unknown): string {
  return sha256(canonicalJson(value as Json)).slice(0, 12);
}
