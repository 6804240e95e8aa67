// The only door to native/cuda: finds the compiled addon, says what is missing where there is none, and keeps models on a
// device. Nothing here blocks the event loop; each model does one thing at a time, in the order it was asked.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type ReverieError, reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { BriefSteps, type StepShape, writeStream } from './brief-step.js';
import type {
  Addon,
  AddonEnsemble,
  AddonProbe,
  AddonRollout,
  AddonStepAnswer,
  AddonStepOptions,
  DeviceFit,
  EnsembleWeights,
  GpuDescription,
  PolicyWeights,
  Precision,
} from './cuda-addon.js';

/**
 * Where a model runs: a GPU; its emulation on the host, which is slow and meant for checking; or the processor by vector code
 * of our own (native).
 */
export interface DeviceTarget {
  readonly kind: 'cuda' | 'emulated' | 'native';
  /** fp32 for `native`. */
  readonly precision: Precision;
  /** Threads that `native` shares its rows among; 1 unless given. Results do not depend on it. */
  readonly threads?: number;
  /** Which GPU, as CUDA numbers them; 0 unless given. */
  readonly ordinal?: number;
}

/** What there is for using a GPU. */
export interface CudaStatus {
  /** File of the addon, and why it cannot be loaded. */
  readonly addon: { readonly file: string; readonly problem?: string };
  /** File of the kernels compiled for GPUs. */
  readonly kernels: { readonly file: string; readonly isThere: boolean };
  /** As the driver numbers itself: 13010 is CUDA 13.1; 0 where there is none. */
  readonly driverVersion: number;
  readonly gpus: readonly GpuDescription[];
  /** Why no GPU can be used, and the way out; absent where one can. */
  readonly missing?: { readonly problem: string; readonly hint: string };
}

export interface DeviceStep extends AddonStepOptions {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rows: number;
  /** Of the batch, or one for each row; read, not moved. */
  readonly rng: Rng | readonly Rng[];
}

export interface DeviceRollout extends AddonStepOptions {
  readonly starts: Float32Array;
  readonly branches: number;
  readonly horizon: number;
  readonly policy: PolicyWeights;
  readonly isPolicyDeterministic: boolean;
  readonly disagreementLimit?: number;
  readonly dropsDoubted: boolean;
  /** Ids of the built-in environments whose known reward and end are used; empty where they are learned, or nothing ends. */
  readonly knownReward: string;
  readonly knownEnds: string;
  /** Streams of the policy's and of the model's noise, one a step. */
  readonly actRngs: readonly Rng[];
  readonly modelRngs: readonly Rng[];
}

/** From `src` and `dist`, and from what benchmarks are compiled to, a folder deeper. */
const [NEAR, FAR] = ['../../', '../../../'].map((up) => new URL(`${up}native/cuda/build/`, import.meta.url));
const BUILD = existsSync(NEAR) || !existsSync(FAR) ? NEAR : FAR;
const ADDON_FILE = fileURLToPath(new URL('reverie_cuda.node', BUILD));
export const KERNELS_FILE = fileURLToPath(new URL('kernels.fatbin', BUILD));
const BUILD_COMMAND = 'node scripts/build-native.mjs, in the folder of the package reverie';
const NO_DRIVER: AddonProbe = { missing: '', hint: '', driverVersion: 0, devices: [] };

/** What there is and what is missing. Never throws. */
export async function cudaStatus(): Promise<CudaStatus> {
  const kernels = { file: KERNELS_FILE, isThere: existsSync(KERNELS_FILE) };
  let problem: string | undefined;
  let probe = NO_DRIVER;
  try {
    probe = await loadAddon().probe();
  } catch (error) {
    problem = (error as ReverieError).values?.['problem'] as string | undefined;
    problem ??= (error as Error).message;
  }
  const missing = missingOf(problem, probe, kernels.isThere);
  const addon = { file: ADDON_FILE, ...(problem !== undefined && { problem }) };
  return { addon, kernels, driverVersion: probe.driverVersion, gpus: probe.devices, ...(missing && { missing }) };
}

function missingOf(problem: string | undefined, probe: AddonProbe, hasKernels: boolean): CudaStatus['missing'] {
  if (problem !== undefined) return { problem, hint: `With a C++ compiler and make: ${BUILD_COMMAND}.` };
  if (probe.missing !== '') return { problem: probe.missing, hint: probe.hint };
  if (hasKernels) return undefined;
  const hint = `With nvcc (see docs/cuda.md for where it is looked for): ${BUILD_COMMAND}.`;
  return { problem: 'the kernels are not compiled for GPUs', hint };
}

/** Throws CUDA_UNAVAILABLE or DEVICE_UNAVAILABLE saying what is missing where `target` cannot be used. */
export async function requireDevice({ kind, ordinal = 0 }: DeviceTarget): Promise<void> {
  if (kind === 'native') {
    nativeWidth();
    return;
  }
  if (kind === 'emulated') {
    loadAddon();
    return;
  }
  const { missing, gpus } = await cudaStatus();
  if (missing) throw reverieError('CUDA_UNAVAILABLE', missing);
  if (ordinal < gpus.length) return;
  const hint = 'GPUs are counted from 0, as CUDA_VISIBLE_DEVICES leaves them.';
  throw reverieError('CUDA_UNAVAILABLE', { problem: `there is no GPU ${ordinal}, only ${gpus.length}`, hint });
}

/**
 * The width of vectors that `native` computes with: REVERIE_NATIVE_WIDTH, else the best that this processor has.
 * Throws DEVICE_UNAVAILABLE without the addon, or where the processor has no such width.
 */
export function nativeWidth(): string {
  const widths = nativeWidths();
  const wanted = process.env['REVERIE_NATIVE_WIDTH'] || widths[0];
  if (widths.includes(wanted)) return wanted;
  const problem = `REVERIE_NATIVE_WIDTH is "${wanted}", and this processor has ${widths.join(', ')}`;
  throw reverieError('DEVICE_UNAVAILABLE', {
    problem: `The device native cannot be used: ${problem}.`,
    hint: 'Leave it unset for the best there is.',
  });
}

/** Widths of vectors that this processor has, best first. Throws DEVICE_UNAVAILABLE without the addon. */
export function nativeWidths(): readonly string[] {
  try {
    return loadAddon().widths();
  } catch (error) {
    const { problem, hint } = (error as ReverieError).values ?? {};
    throw reverieError(
      'DEVICE_UNAVAILABLE',
      { problem: `The device native cannot be used: ${problem ?? (error as Error).message}.`, hint: hint ?? '' },
      error,
    );
  }
}

/** Multiply-adds a second that one thread of this processor does in registers, with vectors of a width: the most there can be. */
export function nativePeak(width: string, rounds = 1e7): number {
  const began = performance.now();
  return loadAddon().peak(width, rounds) / ((performance.now() - began) / 1000);
}

/** Whether and how devices run this ensemble. Throws CUDA_UNAVAILABLE without the addon. */
export function deviceFit(weights: EnsembleWeights, precision: Precision): DeviceFit {
  return loadAddon().fit(weights, precision);
}

/** Whether devices know this function of a built-in environment. Throws CUDA_UNAVAILABLE without the addon. */
export function isKnownToDevices(
  environment: string,
  which: 'reward' | 'ends',
  { obsDim, actionDim }: Pick<EnsembleWeights, 'obsDim' | 'actionDim'>,
): boolean {
  return loadAddon().knows(environment, which === 'reward', obsDim, actionDim);
}

/** An ensemble on a device. Arrays given must stay as they are until the promise settles. */
export class DeviceEnsemble {
  private last: Promise<unknown> = Promise.resolve();
  private underWay = 0;
  private readonly brief?: BriefSteps;
  private isClosed = false;

  private constructor(
    private readonly resident: AddonEnsemble,
    private readonly weights: StepShape,
    private readonly elites: number,
  ) {
    if (resident.briefRows > 0) this.brief = new BriefSteps(weights, Math.floor(resident.briefRows));
  }

  /** Uploads the weights. Throws CUDA_UNAVAILABLE, DEVICE_UNAVAILABLE, DEVICE_FAILED, DEVICE_FAILED, DEVICE_UNAVAILABLE. */
  static async open(target: DeviceTarget, weights: EnsembleWeights): Promise<DeviceEnsemble> {
    await requireDevice(target);
    const { kind, precision, ordinal = 0, threads = 1 } = target;
    const width = kind === 'native' ? nativeWidth() : '';
    const where = { kind, ordinal, fatbin: KERNELS_FILE, threads, width };
    const resident = await loadAddon().makeEnsemble(where, weights, precision).catch(deviceError(kind));
    const { obsDim, actionDim, learnsReward, learnsTermination, elites } = weights;
    return new DeviceEnsemble(resident, { obsDim, actionDim, learnsReward, learnsTermination }, elites.length);
  }

  /** The GPU it lies on. */
  get device(): GpuDescription {
    return this.resident.device;
  }

  /** Bytes of the device's memory that it holds. */
  get bytes(): number {
    return this.resident.bytes;
  }

  /** One step of every row. Throws DEVICE_FAILED, DEVICE_FAILED. */
  async step(asked: DeviceStep): Promise<AddonStepAnswer> {
    if (this.isBrief(asked)) return this.brief!.step(loadAddon(), this.resident.handle, asked);
    const { obs, action, rows, rng, ...options } = asked;
    const { obsDim, learnsReward, learnsTermination } = this.weights;
    const answer = {
      nextObs: new Float32Array(rows * obsDim),
      reward: learnsReward ? new Float32Array(rows) : undefined,
      terminated: learnsTermination ? new Uint8Array(rows) : undefined,
      disagreement: options.withDisagreement ? new Float32Array(rows) : undefined,
    };
    if (rows === 0) return answer;
    const rngs = 'state' in rng ? [rng] : rng;
    const request = {
      ...options,
      rows,
      obs: unshared(obs),
      action: unshared(action),
      streams: streamWords(rngs),
      hasStreamPerRow: !('state' in rng),
    };
    await this.inTurn((addon) => addon.step(this.resident.handle, request, answer));
    return answer;
  }

  /** Whole branched rollouts. Throws DEVICE_FAILED, DEVICE_FAILED. */
  rollout({ actRngs, modelRngs, starts, disagreementLimit, ...rest }: DeviceRollout): Promise<AddonRollout> {
    const request = {
      ...rest,
      starts: unshared(starts),
      disagreementLimit: disagreementLimit ?? Number.POSITIVE_INFINITY,
      actStreams: streamWords(actRngs),
      modelStreams: streamWords(modelRngs),
    };
    return this.inTurn((addon) => addon.rollout(this.resident.handle, request));
  }

  /** Frees the device's memory once what is under way is done. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.last.catch(() => {});
    await loadAddon().close(this.resident.handle);
  }

  /** Whether the caller may wait for it; never while something is under way. */
  private isBrief({ rows, isTs1, withDisagreement }: DeviceStep): boolean {
    const asked = isTs1 && !withDisagreement ? 1 : this.elites;
    const isFree = this.underWay === 0 && !this.isClosed && rows > 0;
    return this.brief !== undefined && isFree && rows * asked <= this.brief.mostRows;
  }

  private inTurn<T>(work: (addon: Addon) => Promise<T>): Promise<T> {
    if (this.isClosed) throw reverieError('SESSION_RELEASED', { origin: 'ensemble on a device' });
    const run = () => work(loadAddon()).catch(deviceError(this.device.name));
    this.underWay++;
    const result = this.last.then(run, run).finally(() => {
      this.underWay--;
    });
    this.last = result;
    result.catch(() => {});
    // A hop later, so that what waits for its turn is begun before the caller takes this answer apart.
    return result.then((answer) => answer);
  }
}

/** The words of `AddonStepRequest.streams`. */
function streamWords(rngs: readonly Rng[]): Uint32Array {
  const words = new Uint32Array(4 * rngs.length);
  rngs.forEach((rng, i) => {
    writeStream(rng, words, 4 * i);
  });
  return words;
}

/** Native code does not read shared memory, which others may write meanwhile. */
export function unshared(values: Float32Array): Float32Array {
  return values.buffer instanceof SharedArrayBuffer ? values.slice() : values;
}

interface AddonFailure extends Error {
  readonly kind?: string;
}

/** Throws what the addon rejected with as an error of the catalogue. */
export function deviceError(device: string, backend = 'ensemble'): (error: AddonFailure) => never {
  return (error) => {
    const problem = error.message;
    switch (error.kind) {
      case 'unavailable':
        throw reverieError('CUDA_UNAVAILABLE', { problem, hint: 'reverie doctor tells what there is.' }, error);
      case 'out-of-memory':
        throw reverieError(
          'DEVICE_FAILED',
          {
            problem: `The memory of ${device} does not suffice: ${problem}.`,
            hint: 'Close what else uses the GPU (nvidia-smi shows it), give smaller batches (rollout.chunkRows), or use --device cpu.',
          },
          error,
        );
      case 'unsupported':
        throw reverieError(
          'DEVICE_UNAVAILABLE',
          {
            problem: `World model "${backend}" cannot run on ${device}: ${problem}.`,
            hint: 'Use --device cpu, or --device auto, which uses a GPU only where it can.',
          },
          error,
        );
      case 'failed':
        throw reverieError(
          'DEVICE_FAILED',
          {
            problem: `${device} failed: ${problem}.`,
            hint: 'Start the process again, as a GPU may be unusable after a failure; reverie doctor tells its state. --device cpu does without it.',
          },
          error,
        );
      default:
        throw error;
    }
  };
}

let addon: Addon | undefined;

/** @throws CUDA_UNAVAILABLE where it is not compiled or cannot be loaded */
export function loadAddon(): Addon {
  if (addon !== undefined) return addon;
  const hint = `With a C++ compiler and make: ${BUILD_COMMAND}.`;
  if (!existsSync(ADDON_FILE)) {
    throw reverieError('CUDA_UNAVAILABLE', { problem: 'the addon is not compiled', hint });
  }
  try {
    const found = createRequire(import.meta.url)(ADDON_FILE) as Addon;
    // The newest of its functions: what was compiled before it was written has not got it.
    if (typeof found.makeRedq !== 'function') throw new Error('it was compiled from earlier sources');
    addon = found;
    return addon;
  } catch (error) {
    const problem = `the addon cannot be loaded (${(error as Error).message})`;
    throw reverieError('CUDA_UNAVAILABLE', { problem, hint }, error);
  }
}
