// The only door to native/cuda: finds the compiled addon, says what is missing where there is none, and keeps models on a
// device. Nothing here blocks the event loop; each model does one thing at a time, in the order it was asked.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type ReverieError, reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type {
  Addon,
  AddonEnsemble,
  AddonProbe,
  AddonRollout,
  AddonRolloutRequest,
  AddonStepAnswer,
  AddonStepRequest,
  DeviceFit,
  EnsembleWeights,
  GpuDescription,
  LayerWeights,
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

export interface DeviceStep extends Omit<AddonStepRequest, 'streams' | 'hasStreamPerRow'> {
  /** Of the batch, or one for each row; read, not moved. */
  readonly rng: Rng | readonly Rng[];
}

interface DeviceRollout extends Omit<AddonRolloutRequest, 'disagreementLimit' | 'actStreams' | 'modelStreams'> {
  readonly disagreementLimit?: number;
  /** Streams of the policy's and of the model's noise, one a step. */
  readonly actRngs: readonly Rng[];
  readonly modelRngs: readonly Rng[];
}

/** From `src` and `dist`, and from what benchmarks are compiled to, a folder deeper. */
const [NEAR, FAR] = ['../../', '../../../'].map((up) => new URL(`${up}native/cuda/build/`, import.meta.url));
const BUILD = existsSync(NEAR) || !existsSync(FAR) ? NEAR : FAR;
const ADDON_FILE = fileURLToPath(new URL('reverie_cuda.node', BUILD));
const KERNELS_FILE = fileURLToPath(new URL('kernels.fatbin', BUILD));
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
    problem: `The device simd cannot be used: ${problem}.`,
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
      { problem: `The device simd cannot be used: ${problem ?? (error as Error).message}.`, hint: hint ?? '' },
      error,
    );
  }
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

  /** Uploads the weights. Throws CUDA_UNAVAILABLE, DEVICE_UNAVAILABLE, DEVICE_FAILED. */
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

  /** One step of every row. Throws DEVICE_FAILED. */
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

  /** Whole branched rollouts. Throws DEVICE_FAILED. */
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

/** Throws what the addon rejected with as an error of the catalogue. */
function deviceError(device: string): (error: Error & { readonly kind?: string }) => never {
  return (error) => {
    const problem = error.message;
    const failed = (code: 'DEVICE_FAILED' | 'DEVICE_UNAVAILABLE', sentence: string, hint: string) =>
      reverieError(code, { problem: `${sentence}: ${problem}.`, hint }, error);
    switch (error.kind) {
      case 'unavailable':
        throw reverieError('CUDA_UNAVAILABLE', { problem, hint: 'reverie doctor tells what there is.' }, error);
      case 'out-of-memory':
        throw failed(
          'DEVICE_FAILED',
          `The memory of ${device} does not suffice`,
          'Close what else uses the GPU (nvidia-smi shows it), give smaller batches (rollout.chunkRows), or use --device cpu.',
        );
      case 'unsupported':
        throw failed(
          'DEVICE_UNAVAILABLE',
          `World model "ensemble" cannot run on ${device}`,
          'Use --device cpu, or --device auto, which uses a GPU only where it can.',
        );
      case 'failed':
        throw failed(
          'DEVICE_FAILED',
          `${device} failed`,
          'Start the process again, as a GPU may be unusable after a failure; reverie doctor tells its state. --device cpu does without it.',
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
    if (typeof found.makeActorCritic !== 'function') throw new Error('it was compiled from earlier sources');
    addon = found;
    return addon;
  } catch (error) {
    const problem = `the addon cannot be loaded (${(error as Error).message})`;
    throw reverieError('CUDA_UNAVAILABLE', { problem, hint }, error);
  }
}

type StepShape = Pick<EnsembleWeights, 'obsDim' | 'actionDim' | 'learnsReward' | 'learnsTermination'>;

/** The words of a stream: key 0, key 1, position low, position high. */
function writeStream(rng: Rng, into: Uint32Array, at: number): void {
  const { key, position } = rng.state();
  into[at] = key[0];
  into[at + 1] = key[1];
  into[at + 2] = position >>> 0;
  into[at + 3] = Math.floor(position / 2 ** 32);
}

/** Steps so small that the caller may wait for them: all that goes in and comes out lies in one buffer. */
class BriefSteps {
  private readonly floats: Float32Array<ArrayBuffer>;
  private readonly words: Uint32Array;
  private readonly bytes: Uint8Array;

  /** For up to `mostRows` rows. */
  constructor(
    private readonly shape: StepShape,
    readonly mostRows: number,
  ) {
    const { obsDim, actionDim } = shape;
    // Observation, action, stream, next observation, reward, disagreement, and a byte for the end.
    const exchange = new ArrayBuffer(4 * Math.ceil(mostRows * (2 * obsDim + actionDim + 4 + 2 + 0.25)));
    this.floats = new Float32Array(exchange);
    this.words = new Uint32Array(exchange);
    this.bytes = new Uint8Array(exchange);
  }

  step(addon: Addon, handle: number, request: DeviceStep): AddonStepAnswer {
    const { rows, obs, action, rng, isTs1, isDeterministic, withDisagreement } = request;
    const { obsDim, learnsReward, learnsTermination } = this.shape;
    const { floats, words, bytes } = this;
    floats.set(obs, 0);
    floats.set(action, obs.length);
    const isOne = 'state' in rng;
    let at = obs.length + action.length;
    for (const one of isOne ? [rng] : rng) {
      writeStream(one, words, at);
      at += 4;
    }
    const choices = (isTs1 ? 1 : 0) + (isDeterministic ? 2 : 0) + (withDisagreement ? 4 : 0) + (isOne ? 0 : 8);
    addon.stepNow(handle, floats.buffer, rows, choices);
    const reward = at + rows * obsDim;
    const ends = reward + 2 * rows;
    return {
      nextObs: floats.slice(at, reward),
      reward: learnsReward ? floats.slice(reward, reward + rows) : undefined,
      disagreement: withDisagreement ? floats.slice(reward + rows, ends) : undefined,
      terminated: learnsTermination ? bytes.slice(4 * ends, 4 * ends + rows) : undefined,
    };
  }
}

const OBS_DIM = 4;
const ACTION_DIM = 2;
const WIDTHS = [OBS_DIM + ACTION_DIM, 48, 48, 2 * (OBS_DIM + 1)];
const ROWS = 100;

/**
 * The largest difference between the two in any number of the step, in float32, where rounding makes it about 1e-6.
 * Throws as `DeviceEnsemble.open` and `step`.
 */
export async function deviceTrial(kind: DeviceTarget['kind']): Promise<number> {
  const [there, here] = [await stepOn(kind), await stepOn('emulated')];
  return there.reduce((worst, value, i) => Math.max(worst, Math.abs(value - here[i])), 0);
}

async function stepOn(kind: DeviceTarget['kind']): Promise<Float32Array> {
  const rng = Rng.fromSeed(0).split('device-trial');
  const ensemble = await DeviceEnsemble.open({ kind, precision: 'fp32' }, trialWeights(rng));
  try {
    const { nextObs, reward, disagreement } = await ensemble.step({
      rows: ROWS,
      obs: rng.split('obs').fillNormal(new Float32Array(ROWS * OBS_DIM)),
      action: rng.split('action').fillUniform(new Float32Array(ROWS * ACTION_DIM), -1, 1),
      rng: rng.split('noise'),
      isTs1: true,
      isDeterministic: false,
      withDisagreement: true,
    });
    return Float32Array.from([...nextObs, ...reward!, ...disagreement!]);
  } finally {
    await ensemble.close();
  }
}

function trialWeights(rng: Rng): EnsembleWeights {
  const filled = (length: number, value: number) => new Float32Array(length).fill(value);
  const layersOf = (member: number) =>
    WIDTHS.slice(1).map((out, layer): LayerWeights => {
      const width = WIDTHS[layer];
      const w = rng.split('member', member, layer).fillNormal(new Float32Array(width * out));
      return { in: width, out, w: w.map((value) => value / Math.sqrt(width)), b: filled(out, 0.1) };
    });
  const elite = (member: number) => ({
    layers: layersOf(member),
    logVarMin: filled(OBS_DIM + 1, -10),
    logVarMax: filled(OBS_DIM + 1, 0.5),
  });
  return {
    ...{ obsDim: OBS_DIM, actionDim: ACTION_DIM, actionChoices: 0, actionStart: 0 },
    ...{ learnsReward: true, learnsTermination: false },
    elites: [elite(0), elite(1), elite(2)],
    ...{ inputMean: filled(OBS_DIM + ACTION_DIM, 0), inputScale: filled(OBS_DIM + ACTION_DIM, 1) },
    ...{ targetMean: filled(OBS_DIM + 1, 0), targetScale: filled(OBS_DIM + 1, 1) },
    ...{ low: filled(OBS_DIM, Number.NEGATIVE_INFINITY), high: filled(OBS_DIM, Number.POSITIVE_INFINITY) },
  };
}
