// What a kind of dynamics is to the rest of the house: a name for scenarios and provenance, a format of folders, a section of
// scenarios, and how models of it are fitted, loaded and revived. kinds.ts has the registry.

import type { ZodObject } from 'zod';
import type { KnownFunctions } from '../core/environment.js';
import type { Entry } from '../core/registry.js';
import type { Rng } from '../core/rng.js';
import type { EnvSpec } from '../env/env-spec.js';
import type { DeviceFit, Precision } from '../nn/cuda-addon.js';
import type { TrainingDevice } from '../nn/trainer.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import type { ModelPlace, StoredDynamics, WorldModelSnapshot } from './dynamics.js';
import type { Spaces } from './model-spaces.js';

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

export interface Fitted {
  readonly model: StoredDynamics;
  readonly report: {
    /** Passes over the data, of what learned longest. */
    readonly epochs: number;
    /** Root mean squared error of one step on rows held out, in standard deviations of what is predicted. */
    readonly holdoutError: number;
    /** The same of a learned reward, where it is told apart. */
    readonly rewardError?: number;
  };
  /** Rows of the data that nothing was learned from. Absent where a kind cannot say. */
  readonly heldOutRows?: Uint32Array;
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
  /** Of one element, in units of the training data's deviation, nats; mean over elements. */
  readonly logLikelihood: HeldOutFigures<number>;
  /** Share of an element's variance that is explained: 1 all of it, 0 as good as the mean; null for one that never changes. */
  readonly elements: readonly { readonly element: string; readonly r2: HeldOutFigures<number | null> }[];
}
