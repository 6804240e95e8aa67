// The public API: what a program needs to dream an environment of its own. The command line is made of the same parts.

export { ReverieError } from './core/errors.js';
export { Rng } from './core/rng.js';
export {
  checkEnvironment,
  type Environment,
  type EnvSnapshot,
  type EnvSpec,
  environmentIds,
  type MujocoEnvironment,
  makeEnvironment,
  type Policy,
  type PolicySnapshot,
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
export { loadScenario } from './run/index.js';
export { type HorizonSchedule, horizonSchedule, RolloutPool, type RolloutResult, synthesize } from './synth/index.js';
export {
  BatchedDream,
  Dream,
  EnsembleModel,
  fitEnsemble,
  loadWorldModel,
  OnnxDynamics,
  type VectorDynamics,
} from './worldmodel/index.js';
