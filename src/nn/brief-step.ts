// Steps of few milliseconds, which the caller waits for: on another core they would take longer, as nothing of them lies in its
// cache. What is asked and answered lies in one buffer that is kept, as objects and small arrays take longer to hand over than
// a row to compute.

import type { Rng } from '../core/rng.js';
import type { Addon, AddonStepAnswer, AddonStepOptions, EnsembleWeights } from './cuda-addon.js';

export type StepShape = Pick<EnsembleWeights, 'obsDim' | 'actionDim' | 'learnsReward' | 'learnsTermination'>;

export interface BriefRequest extends AddonStepOptions {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rng: Rng | readonly Rng[];
}

/** The words of a stream: key 0, key 1, position low, position high. */
export function writeStream(rng: Rng, into: Uint32Array, at: number): void {
  const { key, position } = rng.state();
  into[at] = key[0];
  into[at + 1] = key[1];
  into[at + 2] = position >>> 0;
  into[at + 3] = Math.floor(position / 2 ** 32);
}

export class BriefSteps {
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

  step(addon: Addon, handle: number, request: BriefRequest): AddonStepAnswer {
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
