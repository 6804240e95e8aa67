// What is measured of every model, and with what: plain numbers, the truth, and what instruments share.

import type { Carry } from '../../core/dynamics.js';
import type { VectorEnvironment } from '../../core/environment.js';
import type { Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import type { Forecast, Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import type { Instrument } from '../instrument.js';
import type { SectionId } from '../report/fidelity-report.js';
import { crossFitted, type LinearBaseline } from './linear-baseline.js';
import { type Scales, scalesOf, type Units, unitsOf, type VectorTruth } from './truth.js';

export interface VectorPlan {
  readonly seed: number;
  /** Steps of an open-loop dream. */
  readonly horizon: number;
  /** In standard deviations: up to here a dreamt state counts as right. */
  readonly tolerance: number;
  /** How the model answers where it is lived in. */
  readonly propagation: Propagation;
}

/** Acts in the dream; what it did is then done for real. */
export interface Replay {
  readonly name: string;
  readonly policy: Policy;
  /** A real environment of one's own; closed by whoever asked for it. */
  environment(): Promise<VectorEnvironment>;
}

/** The truth with what follows from it, made once for all models. */
export interface Ground {
  readonly truth: VectorTruth;
  readonly plan: VectorPlan;
  readonly scales: Scales;
  readonly units: Units;
  readonly linear: LinearBaseline;
  readonly replay?: Replay;
}

export function groundOf(truth: VectorTruth, plan: VectorPlan, replay?: Replay): Ground {
  return { truth, plan, scales: scalesOf(truth), units: unitsOf(truth), linear: crossFitted(truth), replay };
}

/** A ground and the model that is held against it. */
export interface Judged {
  readonly ground: Ground;
  readonly subject: VectorSubjectModel;
  /** What is measured by policies that act in it and learners that learn from it, as far as it was asked for. */
  readonly policies?: Readonly<Partial<Record<'rank' | 'learning', (subject: VectorSubjectModel) => Instrument>>>;
}

/** Rows of a chunk of transitions, and starts of a chunk of dreams. */
export const CHUNK_ROWS = 500;
export const CHUNK_STARTS = 32;

/** What a section draws before any chunk. */
export function sectionRng({ seed }: VectorPlan, section: SectionId): Rng {
  return Rng.fromSeed(seed).split('fidelity', section);
}

/** The stream of one chunk of one section: the same for every model, so that noise pairs. */
export function chunkRng({ seed }: VectorPlan, section: SectionId, chunk: number): Rng {
  return Rng.fromSeed(seed).split('fidelity', section, 'chunk', chunk);
}

/** The stream that a metric's interval is drawn from. */
export function intervalRng({ seed }: VectorPlan, section: SectionId, key: string): Rng {
  return Rng.fromSeed(seed).split('fidelity', section, 'interval', key);
}

/** First and last (exclusive) of a chunk. */
export function chunkRange(chunk: number, size: number, of: number): readonly [number, number] {
  return [chunk * size, Math.min((chunk + 1) * size, of)];
}

// A model under judgement, as the instruments for vectors see it: something that says what follows, how sure it is, and
// an environment to live in. A served environment has only the last.

export interface VectorSubjectModel {
  readonly name: string;
  /** `ensemble`, `onnx`, `exact`, `served`. */
  readonly kind: string;
  readonly version: string;
  /** Absent where one can only live in it from its own reset on. */
  readonly model?: VectorDynamics;
  /** How sure the model is of what it says; absent where it says one thing only. */
  readonly forecast?: Forecaster;
  /** What a reader should know of how this model was judged. */
  readonly notes?: readonly string[];
  /**
   * An environment whose episode of `reset({ seed })` starts where the real environment's episode of that seed starts. The
   * caller closes it.
   */
  dream(seed: number): Promise<VectorEnvironment>;
}

/** What each opinion of a model foresees of rows it remembers. Says the same when asked twice. */
export type Forecaster = (carry: Carry, action: Float32Array) => Promise<Forecast>;

/** Why a model of which there is only an environment has no figures of single steps. */
export const ONLY_LIVED_IN =
  'One can only live in this model from its own reset on: it cannot be put into a recorded state.';
