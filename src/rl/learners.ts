// The learners that a scenario or a checkpoint can name: ours, an entry each, and those of plugins.

import type { z } from 'zod';
import type { VectorSpace } from '../core/environment.js';
import { threadPlugins } from '../core/plugins.js';
import { type Entry, Registry } from '../core/registry.js';
import type { Rng } from '../core/rng.js';
import type { TrainingDevice } from '../nn/trainer.js';
import {
  bcConfigSchema,
  droqConfigSchema,
  petsConfigSchema,
  ppoConfigSchema,
  redqConfigSchema,
  sacConfigSchema,
  simbaConfigSchema,
  td3BcConfigSchema,
} from './config.js';
import { configInvalid, type Learner } from './learner.js';
import type { Spaces } from './spaces.js';

/**
 * A fresh learner; `device` is `native` only where its entry has `trainsNatively`.
 * Throws SETTING_INVALID, or SCENARIO_UNFIT for spaces it cannot learn in.
 */
type MakeLearner = (
  settings: Record<string, unknown>,
  spaces: Spaces,
  rng: Rng,
  device?: TrainingDevice,
) => Promise<Learner>;

/** `name` is what scenarios give as `rl.algorithm`; `schema` has the other keys of that section. */
export interface LearnerEntry extends Entry<MakeLearner> {
  readonly schema: z.ZodObject;
  /**
   * What it learns from: rows of a replay buffer, rollouts of the policy of the moment, a world model that it plans in, or
   * demonstrations, which no training run has.
   * It says the same of itself as `learnsFrom`.
   */
  readonly learnsFrom: 'replay' | 'rollouts' | 'model' | 'demonstrations';
  /** Updates a real step that `auto` takes: those of its paper (redq, droq), or measured here (simba); absent where it is not about them. */
  readonly updatesPerStep?: number;
  /** Action spaces it can act in. */
  readonly actions: readonly VectorSpace['type'][];
  /** Whether its gradient steps can be computed by vector code of our own; absent where ONNX Runtime computes them all. */
  readonly trainsNatively?: true;
}

export const learners = new Registry<LearnerEntry>('learner', [
  {
    name: 'sac',
    summary: 'Soft actor-critic (1812.05905).',
    schema: sacConfigSchema,
    learnsFrom: 'replay',
    actions: ['box'],
    trainsNatively: true,
    make: async () => (await import('./soft-actor-critic.js')).makeSac,
  },
  {
    name: 'redq',
    summary: 'Randomised ensembled double Q-learning (2101.05982).',
    schema: redqConfigSchema,
    learnsFrom: 'replay',
    updatesPerStep: 20,
    actions: ['box'],
    trainsNatively: true,
    make: async () => (await import('./soft-actor-critic.js')).makeRedq,
  },
  {
    name: 'droq',
    summary: 'Dropout Q-functions (2110.02034).',
    schema: droqConfigSchema,
    learnsFrom: 'replay',
    updatesPerStep: 20,
    actions: ['box'],
    trainsNatively: true,
    make: async () => (await import('./soft-actor-critic.js')).makeDroq,
  },
  {
    name: 'simba',
    summary: "Soft actor-critic with SimBa's residual critics (2410.09754).",
    schema: simbaConfigSchema,
    learnsFrom: 'replay',
    updatesPerStep: 10,
    actions: ['box'],
    trainsNatively: true,
    make: async () => (await import('./soft-actor-critic.js')).makeSimba,
  },
  {
    name: 'td3-bc',
    summary: 'TD3 held near the actions of the data, for learning from records alone (2106.06860).',
    schema: td3BcConfigSchema,
    learnsFrom: 'replay',
    actions: ['box'],
    make: async () => (await import('./td3-bc.js')).makeTd3Bc,
  },
  {
    name: 'ppo',
    summary: 'Proximal policy optimisation (1707.06347).',
    schema: ppoConfigSchema,
    learnsFrom: 'rollouts',
    actions: ['box', 'discrete'],
    make: async () => (await import('./ppo.js')).makePpo,
  },
  {
    name: 'pets',
    summary: 'Planning in a learned world model (1805.12114), with a policy taught what was planned.',
    schema: petsConfigSchema,
    learnsFrom: 'model',
    actions: ['box'],
    make: async () => (await import('./icem.js')).makePets,
  },
  {
    name: 'bc',
    summary: 'Behaviour cloning.',
    schema: bcConfigSchema,
    learnsFrom: 'demonstrations',
    actions: ['box', 'discrete'],
    make: async () => (await import('./bc.js')).makeBc,
  },
]);

/**
 * @param device what it trains on, if it can; one that cannot trains on the processor
 * Throws SETTING_INVALID for an unknown kind or setting, SCENARIO_UNFIT for spaces it cannot learn in.
 */
export async function makeLearner(
  kind: string,
  config: Record<string, unknown>,
  spaces: Spaces,
  rng: Rng,
  device: TrainingDevice = 'cpu',
): Promise<Learner> {
  await threadPlugins();
  if (!learners.has(kind)) {
    const problem = `no learner is called "${kind}"; known: ${learners.names().join(', ')}`;
    throw configInvalid('learner', problem);
  }
  const entry = learners.get(kind);
  const make = await entry.make();
  return make(config, spaces, rng, entry.trainsNatively ? device : 'cpu');
}
