// The elites at work: one session each, asked in tiles small enough for their activations to stay in cache.

import { float32, hasExactRows, InferenceSession } from '../../nn/index.js';

/** Rows of one run. Larger ones spill the activations of a layer out of the second-level cache (measured: 64 to 2048 differ little). */
export const TILE_ROWS = 504;

/** Rows that ONNX Runtime's matrix kernels take at a time (AVX-512; others take divisors of it). */
export const KERNEL_ROWS = 12;

/** Raw units, row-major. */
export interface MemberAnswer {
  /** [rows, outputDim] */
  readonly mean: Float32Array;
  /** [rows, outputDim] */
  readonly std: Float32Array;
  /** [rows], probability of the end by the task; where learned. */
  readonly terminated?: Float32Array;
}

export class MemberSessions {
  private exactRows?: Promise<boolean>;

  private constructor(
    private readonly sessions: readonly InferenceSession[],
    private readonly inputDim: number,
  ) {}

  static async open(models: readonly Uint8Array[], inputDim: number): Promise<MemberSessions> {
    const opening = models.map((model, i) => InferenceSession.fromBytes(model, {}, `ensemble member ${i}`));
    return new MemberSessions(await Promise.all(opening), inputDim);
  }

  get count(): number {
    return this.sessions.length;
  }

  /** What session `index` says of `rows` encoded rows at the head of `inputs`. */
  async ask(index: number, inputs: Float32Array, rows: number): Promise<MemberAnswer> {
    const view = inputs.length === rows * this.inputDim ? inputs : inputs.subarray(0, rows * this.inputDim);
    const answer = await this.sessions[index].run({ input: float32(view, [rows, this.inputDim]) });
    return {
      mean: answer['mean'].data as Float32Array,
      std: answer['std'].data as Float32Array,
      terminated: answer['terminated']?.data as Float32Array | undefined,
    };
  }

  /** Whether a row gets the same bytes in any batch. Members are of one shape: the first is tried, once. */
  haveExactRows(): Promise<boolean> {
    this.exactRows ??= hasExactRows(this.sessions[0]);
    return this.exactRows;
  }

  async release(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.release()));
  }
}
