// The panels of figures about policies of numbers: what an evaluation, a training and a comparison of trainings were measured on.

import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { canonicalJson } from '../../core/canonical-json.js';
import { sha256 } from '../../core/hash.js';
import type { Json } from '../../core/json.js';
import { type Panel, panelOf } from '../../core/panel.js';
import type { JobContext } from '../job.js';
import type { Scenario } from '../scenario.js';
import { versions } from '../versions.js';
import { findInput } from './inputs.js';

type Context = Pick<JobContext, 'scenario' | 'seed' | 'inputs'>;

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
  const given = await Promise.all(
    (['data', 'model', 'checkpoint'] as const).map(async (name) => {
      const folder = findInput(inputs, name);
      return folder === undefined ? {} : { [name]: await digestOf(folder) };
    }),
  );
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds: [seed],
    policies: Object.assign(whoLearns(config), ...given),
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

function digest(value: unknown): string {
  return sha256(canonicalJson(value as Json)).slice(0, 12);
}

/** Of all files in a folder, whatever it is called and wherever it lies. */
async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) {
    const path = join(folder, file);
    if (!statSync(path).isFile()) continue;
    hash.update(`${basename(file)}\n`);
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  }
  return hash.digest('hex').slice(0, 12);
}
