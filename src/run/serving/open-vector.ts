// From a scenario of numbers to what can be served of it: the real environment, or the dream of a learned model.

import { reverieError } from '../../core/errors.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { rowSize } from '../../env/space-values.js';
import type { JobInputs } from '../job.js';
import { resolvedSpec } from '../pipeline/given-parts.js';
import { findInput } from '../pipeline/inputs.js';
import type { Scenario } from '../scenario.js';
import type { ServableOptions } from './open-servable.js';
import type { Servable, TaskCard } from './servable.js';
import { type VectorBlueprint, vectorMaker } from './vector-blueprint.js';

/** First observations that dreams begin from: as many resets of the real environment. */
const STARTS = 1024;

export async function openVector(scenario: Scenario, options: ServableOptions): Promise<Servable> {
  const { model, real = false } = options;
  const { name, description } = scenario.config;
  const blueprint =
    model === undefined || real ? realBlueprint(scenario) : await dreamBlueprint(scenario, { model }, options);
  const maker = await vectorMaker(blueprint);
  const probe = await maker.make();
  const { observationSpace, actionSpace, maxEpisodeSteps } = probe;
  await probe.close();
  return {
    name,
    family: 'vector',
    description,
    source: blueprint.source,
    version: versionOf(scenario, blueprint),
    tools: [],
    policy: '',
    tasks: seedTasks(),
    observationSpace,
    actionSpace,
    maxEpisodeSteps,
    spec: resolvedSpec(scenario),
    blueprint,
    make: () => maker.make(),
    close: () => maker.close(),
  };
}

function realBlueprint(scenario: Scenario): VectorBlueprint {
  return { kind: scenario.family, source: 'real', env: resolvedSpec(scenario) };
}

/** Two devices round in two ways, which may show in a rounded answer. */
function versionOf({ hash }: Scenario, blueprint: VectorBlueprint): string {
  if (blueprint.source === 'real') return hash;
  const { model, device } = blueprint;
  return [hash, model.modelVersion, ...(device ? [device.kind, device.precision] : [])].join(':');
}

async function dreamBlueprint(
  scenario: Scenario,
  inputs: JobInputs,
  { device: asked = {}, log }: ServableOptions,
): Promise<VectorBlueprint> {
  const [{ loadWorldModel }, { settleModelDevice }] = await Promise.all([
    import('../../worldmodel/kinds.js'),
    import('../device-choice.js'),
  ]);
  const { device, remark } = await settleModelDevice(asked, findInput(inputs, 'model')!);
  if (remark !== undefined) log(remark);
  const model = await loadWorldModel(findInput(inputs, 'model')!);
  const env = await makeEnvironment(resolvedSpec(scenario));
  const obsDim = rowSize(env.observationSpace);
  try {
    const isSame =
      obsDim === rowSize(model.observationSpace) && rowSize(env.actionSpace) === rowSize(model.actionSpace);
    if (!isSame) {
      const problem = `the world model in "${inputs.model}" is of another environment than ${scenario.config.name}.`;
      throw reverieError('SCENARIO_INVALID', { path: scenario.config.name, problem });
    }
    const starts = new Float32Array(STARTS * obsDim);
    for (let row = 0; row < STARTS; row++) {
      const { observation } = await env.reset(row === 0 ? { seed: scenario.config.seed } : {});
      starts.set(observation, row * obsDim);
    }
    const { maxEpisodeSteps } = env;
    return {
      kind: scenario.family,
      source: 'dream',
      of: resolvedSpec(scenario),
      id: scenario.config.name,
      model: model.snapshot(),
      device,
      starts,
      maxEpisodeSteps,
      range: scenario.config.rollout.range,
    };
  } finally {
    env.close();
    await model.close();
  }
}

// Environments of numbers have no tasks, protocols of tasks have nothing else: there seeds are the tasks.

/** Seeds that are offered: [split, first, how many]. Any other may still be asked for by itself. */
const OFFERED = [
  ['train', 0, 1000],
  ['test', 1_000_000, 100],
] as const;

/** `seed-0` to `seed-999` in split train, `seed-1000000` to `seed-1000099` in split test. */
function seedTasks(): readonly TaskCard[] {
  return OFFERED.flatMap(([split, first, count]) =>
    Array.from({ length: count }, (_, i) => ({ id: `seed-${first + i}`, split, seed: first + i })),
  );
}
