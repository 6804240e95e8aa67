// What every world model of numbers is, beyond the contract of all dynamics (src/core/dynamics.ts): rows of float32, ways to
// be put away and sent to other threads, and what only some can do.

import type { ZodObject } from 'zod';
import type { Carry, Dynamics, NumberRows } from '../core/dynamics.js';
import type { KnownFunctions, VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import type { PolicyNetwork } from '../core/policy.js';
import type { Entry } from '../core/registry.js';
import type { Rng } from '../core/rng.js';
import type { EnvSpec } from '../env/environments.js';
import type { DeviceTarget } from '../nn/cuda.js';
import type { DeviceFit, Precision } from '../nn/cuda-addon.js';
import type { TrainingDevice } from '../nn/trainer.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import type { SeenRange } from './seen-range.js';

/** Any environment, dream or world model has these two. */
export interface Spaces {
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
}

/** How an ensemble answers: one random elite per row and step (TS1), or the elites' mean. PETS, 1805.12114, section 5. */
export type Propagation = 'ts1' | 'mean';

/**
 * Batches are row-major: observations [rows, obsDim], actions [rows, actionDim], a discrete one being one element. What is
 * imagined lies within the observation space's bounds. Actions are taken as they are, not clipped. `disagreement` is, in models
 * that learn, the largest deviation of an opinion's mean from the mean of all (cf. MOReL, 2005.05951), as the root mean square over
 * observation elements, each in standard deviations of its change in the training data: 1 = one opinion is off by as much as
 * the state usually moves.
 */
export interface VectorDynamics<C extends Carry = Carry> extends Dynamics<C, NumberRows> {
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /** What it was shown of the world; absent in models that were not fitted to rows, and in older ones. */
  readonly seen?: SeenRange;
  /** Opinions that `forecast` tells and `disagreement` compares; one where absent. */
  readonly opinions?: number;
  /** What each opinion foresees, without sampling; says the same when asked twice. Absent where it says one thing only. */
  forecast?(carry: C, action: Float32Array): Promise<Forecast>;
  /**
   * Branched rollouts as one piece of work, with the samples that as many steps would give; undefined, or not there at all,
   * where they can only be stepped. What the model thinks of its answer is left to the caller: NaN and infinity are counted.
   */
  rollout?(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined;
}

/** A world model that can be put away and sent to other threads: every kind that is registered (kinds.ts). */
export interface StoredDynamics<C extends Carry = Carry> extends VectorDynamics<C> {
  /** Throws NOT_PORTABLE if it uses functions that no environment specification names. */
  snapshot(): WorldModelSnapshot;
  /** Replaces the folder, atomically and durably. Throws NOT_PORTABLE, STORAGE_FULL or STORAGE_FAILED. */
  save(folder: string): Promise<void>;
}

/**
 * A world model frozen for other threads: structured-clonable (weights in SharedArrayBuffers or plain buffers).
 * `loadWorldModel(snapshot)` of this room revives it.
 */
export interface WorldModelSnapshot {
  /** Name of its kind in the registry. */
  readonly backend: string;
  readonly modelVersion: string;
  readonly payload: unknown;
}

/** Where a world model is to run. */
export interface ModelPlace {
  /** A GPU, or its emulation; the processor unless given. */
  readonly device?: DeviceTarget;
}

/** What is foreseen of each row as an equal mixture of Gaussians, element by element; raw units. */
export interface Forecast {
  /** Gaussians of the mixture. */
  readonly components: number;
  /** [components, rows, obsDim] of the next observation. */
  readonly mean: Float32Array;
  /** [components, rows, obsDim] */
  readonly std: Float32Array;
}

// Branched rollouts that a world model runs as one piece of work, policy and all: what is asked and what comes back.

export interface WholeRollout {
  /** [branches, obsDim] */
  readonly starts: Float32Array;
  readonly branches: number;
  readonly horizon: number;
  readonly policy: PolicyNetwork;
  readonly propagation?: Propagation;
  /** A branch ends where disagreement is greater than this, without the row that ended it; without a limit it is not computed. */
  readonly disagreementLimit?: number;
  /** Of the policy's and of the model's noise at step t; not moved. */
  readonly actRng: (step: number) => Rng;
  readonly modelRng: (step: number) => Rng;
}

/** Rows branch after branch in the order of starts, each branch's steps in order; columns as in a transition batch. */
export interface WholeRolloutAnswer {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
  readonly nextObs: Float32Array;
  readonly logProb?: Float32Array;
  readonly disagreement?: Float32Array;
  readonly terminated: Uint8Array;
  /** 1 where the branch ends for another reason than the task. */
  readonly truncated: Uint8Array;
  readonly branch: Uint32Array;
  readonly step: Uint32Array;
  /** How branches ended; those ended by doubt included. */
  readonly ended: { readonly terminated: number; readonly outOfHorizon: number; readonly doubted: number };
  /** Values that were NaN or infinite: the rows are of no use then. */
  readonly nonFinite: number;
}

/** A scenario's `model:` section as its kind's schema left it. */
export interface ModelSection {
  readonly kind: string;
  readonly [key: string]: unknown;
}

/** `name` is what models answer as `backend`, and what a scenario gives as `model.kind`. */
export interface DynamicsEntry extends Entry<DynamicsKind> {
  /** `format` in the manifest of its folders. */
  readonly format: string;
  /** Of the `model:` section, whose `kind` is a literal of `name`; absent where models are made by code alone. */
  readonly schema?: ZodObject;
  /** Of a kind that is brought and not fitted: the folder its section names, relative to the scenario. */
  readonly broughtFolder?: (section: ModelSection) => string;
  /** Set where gradient steps of a fit can be taken by vector code. */
  readonly fitsNatively?: true;
  /** The files of such a folder whose bytes decide what the model computes, whether or not they are there. */
  readonly filesOf?: (folder: string) => string[];
}

/** What models of a kind are made by. */
export interface DynamicsKind {
  /** Throws MODEL_FILE_INVALID unless the folder is whole and of this kind, and what the place throws. */
  load(folder: string, place: ModelPlace): Promise<StoredDynamics>;
  revive(snapshot: WorldModelSnapshot, place: ModelPlace): Promise<StoredDynamics>;
  /** Absent where models are brought. */
  readonly fit?: (request: FitRequest) => Promise<Fitted>;
  /** Absent where devices do not run it. */
  readonly devices?: DeviceSupport;
}

/** Whether devices would run a model, asked before there are weights, or before they are read. */
export interface DeviceSupport {
  /** Of a model that a section describes. Throws CUDA_UNAVAILABLE without the addon. */
  ofSection(section: ModelSection, spaces: Spaces, precision: Precision): DeviceFit;
  /** The same of a saved model, by its manifest. What is wrong with a manifest, its reader says. */
  ofManifest(manifest: Readonly<Record<string, unknown>>, precision: Precision): DeviceFit;
}

/** All that a model may learn from. The same data, section and stream give the same bytes for any number of workers. */
export interface FitRequest {
  readonly section: ModelSection;
  /** Real rows, with the episode and step of each. */
  readonly data: ReplayBuffer;
  readonly spaces: Spaces;
  /** Not advanced: what is drawn is drawn from streams split off it. */
  readonly rng: Rng;
  /** A model of this kind to go on from. */
  readonly previous?: StoredDynamics;
  /** Exact reward and end, where the section does not ask to learn them. */
  readonly known?: KnownFunctions;
  /** The environment that has `known`; without it a model that uses them can neither be saved nor sent to workers. */
  readonly env?: EnvSpec;
  /** Worker threads; 0, the default, fits in the calling thread. */
  readonly workers?: number;
  /** What gradient steps run on, for kinds that have more than ONNX Runtime; the others pay no heed. */
  readonly device?: TrainingDevice;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: FitNote) => void;
}

/** How far a fit is. */
export interface FitNote {
  /** Passes over the data of all networks together. */
  readonly epochs: number;
  readonly holdoutError: number;
  /** The network that this is of and its own passes, where there are several. */
  readonly member?: number;
  readonly epoch?: number;
}

interface Fitted {
  readonly model: StoredDynamics;
  readonly report: {
    /** Passes over the data, of what learned longest. */
    readonly epochs: number;
    /** Root mean squared error of one step on rows held out, in standard deviations of what is predicted. */
    readonly holdoutError: number;
    /** The same of a learned reward, where it is told apart. */
    readonly rewardError?: number;
  };
  /** What the fit is worth element by element; computed when it is asked for. Absent where a kind cannot say. */
  readonly heldOut?: () => HeldOutReport;
}

/** The model's figure beside those of a linear model and of "nothing changes". */
export interface HeldOutFigures<T> {
  readonly model: T;
  readonly linear: T;
  readonly unchanged: T;
}

/** On rows that were not trained on. */
export interface HeldOutReport {
  readonly rows: number;
  /** Networks of the model, how many passes over the data each may take, and how many took them all: they may not be done. */
  readonly members: number;
  readonly maxEpochs: number;
  readonly membersAtMaxEpochs: number;
  /** Share of an element's variance that is explained: 1 all of it, 0 as good as the mean; null for one that never changes. */
  readonly elements: readonly { readonly element: string; readonly r2: HeldOutFigures<number | null> }[];
}

export function settingInvalid(problem: string): Error {
  const hint = 'docs/scenarios.md has every setting, its meaning and its default.';
  return reverieError('SETTING_INVALID', { problem: `Settings of the world model: ${problem}`, hint });
}
