// A world model as an Environment: one episode at a time, indistinguishable in type from the real one.

import { reverieError } from '../core/errors.js';
import { Rng, type RngState } from '../core/rng.js';
import {
  contains,
  describeSpace,
  type EnvSnapshot,
  type ResetOptions,
  type ResetResult,
  type RestoreOptions,
  rowSize,
  type StepResult,
  type VectorEnvironment,
  type VectorSpace,
} from '../env/index.js';
import { type DrawStart, type StartStates, startSampler } from './start-states.js';
import type { StepOptions, VectorWorldModel } from './world-model.js';

export interface DreamOptions {
  /** Not closed by the dream: several may share one. */
  readonly model: VectorWorldModel;
  readonly starts: StartStates;
  /** Steps before `truncated`; no clock unless given. */
  readonly maxEpisodeSteps?: number;
  /** Name of the dreamt environment; `dream` unless given. */
  readonly id?: string;
  /** How the model is asked. With `disagreement`, info holds it for every step. */
  readonly step?: StepOptions;
}

interface DreamState {
  readonly modelVersion: string;
  readonly rng: RngState;
  /** Base64 of the float32 observation: JSON would lose the sign of zero. */
  readonly observation: string;
  readonly steps: number;
  readonly running: boolean;
}

export class Dream implements VectorEnvironment {
  readonly family = 'vector' as const;
  readonly id: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly maxEpisodeSteps?: number;
  private readonly model: VectorWorldModel;
  private readonly drawStart: DrawStart;
  private readonly stepOptions: StepOptions;
  private rng = streamOf(0);
  private observation: Float32Array;
  private steps = 0;
  private running = false;

  /** Throws DREAM_INVALID or NON_FINITE_VALUE for start states that are not rows of the observation space. */
  constructor({ model, starts, maxEpisodeSteps, id = 'dream', step = {} }: DreamOptions) {
    this.id = id;
    this.model = model;
    this.observationSpace = model.observationSpace;
    this.actionSpace = model.actionSpace;
    this.maxEpisodeSteps = maxEpisodeSteps;
    this.stepOptions = step;
    const obsDim = rowSize(model.observationSpace);
    this.drawStart = startSampler(starts, obsDim);
    this.observation = new Float32Array(obsDim);
  }

  async reset(options: ResetOptions = {}): Promise<ResetResult<Float32Array>> {
    if (options.seed !== undefined) this.rng = streamOf(options.seed);
    // A new row: what a mark holds is not written over.
    const start = new Float32Array(this.observation.length);
    this.drawStart(this.rng, start);
    this.observation = start;
    this.steps = 0;
    this.running = true;
    return { observation: this.observation.slice(), info: {} };
  }

  async step(action: Float32Array): Promise<StepResult<Float32Array>> {
    if (!this.running) throw reverieError('ENV_NOT_RESET', { id: this.id });
    this.requireAction(action);
    // While the model works the episode is closed, so that a second step cannot overtake the first.
    this.running = false;
    const { nextObs, reward, terminated, disagreement } = await this.ask(action);
    this.observation = nextObs;
    this.steps++;
    const isTerminated = terminated[0] === 1;
    const truncated = this.maxEpisodeSteps !== undefined && this.steps >= this.maxEpisodeSteps;
    this.running = !isTerminated && !truncated;
    const info = disagreement ? { disagreement: disagreement[0] } : {};
    return { observation: nextObs.slice(), reward: reward[0], terminated: isTerminated, truncated, info };
  }

  async snapshot(): Promise<EnvSnapshot> {
    const { buffer, byteOffset, byteLength } = this.observation;
    const state: DreamState = {
      modelVersion: this.model.modelVersion,
      rng: this.rng.state(),
      observation: Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64'),
      steps: this.steps,
      running: this.running,
    };
    return { env: this.id, state };
  }

  /** Throws SNAPSHOT_MISMATCH for a snapshot of another environment or another version of the model. */
  async restore(snapshot: EnvSnapshot, { seed }: RestoreOptions = {}): Promise<Float32Array> {
    const state = snapshot.state as DreamState;
    if (snapshot.env !== this.id || state?.modelVersion !== this.model.modelVersion) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: snapshot.env, into: this.id });
    }
    this.observation = new Float32Array(Uint8Array.from(Buffer.from(state.observation, 'base64')).buffer);
    this.rng = seed === undefined ? Rng.fromState(state.rng) : streamOf(seed).split('restored');
    this.steps = state.steps;
    this.running = state.running;
    return this.observation.slice();
  }

  mark(): () => void {
    const { observation, steps, running } = this;
    const rng = this.rng.state();
    return () => {
      this.observation = observation;
      this.rng = Rng.fromState(rng);
      this.steps = steps;
      this.running = running;
    };
  }

  async close(): Promise<void> {
    this.running = false;
  }

  private async ask(action: Float32Array) {
    const before = this.rng.state();
    try {
      return await this.model.step(this.observation, action, 1, this.rng, this.stepOptions);
    } catch (error) {
      this.rng = Rng.fromState(before);
      this.running = true;
      throw error;
    }
  }

  private requireAction(action: Float32Array): void {
    if (contains(this.actionSpace, action)) return;
    const shown = ArrayBuffer.isView(action) ? `[${Array.from(action).join(', ')}]` : String(action);
    const hint = 'Give a Float32Array of that shape with finite elements; clipToSpace() brings one within bounds.';
    throw reverieError('ACTION_OUT_OF_SPACE', { action: shown, space: describeSpace(this.actionSpace), hint });
  }
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('dream');
}
