// The only door to ONNX Runtime: sessions over models, fed and read as plain tensors.
// `run` computes on the calling thread, in a later turn of its loop: feeds must stay as they are until the promise settles,
// and long work belongs in a worker thread.

import * as ort from 'onnxruntime-node';
import { reverieError } from '../core/errors.js';
import { describe, elementCount, holds, type Tensor } from './graph.js';
import { checkModel, type ModelSignature, type TensorSignature, unusable } from './model-check.js';

interface SessionOptions {
  /** Threads one operator may use; 1 unless given. */
  readonly threads?: number;
}

export class InferenceSession {
  private session: ort.InferenceSession | undefined;
  private readonly inputsByName: ReadonlyMap<string, TensorSignature>;

  private constructor(
    session: ort.InferenceSession,
    private readonly signature: ModelSignature,
    private readonly origin: string,
  ) {
    this.session = session;
    this.inputsByName = new Map(signature.inputs.map((input) => [input.name, input]));
  }

  /** A session over a serialised model, which must hold all its weights itself. @throws MODEL_FILE_INVALID */
  static async fromBytes(model: Uint8Array, options: SessionOptions = {}, origin = 'model'): Promise<InferenceSession> {
    const signature = checkModel(model, origin);
    try {
      return new InferenceSession(await ort.InferenceSession.create(model, sessionOptions(options)), signature, origin);
    } catch (error) {
      throw unusable(origin, (error as Error).message, error);
    }
  }

  /** What the model takes; named sizes are free. */
  get inputs(): readonly TensorSignature[] {
    return this.signature.inputs;
  }

  /** What the model gives. */
  get outputs(): readonly TensorSignature[] {
    return this.signature.outputs;
  }

  /** The model's `metadata_props`. */
  get metadata(): Readonly<Record<string, string>> {
    return this.signature.metadata;
  }

  /** Whether its operators answer a row alike in any batch; whether this machine does, a trial tells (row-trial.ts). */
  get isRowwise(): boolean {
    return this.signature.isRowwise;
  }

  /**
   * Runs the model. Feeds are read in place, results are fresh arrays.
   * @throws DATA_MISMATCH for a missing, unknown or ill-shaped input or one in shared memory; SESSION_RELEASED after
   * `release`; MODEL_FILE_INVALID if an operator fails, e.g. for an index out of range
   */
  async run(feeds: Readonly<Record<string, Tensor>>): Promise<Record<string, Tensor>> {
    if (this.session === undefined) throw reverieError('SESSION_RELEASED', { origin: this.origin });
    const results = await this.session.run(this.convert(feeds)).catch((error: Error) => {
      throw reverieError(
        'MODEL_FILE_INVALID',
        {
          problem: `"${this.origin}" failed while running: ${error.message}`,
          hint: 'Check the values fed, above all that indices lie within the tensors they point into.',
        },
        error,
      );
    });
    const out: Record<string, Tensor> = {};
    for (const [name, { type, dims, data }] of Object.entries(results)) {
      out[name] = { dtype: type, dims, data } as Tensor;
    }
    return out;
  }

  /** Frees the native memory; later runs are errors. */
  async release(): Promise<void> {
    const { session } = this;
    this.session = undefined;
    await session?.release();
  }

  private convert(feeds: Readonly<Record<string, Tensor>>): Record<string, ort.Tensor> {
    const converted: Record<string, ort.Tensor> = {};
    for (const input of this.signature.inputs) {
      const tensor = feeds[input.name];
      if (tensor === undefined) throw this.mismatch(`nothing for "${input.name}"`);
      if (isShared(tensor.data?.buffer)) {
        throw this.mismatch(`a SharedArrayBuffer as "${input.name}", which the runtime cannot read`);
      }
      if (!fits(tensor, input)) {
        const given = `${describe(tensor.dtype, tensor.dims)} with ${tensor.data?.length} values`;
        throw this.mismatch(`${given} as "${input.name}"`);
      }
      converted[input.name] = new ort.Tensor(tensor.dtype, tensor.data as Float32Array, tensor.dims);
    }
    const unknown = Object.keys(feeds).find((name) => !this.inputsByName.has(name));
    if (unknown !== undefined) throw this.mismatch(`the unknown input "${unknown}"`);
    return converted;
  }

  private mismatch(problem: string): Error {
    const expected = this.inputs.map(({ name, dtype, shape }) => `${name} ${describe(dtype, shape)}`).join(', ');
    return reverieError('DATA_MISMATCH', {
      problem: `"${this.origin}" was fed ${problem}.`,
      hint: `It takes: ${expected || 'no input'}.`,
    });
  }
}

/** By its name: a browser that shares no memory has no such class. */
function isShared(buffer: unknown): boolean {
  return Object.prototype.toString.call(buffer) === '[object SharedArrayBuffer]';
}

function fits(tensor: Tensor, { dtype, shape }: TensorSignature): boolean {
  const { dims, data } = tensor;
  if (tensor.dtype !== dtype || dims.length !== shape.length || !holds(data, dtype)) return false;
  for (let i = 0; i < dims.length; i++) if (typeof shape[i] === 'number' && shape[i] !== dims[i]) return false;
  return elementCount(dims) === data.length;
}

function sessionOptions({ threads = 1 }: SessionOptions): ort.InferenceSession.SessionOptions {
  return {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // Errors are thrown; the runtime need not print them as well.
    logSeverityLevel: 4,
    // Spinning threads burn the cores that other workers need.
    ...(threads > 1 ? { extra: { session: { intra_op: { allow_spinning: '0' } } } } : {}),
  };
}
