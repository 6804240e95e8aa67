// What a loop of training is told, as plain values: which world, how long a round is, how much is dreamt and learned in it.
// Scenarios say the same in their sections `train`, `rollout`, `replay`, `model` and `eval` (docs/scenarios.md).

import type { OpenPhase } from '../core/progress.js';
import type { EnvSpec } from '../env/env-spec.js';
import type { DiffusionOptions } from '../rl/synther.js';
import type { HorizonSchedule } from '../synth/rollout/plan.js';
import type { ModelPlace, ModelSection, Propagation } from '../worldmodel/dynamics.js';

export interface TrainingSettings {
  /** Name of the scenario, recorded with every row. */
  readonly scenario: string;
  readonly seed: number;
  /** Worker threads for dreaming and fitting; 0: in this thread. Never changes results. */
  readonly workers: number;
  /** The same for fitting alone; `workers` unless given. */
  readonly fitWorkers?: number;
  /** What learned dynamics are stepped on; the processor unless given. */
  readonly device?: ModelPlace['device'];
  readonly train: RoundSettings;
  /** `deterministic`: evaluate the policy's mode. */
  readonly eval: { readonly deterministic: boolean };
  /** Set where the loop dreams. */
  readonly dream?: DreamSettings;
  /** Models, the newest first, whose synthetic rows are learned from; null: of all. */
  readonly keepModels: number | null;
  /** Set where nothing is lived: gradient steps on given records. */
  readonly offlineUpdates?: number;
}

/** Rows drawn from a diffusion of the real ones. */
export interface GenerativeSettings {
  /** Of every batch, once there are such rows. */
  readonly share: number;
  /** Drawn from each fitted diffusion. */
  readonly rows: number;
  /** Real rows between fits. */
  readonly refitEvery: number;
  /** Levels of noise a row comes down by. */
  readonly levels: number;
  readonly diffusion: Partial<DiffusionOptions> & Pick<DiffusionOptions, 'updates'>;
}

/** How real steps, learning and evaluations follow on each other. */
export interface RoundSettings {
  /** Budget of real steps. */
  readonly realSteps: number;
  /** Real steps at random before a learner that knows nothing learns. */
  readonly initialRandomSteps: number;
  /** Real steps a round. */
  readonly stepsPerRound: number;
  /** Gradient steps a real step, where rows are replayed without a dream. */
  readonly updatesPerStep: number;
  /** Gradient steps a round in the dream. */
  readonly updatesPerRound: number;
  /** Times dreaming and learning alternate within a round. */
  readonly cyclesPerRound: number;
  /** Real steps between evaluations, and episodes of each. */
  readonly evalEvery: number;
  readonly evalEpisodes: number;
  /** Real steps between learners that are kept; null: none. */
  readonly keepPolicyEvery: number | null;
  /** Mean return that counts as solved, and whether the run ends there. */
  readonly threshold: number | null;
  readonly stopAtThreshold: boolean;
}

/** The world model, and how branches are dreamt in it. */
export interface DreamSettings {
  /** The scenario's `model:` section: what to learn, or of which kind the model is that was brought and stays as it is. */
  readonly model: ModelSection;
  /** Folder of the model that was brought, or of one whose weights the first fit goes on from. */
  readonly modelFolder?: string;
  /** A refit goes on from the last weights, or starts anew. */
  readonly refit: 'continue' | 'anew';
  /** Real steps between refits; `auto`: once there is enough that is new. */
  readonly refitEvery: number | 'auto';
  /** `auto`: a model without skill is not dreamt in. */
  readonly gate: 'auto' | 'open';
  /** The real environment, from anywhere: a fitted model keeps it. */
  readonly env: EnvSpec;
  /** Length of a branch, or how it grows with real steps. */
  readonly horizon: number | HorizonSchedule | 'auto';
  /** Real states a round's branches start from. */
  readonly startsPerRound: number | 'auto';
  readonly chunkRows: number;
  readonly propagation: Propagation;
  /** A branch is truncated where the elites differ by more; null: never. */
  readonly disagreementLimit: number | null | 'auto';
  /** A branch ends where an observation lies so many widths of the real ones' range beyond it; null: never. */
  readonly range: number | null;
}

/** What a run does for its loop: shows how far it is, keeps what is told, and asks it to stop. */
export interface TrainingPorts<Run> {
  /** Aborts when the user asks to stop; the loop then throws its reason within the round, or `checkpoint` does after it. */
  readonly signal: AbortSignal;
  readonly phase: OpenPhase;
  /** One event for the journal of metrics. */
  tell(event: { readonly kind: string; readonly [key: string]: unknown }): void;
  /** After every round. Keeps what is due; throws where the run is to end here, with all of it kept. */
  checkpoint(run: Run, due: { readonly policy: boolean }): Promise<void>;
}
