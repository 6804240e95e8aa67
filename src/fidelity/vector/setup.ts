// What judging models of numbers takes of the run that it is part of: where things lie in folders, and who opens them.

import type { VectorEnvironment } from '../../core/environment.js';
import type { Policy } from '../../core/policy.js';
import type { EnvSpec } from '../../env/env-spec.js';
import type { Scenario } from '../../kinds/vector.js';
import type { ReplayBuffer } from '../../replay/buffer.js';
import type { LoadedLearner } from '../../rl/checkpoint.js';
import type { Learner } from '../../rl/learner.js';
import type { FidelityInputs, FidelitySetup } from '../setup.js';

export interface VectorHost {
  /** The folder of an input; undefined where the user gave none. @throws INPUT_MISSING */
  find(inputs: FidelityInputs, name: 'data' | 'model' | 'checkpoint'): string | undefined;
  /** The world model that the scenario itself names. */
  ownModel(scenario: Scenario): string | undefined;
  /** The scenario's environment, with files by their whole path. */
  environment(scenario: Scenario): EnvSpec;
  /** @throws CHECKPOINT_CORRUPT, INPUT_UNFIT */
  records(env: VectorEnvironment, folder: string): Promise<ReplayBuffer>;
  /** @throws CHECKPOINT_CORRUPT, INPUT_UNFIT */
  learner(env: VectorEnvironment, folder: string): Promise<LoadedLearner>;
  /** How a learner of that folder plans in its run's own world model; undefined where it does not. @throws MODEL_FILE_INVALID */
  planner(learner: Learner, folder: string): Promise<{ readonly policy: Policy; close(): Promise<void> } | undefined>;
  /** Learners that a training run kept on the way, the earliest first. */
  keptLearners(run: string): Promise<readonly { readonly realSteps: number; readonly folder: string }[]>;
  /** Folders of transitions that a model was made from, as far as runs say. */
  trainingFolders(model: string): readonly string[];
}

export interface VectorSetup extends FidelitySetup<Scenario> {
  readonly host: VectorHost;
}

/** Where the learner's own discount is 1. */
const FALLBACK = 0.99;

/** How far ahead returns are discounted where policies are ranked and bounds on their returns are made. */
export function policyGamma({ rl }: Scenario['config']): number {
  return rl.gamma < 1 ? rl.gamma : FALLBACK;
}
