// The recurrent latent model as dynamics: networks that remember. What an observation hides (a velocity, what happened
// before) is carried in a latent memory, in the way of recurrent state-space models' deterministic path (Hafner et al. 2019,
// PlaNet, 1811.04551, section 3), with the members' disagreement as its doubt (PETS, 1805.12114).

import {
  type Carry,
  type FrozenCarry,
  type Imagined,
  type ImagineOptions,
  numberRows,
  type Rngs,
  type RowCodec,
} from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { KnownFunctions, VectorSpace } from '../../env/index.js';
import { float32, hasExactRows, InferenceSession } from '../../nn/index.js';
import { boundsClipper, knownEnds, requireFiniteAnswer, requirePortable, reviveKnown } from '../answer.js';
import type { Forecast, StoredDynamics, WorldModelSnapshot } from '../dynamics.js';
import { batchNoise, rowNoise } from '../ensemble/step-noise.js';
import { checkObservations, checkStepInput, checkStreams } from '../input-check.js';

import { type EncodeRows, type RowShape, rowEncoder, rowShape } from '../model-spaces.js';
import type { SeenRange } from '../seen-range.js';
import { type LatentContents, type LatentDescription, latentVersion, readLatent, saveLatent } from './contents.js';

/** The last observation and each member's memory. */
export interface LatentCarry extends Carry {
  /** [rows, obsDim] */
  readonly obs: Float32Array;
  /** A member: [rows, latent]. */
  readonly memory: readonly Float32Array[];
}

const SCALARS = numberRows(1);

interface MemberStep {
  readonly memory: Float32Array;
  readonly mean: Float32Array;
  readonly std: Float32Array;
  readonly terminated?: Float32Array;
}

export class LatentModel implements StoredDynamics<LatentCarry> {
  readonly backend = 'latent';
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly context: number;
  private readonly shape: RowShape;
  private readonly latent: number;
  /** Rows of observations, and of a member's memory. */
  private readonly observed: RowCodec<Float32Array>;
  private readonly remembered: RowCodec<Float32Array>;
  private readonly encode: EncodeRows;
  private readonly clip?: (rows: Float32Array) => void;
  private exactRows?: Promise<boolean>;

  private constructor(
    readonly contents: LatentContents,
    readonly modelVersion: string,
    private readonly known: KnownFunctions,
    private readonly sessions: readonly InferenceSession[],
  ) {
    const { description } = contents;
    this.observationSpace = description.observationSpace;
    this.actionSpace = description.actionSpace;
    this.context = description.config.context;
    this.latent = description.config.latent;
    this.shape = rowShape(description);
    this.observed = numberRows(this.shape.obsDim);
    this.remembered = numberRows(this.latent);
    this.encode = rowEncoder(description);
    this.clip = boundsClipper(description.observationSpace);
  }

  /** Opens the members. `known` must have the end that the description's outcome names. */
  static async open(contents: LatentContents, known: KnownFunctions): Promise<LatentModel> {
    // ONNX Runtime refuses shared memory; an own copy also frees the file's buffer.
    const sessions = await Promise.all(contents.models.map((model) => InferenceSession.fromBytes(model.slice())));
    return new LatentModel(contents, latentVersion(contents), known, sessions);
  }

  /** Loads a folder that `save` wrote. @throws MODEL_FOLDER_INVALID for anything else or anything damaged */
  static async load(folder: string): Promise<LatentModel> {
    return LatentModel.revived(await readLatent(folder), folder);
  }

  /** Revives what `snapshot` put away. */
  static fromSnapshot({ payload }: WorldModelSnapshot): Promise<LatentModel> {
    return LatentModel.revived(payload as LatentContents, 'snapshot');
  }

  private static async revived(contents: LatentContents, source: string): Promise<LatentModel> {
    const { outcome, env } = contents.description;
    return LatentModel.open(contents, await reviveKnown(outcome, env, source));
  }

  get description(): LatentDescription {
    return this.contents.description;
  }

  begin(starts: Float32Array): LatentCarry {
    const rows = starts.length / this.shape.obsDim;
    checkObservations(this.backend, this, starts, rows, this.shape);
    const memory = this.sessions.map(() => new Float32Array(rows * this.latent));
    return { rows, obs: starts.slice(), memory };
  }

  get seen(): SeenRange | undefined {
    return this.description.seen;
  }

  get opinions(): number {
    return this.sessions.length;
  }

  async follow(carry: LatentCarry, action: Float32Array, seen: Float32Array): Promise<LatentCarry> {
    checkObservations(this.backend, this, seen, carry.rows, this.shape);
    const steps = await this.stepMembers(carry, action);
    return { rows: carry.rows, obs: seen.slice(), memory: steps.map(({ memory }) => memory) };
  }

  async imagine(
    carry: LatentCarry,
    action: Float32Array,
    rngs: Rngs,
    options: ImagineOptions = {},
  ): Promise<Imagined<LatentCarry, Float32Array>> {
    checkStreams(this.backend, rngs, carry.rows);
    if (!(rngs instanceof Rng) && rngs.length > 1 && !(await this.haveExactRows())) {
      return this.rowByRow(carry, action, rngs, options);
    }
    const { rows, obs } = carry;
    const { obsDim } = this.shape;
    const steps = await this.stepMembers(carry, action);
    const needs = {
      rows,
      elites: options.propagation === 'mean' ? 0 : this.sessions.length,
      normals: options.deterministic ? 0 : obsDim + 1,
      ends: this.learnsEnd && !options.deterministic,
    };
    const noise = rngs instanceof Rng ? batchNoise(rngs, needs) : rowNoise(rngs, needs);
    const normals = new Float32Array(rows * (obsDim + 1));
    noise.fill(normals, rows);
    const observation = new Float32Array(rows * obsDim);
    const reward = new Float32Array(rows);
    const chance = this.learnsEnd ? new Float32Array(rows) : undefined;
    for (let r = 0; r < rows; r++) {
      const chosen = noise.elite ? [steps[noise.elite[r]]] : steps;
      for (let j = 0; j <= obsDim; j++) {
        const at = r * (obsDim + 1) + j;
        const value =
          meanOver(chosen, (step) => step.mean[at]) + meanOver(chosen, (step) => step.std[at]) * normals[at];
        if (j < obsDim) observation[r * obsDim + j] = obs[r * obsDim + j] + value;
        else reward[r] = value;
      }
      if (chance) chance[r] = meanOver(chosen, (step) => step.terminated![r]);
    }
    requireFiniteAnswer(this.modelVersion, observation, reward, rows);
    this.clip?.(observation);
    return {
      carry: { rows, obs: observation, memory: steps.map(({ memory }) => memory) },
      observation,
      reward,
      terminated: this.ends(observation, rows, chance, noise.chance),
      disagreement: options.disagreement ? this.doubt(steps, rows) : undefined,
    };
  }

  pick({ obs, memory }: LatentCarry, rows: Uint32Array): LatentCarry {
    return {
      rows: rows.length,
      obs: this.observed.pick(obs, rows),
      memory: memory.map((of) => this.remembered.pick(of, rows)),
    };
  }

  join(carries: readonly LatentCarry[]): LatentCarry {
    return {
      rows: carries.reduce((sum, { rows }) => sum + rows, 0),
      obs: this.observed.join(carries.map(({ obs }) => obs)),
      memory: this.sessions.map((_, m) => this.remembered.join(carries.map(({ memory }) => memory[m]))),
    };
  }

  freeze({ obs, memory }: LatentCarry): FrozenCarry {
    return {
      version: this.modelVersion,
      state: { obs: this.observed.pack(obs), memory: memory.map(this.remembered.pack) },
    };
  }

  revive({ version, state }: FrozenCarry): LatentCarry {
    if (version !== this.modelVersion) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: `a model ${version}`, into: `a model ${this.modelVersion}` });
    }
    const { obs, memory } = state as { obs: string; memory: string[] };
    return { ...this.begin(this.observed.unpack(obs)), memory: memory.map(this.remembered.unpack) };
  }

  /** What each member foresees. */
  async forecast(carry: LatentCarry, action: Float32Array): Promise<Forecast> {
    const { rows, obs } = carry;
    const { obsDim } = this.shape;
    const steps = await this.stepMembers(carry, action);
    const mean = new Float32Array(steps.length * rows * obsDim);
    const std = new Float32Array(mean.length);
    steps.forEach((step, m) => {
      for (let r = 0; r < rows; r++) {
        for (let j = 0; j < obsDim; j++) {
          const [to, from] = [(m * rows + r) * obsDim + j, r * (obsDim + 1) + j];
          mean[to] = obs[r * obsDim + j] + step.mean[from];
          std[to] = step.std[from];
        }
      }
    });
    return { components: steps.length, mean, std };
  }

  snapshot(): WorldModelSnapshot {
    const { description, models } = this.contents;
    requirePortable(description.outcome, description.env);
    const payload: LatentContents = { description, models: models.map(toShared) };
    return { backend: this.backend, modelVersion: this.modelVersion, payload };
  }

  async save(folder: string): Promise<void> {
    requirePortable(this.description.outcome, this.description.env);
    await saveLatent(folder, this.contents, this.modelVersion);
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.release()));
  }

  private get learnsEnd(): boolean {
    return this.description.outcome.terminated === 'learned';
  }

  private haveExactRows(): Promise<boolean> {
    this.exactRows ??= Promise.all(this.sessions.map(hasExactRows)).then((all) => all.every(Boolean));
    return this.exactRows;
  }

  private async rowByRow(
    carry: LatentCarry,
    action: Float32Array,
    rngs: readonly Rng[],
    options: ImagineOptions,
  ): Promise<Imagined<LatentCarry, Float32Array>> {
    const { actionDim } = this.shape;
    const alone: Imagined<LatentCarry, Float32Array>[] = [];
    for (const [r, rng] of rngs.entries()) {
      const act = action.slice(r * actionDim, (r + 1) * actionDim);
      alone.push(await this.imagine(this.pick(carry, Uint32Array.of(r)), act, [rng], options));
    }
    return {
      carry: this.join(alone.map(({ carry: one }) => one)),
      observation: this.observed.join(alone.map(({ observation }) => observation)),
      reward: SCALARS.join(alone.map(({ reward }) => reward)),
      terminated: Uint8Array.from(alone, ({ terminated }) => terminated[0]),
      disagreement: options.disagreement ? SCALARS.join(alone.map(({ disagreement }) => disagreement!)) : undefined,
    };
  }

  private async stepMembers({ rows, obs, memory }: LatentCarry, action: Float32Array): Promise<MemberStep[]> {
    checkStepInput(this.backend, this, obs, action, rows, this.shape);
    const { inputDim } = this.shape;
    if (rows === 0) return this.sessions.map(() => noStep(this.learnsEnd));
    const input = new Float32Array(rows * inputDim);
    this.encode(obs, action, undefined, 0, rows, input);
    const steps: MemberStep[] = [];
    for (const [m, session] of this.sessions.entries()) {
      const answer = await session.run({
        input: float32(input, [rows, inputDim]),
        memory: float32(memory[m], [rows, this.latent]),
      });
      const take = (name: string) => answer[name]?.data as Float32Array;
      steps.push({
        memory: take('next_memory'),
        mean: take('mean'),
        std: take('std'),
        terminated: take('terminated'),
      });
    }
    return steps;
  }

  private ends(nextObs: Float32Array, rows: number, chance?: Float32Array, draws?: Float32Array): Uint8Array {
    const { terminated } = this.description.outcome;
    if (terminated === 'known') return knownEnds(this.known.terminated!, nextObs, rows);
    const ends = new Uint8Array(rows);
    if (chance) for (let r = 0; r < rows; r++) ends[r] = (draws?.[r] ?? 0.5) < chance[r] ? 1 : 0;
    return ends;
  }

  /** Largest deviation of a member's mean from the members' mean, root mean square over elements in units of their change. */
  private doubt(steps: readonly MemberStep[], rows: number): Float32Array {
    const { obsDim } = this.shape;
    const { scale } = this.description.normaliser.target;
    const doubt = new Float32Array(rows);
    for (let r = 0; r < rows; r++) {
      const squares = new Float64Array(steps.length);
      for (let j = 0; j < obsDim; j++) {
        const at = r * (obsDim + 1) + j;
        const centre = meanOver(steps, ({ mean }) => mean[at]);
        steps.forEach(({ mean }, m) => {
          squares[m] += ((mean[at] - centre) / scale[j]) ** 2;
        });
      }
      doubt[r] = Math.sqrt(Math.max(...squares) / obsDim);
    }
    return doubt;
  }
}

function noStep(learnsEnd: boolean): MemberStep {
  const none = new Float32Array(0);
  return { memory: none, mean: none, std: none, terminated: learnsEnd ? none : undefined };
}

function meanOver<T>(items: readonly T[], read: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += read(item);
  return sum / items.length;
}

function toShared(model: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(model.length));
  shared.set(model);
  return shared;
}
