// The public API: what a program needs to dream an environment of its own. The command line is made of the same parts.

export { z } from 'zod';
export { ReverieError } from './core/errors.js';
export { Rng } from './core/rng.js';
export {
  boxSpace,
  ClockedEnvironment,
  checkEnvironment,
  type Environment,
  type EnvSnapshot,
  type EnvSpec,
  environmentIds,
  type MujocoEnvironment,
  makeEnvironment,
  type Policy,
  type PolicySnapshot,
  rowSize,
  type StepResult,
  type VectorEnvironment,
} from './env/index.js';
export {
  MixtureSampler,
  type Provenance,
  ReplayBuffer,
  type TransitionBatch,
  UniformSelector,
} from './replay/index.js';
export { evaluatePolicy, loadLearner, makeBc, makePpo, makeSac, RandomPolicy, saveLearner } from './rl/index.js';
export { definePlugin, loadScenario, type PluginEntries } from './run/index.js';
export { type HorizonSchedule, horizonSchedule, RolloutPool, type RolloutResult, synthesize } from './synth/index.js';
export {
  BatchedDream,
  Dream,
  EnsembleModel,
  fitEnsemble,
  loadWorldModel,
  MemorylessDynamics,
  OnnxDynamics,
  readManifest,
  readModelPart,
  type VectorDynamics,
  writeModelFolder,
} from './worldmodel/index.js';
