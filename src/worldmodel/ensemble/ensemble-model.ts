// The ensemble as dynamics: elites that answer, on the processor or on a device, and how it is saved and sent to threads.

import type { KnownFunctions } from '../../core/environment.js';
import {
  boundsClipper,
  knownEnds,
  knownRewards,
  requireFiniteAnswer,
  requirePortable,
  reviveKnown,
} from '../answer.js';
import type { Forecast, ModelPlace, WholeRollout, WholeRolloutAnswer, WorldModelSnapshot } from '../dynamics.js';
import { MemorylessDynamics, type ObservationCarry, type StepQuestion, type VectorPrediction } from '../memoryless.js';
import { checkStepInput } from '../model-folder.js';
import type { SeenRange } from '../seen-range.js';
import { type EnsembleContents, type EnsembleDescription, loadEnsemble, saveEnsemble, versionOf } from './contents.js';
import { DevicePropagator } from './device-propagation.js';
import { type ElitePropagation, type MemberAnswer, Propagator } from './propagation.js';

export class EnsembleModel extends MemorylessDynamics {
  private readonly clip?: (rows: Float32Array) => void;
  private shared?: WorldModelSnapshot;

  private constructor(
    private readonly contents: EnsembleContents,
    private readonly known: KnownFunctions,
    private readonly propagation: ElitePropagation,
    modelVersion: string,
  ) {
    super('ensemble', modelVersion, contents.description);
    this.clip = boundsClipper(this.observationSpace);
  }

  /**
   * Opens the elites. `known` must have the functions that the description's outcome names.
   * @throws CUDA_UNAVAILABLE, DEVICE_FAILED, DEVICE_UNAVAILABLE  for a device that cannot be used
   */
  static async open(
    contents: EnsembleContents,
    known: KnownFunctions,
    version?: string,
    { device }: ModelPlace = {},
  ): Promise<EnsembleModel> {
    const onProcessor = () => Propagator.open(contents);
    const propagation = device ? await DevicePropagator.open(contents, device, onProcessor) : await onProcessor();
    return new EnsembleModel(contents, known, propagation, version ?? versionOf(contents));
  }

  /** Loads a folder that `save` wrote. Throws MODEL_FILE_INVALID for anything else or anything damaged, and as `open`. */
  static async load(folder: string, place: ModelPlace = {}): Promise<EnsembleModel> {
    const { contents, known, modelVersion } = await loadEnsemble(folder);
    return EnsembleModel.open(contents, known, modelVersion, place);
  }

  /** Settings, normaliser, elites and how the fit went. */
  get description(): EnsembleDescription {
    return this.contents.description;
  }

  get seen(): SeenRange | undefined {
    return this.description.seen;
  }

  get opinions(): number {
    return this.description.elites.length;
  }

  /** Each member's trained parameters, for a warm start. */
  get parameters(): Float32Array {
    return this.contents.parameters;
  }

  /**
   * What every elite says of every row, without sampling, best elite first: `mean` and `std` [elites, rows, outputDim] of the
   * change of the observation and (where learned) the reward, `terminated` [elites, rows] (where learned), in raw units.
   */
  async stepElites(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer> {
    checkStepInput(this.backend, this, obs, action, rows, this.shape);
    return this.propagation.everyElite(obs, action, rows);
  }

  async forecast({ obs, rows }: ObservationCarry, action: Float32Array): Promise<Forecast> {
    const answer = await this.stepElites(obs, action, rows);
    const { obsDim } = this.shape;
    const components = this.description.elites.length;
    const outputDim = answer.mean.length / (components * rows);
    const mean = new Float32Array(components * rows * obsDim);
    const std = new Float32Array(mean.length);
    for (let c = 0; c < components; c++) {
      for (let r = 0; r < rows; r++) {
        const from = (c * rows + r) * outputDim;
        const to = (c * rows + r) * obsDim;
        for (let j = 0; j < obsDim; j++) {
          mean[to + j] = obs[r * obsDim + j] + answer.mean[from + j];
          std[to + j] = answer.std[from + j];
        }
      }
    }
    return { components, mean, std };
  }

  rollout(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined {
    const { endReward } = this.description;
    const rolled = this.propagation.rollout?.(request);
    if (rolled === undefined || endReward === undefined) return rolled;
    return rolled.then((answer) => {
      addAtEnds(answer.reward, answer.terminated, endReward);
      return answer;
    });
  }

  snapshot(): WorldModelSnapshot {
    const { description, models, parameters } = this.contents;
    requirePortable(description.outcome, description.env);
    if (this.shared === undefined) {
      // Weights lie in shared memory.
      const shared = new Float32Array(new SharedArrayBuffer(parameters.byteLength));
      shared.set(parameters);
      const payload: EnsembleContents = { description, models: models.map(toShared), parameters: shared };
      this.shared = { backend: this.backend, modelVersion: this.modelVersion, payload };
    }
    return this.shared;
  }

  async save(folder: string): Promise<void> {
    requirePortable(this.contents.description.outcome, this.contents.description.env);
    await saveEnsemble(folder, this.contents, this.modelVersion);
  }

  close(): Promise<void> {
    return this.propagation.release();
  }

  protected haveExactRows(): Promise<boolean> {
    return this.propagation.haveExactRows();
  }

  protected async predict({ obs, action, rows, rngs, options }: StepQuestion): Promise<VectorPrediction> {
    const propagated = await this.propagation.propagate({
      obs,
      action,
      rows,
      rng: rngs,
      isTs1: options.propagation !== 'mean',
      isDeterministic: options.deterministic === true,
      withDisagreement: options.disagreement === true,
    });
    const { nextObs, disagreement } = propagated;
    const { outcome, endReward } = this.description;
    requireFiniteAnswer(this.modelVersion, nextObs, propagated.reward ?? EMPTY, rows);
    this.clip?.(nextObs);
    const reward = propagated.reward ?? knownRewards(this.known.reward!, obs, action, nextObs, rows);
    if (!propagated.reward) requireFiniteAnswer(this.modelVersion, EMPTY, reward, rows);
    const terminated =
      propagated.terminated ??
      (outcome.terminated === 'known' ? knownEnds(this.known.terminated!, nextObs, rows) : new Uint8Array(rows));
    if (endReward !== undefined && propagated.reward) addAtEnds(reward, terminated, endReward);
    return { nextObs, reward, terminated, disagreement };
  }
}

/** What an end adds to the rewards of rows that end, in place. */
function addAtEnds(reward: Float32Array, terminated: Uint8Array, endReward: number): void {
  for (let row = 0; row < reward.length; row++) if (terminated[row]) reward[row] += endReward;
}

/** From what `snapshot` gave. @throws as `EnsembleModel.open` */
export async function reviveEnsemble(
  { modelVersion, payload }: WorldModelSnapshot,
  place: ModelPlace,
): Promise<EnsembleModel> {
  const contents = payload as EnsembleContents;
  const known = await reviveKnown(contents.description.outcome, contents.description.env, 'snapshot');
  return EnsembleModel.open(contents, known, modelVersion, place);
}

const EMPTY = new Float32Array(0);

function toShared(model: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(model.length));
  shared.set(model);
  return shared;
}
