// The recurrent latent model as dynamics: networks that remember. What an observation hides (a velocity, what happened
// before) is carried in a latent memory, in the way of recurrent state-space models' deterministic path (Hafner et al. 2019,
// PlaNet, 1811.04551, section 3), with the members' disagreement as its doubt (PETS, 1805.12114).

import type { Carry, Dynamics, FrozenCarry, Imagined, ImagineOptions, Rngs } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { KnownFunctions, VectorSpace } from '../../env/index.js';
import { float32, hasExactRows, InferenceSession } from '../../nn/index.js';
import { boundsClipper, knownEnds, requireFiniteAnswer } from '../answer.js';
import { batchNoise, rowNoise } from '../ensemble/step-noise.js';
import { checkStepInput } from '../input-check.js';
import { type EncodeRows, type RowShape, rowEncoder, rowShape } from '../model-spaces.js';
import type { LatentContents, LatentDescription } from './contents.js';

/** The last observation and each member's memory. */
export interface LatentCarry extends Carry {
  /** [rows, obsDim] */
  readonly obs: Float32Array;
  /** A member: [rows, latent]. */
  readonly memory: readonly Float32Array[];
}

interface MemberStep {
  readonly memory: Float32Array;
  readonly mean: Float32Array;
  readonly std: Float32Array;
  readonly terminated?: Float32Array;
}

export class LatentModel implements Dynamics<LatentCarry, Float32Array, Float32Array> {
  readonly backend = 'latent';
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly context: number;
  private readonly shape: RowShape;
  private readonly latent: number;
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
    this.encode = rowEncoder(description);
    this.clip = boundsClipper(description.observationSpace);
  }

  /** Opens the members. `known` must have the end that the description's outcome names. */
  static async open(contents: LatentContents, version: string, known: KnownFunctions): Promise<LatentModel> {
    // ONNX Runtime refuses shared memory; an own copy also frees the file's buffer.
    const sessions = await Promise.all(contents.models.map((model) => InferenceSession.fromBytes(model.slice())));
    return new LatentModel(contents, version, known, sessions);
  }

  get description(): LatentDescription {
    return this.contents.description;
  }

  begin(starts: Float32Array): LatentCarry {
    const { obsDim } = this.shape;
    const rows = starts.length / obsDim;
    const memory = this.sessions.map(() => new Float32Array(rows * this.latent));
    return { rows, obs: starts.slice(), memory };
  }

  async follow(carry: LatentCarry, action: Float32Array, seen: Float32Array): Promise<LatentCarry> {
    const steps = await this.stepMembers(carry, action);
    return { rows: carry.rows, obs: seen.slice(), memory: steps.map(({ memory }) => memory) };
  }

  async imagine(
    carry: LatentCarry,
    action: Float32Array,
    rngs: Rngs,
    options: ImagineOptions = {},
  ): Promise<Imagined<LatentCarry, Float32Array>> {
    if (!(rngs instanceof Rng) && rngs.length > 1 && !(await this.haveExactRows())) {
      return this.rowByRow(carry, action, rngs, options);
    }
    const { rows, obs } = carry;
    const { obsDim } = this.shape;
    const steps = await this.stepMembers(carry, action);
    const learnsEnd = this.description.outcome.terminated === 'learned';
    const needs = {
      rows,
      elites: options.propagation === 'mean' ? 0 : this.sessions.length,
      normals: options.deterministic ? 0 : obsDim + 1,
      ends: learnsEnd && !options.deterministic,
    };
    const noise = rngs instanceof Rng ? batchNoise(rngs, needs) : rowNoise(rngs, needs);
    const normals = new Float32Array(rows * (obsDim + 1));
    noise.fill(normals, rows);
    const observation = new Float32Array(rows * obsDim);
    const reward = new Float32Array(rows);
    const chance = learnsEnd ? new Float32Array(rows) : undefined;
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
      obs: pickRows(obs, rows, this.shape.obsDim),
      memory: memory.map((of) => pickRows(of, rows, this.latent)),
    };
  }

  freeze({ rows, obs, memory }: LatentCarry): FrozenCarry {
    return { modelVersion: this.modelVersion, state: { rows, obs: toText(obs), memory: memory.map(toText) } };
  }

  revive({ modelVersion, state }: FrozenCarry): LatentCarry {
    if (modelVersion !== this.modelVersion) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: modelVersion, into: this.modelVersion });
    }
    const { rows, obs, memory } = state as { rows: number; obs: string; memory: string[] };
    return { rows, obs: fromText(obs), memory: memory.map(fromText) };
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.release()));
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
    const observation = joined(alone.map((one) => one.observation));
    const memory = this.sessions.map((_, m) => joined(alone.map((one) => one.carry.memory[m])));
    return {
      carry: { rows: rngs.length, obs: observation, memory },
      observation,
      reward: joined(alone.map(({ reward }) => reward)),
      terminated: Uint8Array.from(alone, ({ terminated }) => terminated[0]),
      disagreement: options.disagreement ? joined(alone.map(({ disagreement }) => disagreement!)) : undefined,
    };
  }

  private async stepMembers({ rows, obs, memory }: LatentCarry, action: Float32Array): Promise<MemberStep[]> {
    checkStepInput(this.backend, this, obs, action, rows, this.shape);
    const { inputDim } = this.shape;
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

function meanOver<T>(items: readonly T[], read: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += read(item);
  return sum / items.length;
}

function pickRows(values: Float32Array, rows: Uint32Array, width: number): Float32Array {
  const picked = new Float32Array(rows.length * width);
  rows.forEach((row, to) => {
    picked.set(values.subarray(row * width, (row + 1) * width), to * width);
  });
  return picked;
}

function joined(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

/** Base64 of float32: JSON would lose the sign of zero. */
function toText({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64');
}

function fromText(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);
}
