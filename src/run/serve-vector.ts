// A scenario of numbers as environments: the real one, or the dream of a learned model; here, or in another thread from a blueprint.

import type { VectorEnvironment } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { checkEnvironment, type EnvironmentReport } from '../env/check-environment.js';
import { type EnvSpec, makeEnvironment } from '../env/environments.js';
import { rowSize } from '../env/space-values.js';
import type { WorldModelSnapshot } from '../worldmodel/dynamics.js';
import { closedOnFailure, type RunDevice } from './job.js';
import { findInput, recoverCheckpoint, resolvedSpec } from './pipeline/inputs.js';
import type { Scenario } from './scenario.js';
import type { Blueprint, EnvironmentMaker, MakerThread, Servable, ServableOptions, TaskCard } from './servable.js';

export interface VectorBlueprint extends Blueprint {
  /** The real environment that it is, or is a dream of. */
  readonly env: EnvSpec;
  readonly dream?: DreamBlueprint;
}

interface DreamBlueprint {
  readonly id: string;
  readonly model: WorldModelSnapshot;
  /** What the model runs on; the processor unless given. */
  readonly device?: RunDevice;
  /** Rows [n, obsDim] to start from. */
  readonly starts: Float32Array;
  readonly maxEpisodeSteps?: number;
  /** As `rollout.range` of a scenario: where an episode leaves what the model was shown. */
  readonly range?: number | null;
}

/** First observations that dreams begin from: as many resets of the real environment. */
const STARTS = 1024;

export async function open(scenario: Scenario, options: ServableOptions): Promise<Servable> {
  const { model, real = false } = options;
  const { name, description } = scenario.config;
  const env = resolvedSpec(scenario);
  const dream = model === undefined || real ? undefined : await dreamOf(scenario, env, model, options);
  const blueprint: VectorBlueprint = { kind: scenario.family, env, dream };
  const made = await maker(blueprint);
  const { observationSpace, actionSpace, maxEpisodeSteps } = await closedOnFailure(made, async () => {
    const probe = await made.make();
    await probe.close();
    return probe;
  });
  return {
    ...{ name, family: 'vector', description, source: dream ? 'dream' : 'real', tools: [], policy: '' },
    // Two devices round in two ways, which may show in a rounded answer.
    version: [
      scenario.hash,
      ...(dream ? [dream.model.modelVersion] : []),
      ...(dream?.device ? [dream.device.kind, dream.device.precision] : []),
    ].join(':'),
    tasks: OFFERED.flatMap(([split, first, count]) =>
      Array.from({ length: count }, (_, i): TaskCard => ({ id: `seed-${first + i}`, split, seed: first + i })),
    ),
    ...{ observationSpace, actionSpace, maxEpisodeSteps, spec: env, blueprint },
    ...made,
  };
}

/** Environments of numbers have no tasks, protocols have nothing else: seeds are offered as [split, first, how many]; any may be asked for. */
const OFFERED = [
  ['train', 0, 1000],
  ['test', 1_000_000, 100],
] as const;

async function dreamOf(
  { config }: Scenario,
  spec: EnvSpec,
  given: string,
  { device: asked = {}, log }: ServableOptions,
): Promise<DreamBlueprint> {
  const [{ loadWorldModel }, { settleModelDevice }] = await Promise.all([
    import('../worldmodel/kinds.js'),
    import('./device.js'),
  ]);
  await recoverCheckpoint(given);
  const folder = findInput({ model: given }, 'model')!;
  const { device, remark } = await settleModelDevice(asked, folder);
  if (remark !== undefined) log(remark);
  const model = await loadWorldModel(folder);
  let env: VectorEnvironment | undefined;
  try {
    env = await makeEnvironment(spec);
    const obsDim = rowSize(env.observationSpace);
    if (obsDim !== rowSize(model.observationSpace) || rowSize(env.actionSpace) !== rowSize(model.actionSpace)) {
      const problem = `the world model in "${given}" is of another environment than ${config.name}.`;
      throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
    }
    const starts = new Float32Array(STARTS * obsDim);
    for (let row = 0; row < STARTS; row++) {
      const { observation } = await env.reset(row === 0 ? { seed: config.seed } : {});
      starts.set(observation, row * obsDim);
    }
    const { name: id, rollout } = config;
    const { maxEpisodeSteps } = env;
    return { id, model: model.snapshot(), device, starts, maxEpisodeSteps, range: rollout.range };
  } finally {
    await env?.close();
    await model.close();
  }
}

/**
 * Dreams of one blueprint share their model.
 * @param thread  `batched` is put between the dreams and their model; nothing is, unless given
 * @throws as `makeEnvironment` and `loadWorldModel`
 */
export async function maker(
  { env, dream }: VectorBlueprint,
  { batched = (model) => model }: Partial<MakerThread> = {},
): Promise<EnvironmentMaker<VectorEnvironment>> {
  if (dream === undefined) return { make: () => makeEnvironment(env), close: async () => {} };
  // Real environments need no networks, nor their runtime.
  const { Dream } = await import('../worldmodel/dream.js');
  const { loadWorldModel } = await import('../worldmodel/kinds.js');
  const { id, starts, maxEpisodeSteps, range, device } = dream;
  const model = batched(await loadWorldModel(dream.model, { device }));
  return { make: async () => new Dream({ id, model, starts, maxEpisodeSteps, range }), close: () => model.close() };
}

export function check({ config, folder }: Scenario): Promise<EnvironmentReport> {
  return checkEnvironment(() => makeEnvironment(config.env, { folder }), { seed: config.seed });
}
