// The elites on a device: their weights stay there, steps and whole rollouts run there. The random words are those that
// propagation.ts draws, so that an answer differs from the processor's by rounding alone.

import type { PolicyNetwork } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { DeviceEnsemble, type DeviceTarget, deviceFit, isKnownToDevices } from '../../nn/cuda.js';
import type {
  AddonStepAnswer,
  DeviceFit,
  EnsembleWeights,
  LayerWeights,
  PolicyWeights,
  Precision,
} from '../../nn/cuda-addon.js';
import type { ParamLayout } from '../../nn/parameters.js';
import type { DeviceSupport, Spaces, WholeRollout, WholeRolloutAnswer } from '../dynamics.js';
import { rowShape } from '../model-folder.js';
import { type EnsembleConfig, type EnsembleConfigInput, parseEnsembleConfig, settleEnsembleConfig } from './config.js';
import {
  type EnsembleContents,
  type EnsembleDescription,
  ensembleDescriptionSchema,
  memberShapeOf,
} from './contents.js';
import type { Normaliser } from './dataset.js';
import { LEAST_VARIANCE, type MemberShape, memberLayout, PREFIX, sizesOf } from './members.js';
import type { ElitePropagation, MemberAnswer, PropagationRequest } from './propagation.js';

/** As Verdict of native/cuda/engine/ensemble.h. */
const VERDICT = { goesOn: 0, terminated: 1, outOfHorizon: 2 } as const;

/** Whose known reward and end a device is to use: ids of built-in environments, empty where there is nothing to know. */
interface KnownNames {
  readonly knownReward: string;
  readonly knownEnds: string;
}

export class DevicePropagator implements ElitePropagation {
  private onProcessor?: Promise<ElitePropagation>;

  private constructor(
    private readonly ensemble: DeviceEnsemble,
    private readonly shape: MemberShape,
    /** Absent where whole rollouts would need functions that devices do not know. */
    private readonly known: KnownNames | undefined,
    private readonly openOnProcessor: () => Promise<ElitePropagation>,
  ) {}

  /**
   * @param openOnProcessor  what `everyElite` is asked of, once it is
   * @throws CUDA_UNAVAILABLE, DEVICE_FAILED, DEVICE_UNAVAILABLE
   */
  static async open(
    contents: EnsembleContents,
    target: DeviceTarget,
    openOnProcessor: () => Promise<ElitePropagation>,
  ): Promise<DevicePropagator> {
    const { description } = contents;
    const ensemble = await DeviceEnsemble.open(target, eliteWeights(description, contents.parameters));
    const shape = memberShapeOf(description, description.config);
    return new DevicePropagator(ensemble, shape, knownNames(description), openOnProcessor);
  }

  async propagate(request: PropagationRequest): Promise<AddonStepAnswer> {
    const answer = await this.ensemble.step(request);
    const { rng, rows } = request;
    const words = this.wordsOfRow(request);
    if (rng instanceof Rng) rng.skip(rows * words);
    else for (const one of rng) one.skip(words);
    return answer;
  }

  async everyElite(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer> {
    this.onProcessor ??= this.openOnProcessor();
    return (await this.onProcessor).everyElite(obs, action, rows);
  }

  /** Rows of one tile share no arithmetic: sums run along the network's widths alone, in one order. */
  async haveExactRows(): Promise<boolean> {
    return true;
  }

  rollout(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined {
    return this.known && this.runWhole(request, this.known);
  }

  async release(): Promise<void> {
    await this.ensemble.close();
    await (await this.onProcessor)?.release();
  }

  /** Words of a stream that one row takes: its elite, its normals, its end. */
  private wordsOfRow({ isTs1, isDeterministic }: Pick<PropagationRequest, 'isTs1' | 'isDeterministic'>): number {
    const { outputDim, termination } = this.shape;
    return (isTs1 ? 1 : 0) + (isDeterministic ? 0 : outputDim + (termination ? 1 : 0));
  }

  private async runWhole(request: WholeRollout, known: KnownNames): Promise<WholeRolloutAnswer> {
    const { actRng, modelRng, horizon, propagation, policy, ...rest } = request;
    const streams = (of: (step: number) => Rng) => Array.from({ length: horizon }, (_, step) => of(step));
    const { doubted, verdict, logProb, disagreement, ...columns } = await this.ensemble.rollout({
      ...rest,
      ...known,
      horizon,
      policy: policyWeights(policy),
      isTs1: propagation !== 'mean',
      isDeterministic: false,
      isPolicyDeterministic: false,
      withDisagreement: request.disagreementLimit !== undefined,
      dropsDoubted: true,
      actRngs: streams(actRng),
      modelRngs: streams(modelRng),
    });
    const { rows, terminated } = columns;
    const count = (which: number) => verdict.reduce((sum, one) => sum + (one === which ? 1 : 0), 0);
    return {
      ...columns,
      truncated: verdict.map((one, row) => (one !== VERDICT.goesOn && terminated[row] === 0 ? 1 : 0)),
      ended: { terminated: count(VERDICT.terminated), outOfHorizon: count(VERDICT.outOfHorizon), doubted },
      ...(logProb.length === rows && { logProb }),
      ...(disagreement.length === rows && { disagreement }),
    };
  }
}

/** Keys of an environment that its known functions do not depend on. */
const PLAIN_KEYS = ['id', 'maxEpisodeSteps'];

/** None where a function is used that devices do not know: of an environment of one's own, or of a changed one. */
function knownNames(description: EnsembleDescription): KnownNames | undefined {
  const { outcome, env } = description;
  const changed = Object.entries(env ?? {}).filter(([key, value]) => value !== undefined && !PLAIN_KEYS.includes(key));
  const isPlain = env?.id !== undefined && changed.length === 0;
  const nameFor = (which: 'reward' | 'ends', how: string): string | undefined => {
    if (how !== 'known') return '';
    return isPlain && isKnownToDevices(env.id!, which, rowShape(description)) ? env.id : undefined;
  };
  const knownReward = nameFor('reward', outcome.reward);
  const knownEnds = nameFor('ends', outcome.terminated);
  return knownReward === undefined || knownEnds === undefined ? undefined : { knownReward, knownEnds };
}

function policyWeights({ head, activation, layers, logStd, actions }: PolicyNetwork): PolicyWeights {
  const row = (values: readonly number[]) => Float32Array.from(values);
  const isBox = actions.type === 'box';
  return {
    ...{ head, activation, layers },
    logStd: logStd ?? new Float32Array(0),
    scale: row(isBox ? actions.scale : []),
    bias: row(isBox ? actions.bias : []),
    low: row(isBox ? actions.low : []),
    high: row(isBox ? actions.high : []),
    choices: isBox ? 0 : actions.n,
    start: isBox ? 0 : actions.start,
  };
}

// The elites' weights in normalised units, as a device takes them: low precision holds numbers around one far better than raw
// units.

type WeightsForm = Pick<EnsembleDescription, keyof Spaces | 'config' | 'normaliser' | 'elites'>;

/** @param parameters  of all members that `elites` names */
function eliteWeights(description: WeightsForm, parameters: Float32Array): EnsembleWeights {
  const { config, normaliser, elites, observationSpace } = description;
  const shape = memberShapeOf(description, config);
  const layout = memberLayout(shape, config);
  const thetaOf = (member: number) => parameters.subarray(member * layout.size, (member + 1) * layout.size);
  const { input, target } = normaliser;
  const { obsDim } = rowShape(description);
  const bounds = (side: 'low' | 'high', none: number) =>
    observationSpace.type === 'box'
      ? Float32Array.from(observationSpace[side], (bound) => bound ?? none)
      : new Float32Array(obsDim).fill(none);
  return {
    ...formOf(description, config),
    elites: elites.map((member) => memberWeights(thetaOf(member), layout, shape, normaliser)),
    inputMean: Float32Array.from(input.mean),
    inputScale: Float32Array.from(input.scale),
    targetMean: Float32Array.from(target.mean),
    targetScale: Float32Array.from(target.scale),
    low: bounds('low', Number.NEGATIVE_INFINITY),
    high: bounds('high', Number.POSITIVE_INFINITY),
  };
}

function formOf(spaces: Spaces, { learnReward, learnTermination }: EnsembleConfig) {
  const { actionSpace } = spaces;
  const { obsDim, actionDim } = rowShape(spaces);
  const isDiscrete = actionSpace.type === 'discrete';
  return {
    ...{ obsDim, actionDim, learnsReward: learnReward, learnsTermination: learnTermination },
    actionChoices: isDiscrete ? actionSpace.n : 0,
    actionStart: isDiscrete ? actionSpace.start : 0,
  };
}

/** Constant targets are answered as they are: see `foldNormaliser`. */
function memberWeights(theta: Float32Array, layout: ParamLayout, shape: MemberShape, normaliser: Normaliser) {
  const { outputDim } = shape;
  const sizes = sizesOf(shape);
  const own = (name: string) => layout.view(theta, name).slice();
  const layers = sizes.slice(1).map((out, layer): LayerWeights => {
    return { in: sizes[layer], out, w: own(`${PREFIX}.w${layer}`), b: own(`${PREFIX}.b${layer}`) };
  });
  const [logVarMin, logVarMax] = [own('logVarMin'), own('logVarMax')];
  const { w, b } = layers[layers.length - 1];
  for (const j of normaliser.constant ?? []) {
    for (let at = j; at < w.length; at += b.length) w[at] = 0;
    b[j] = 0;
    const least = Math.log(LEAST_VARIANCE / normaliser.target.scale[j] ** 2);
    b[outputDim + j] += least - logVarMax[j];
    logVarMin[j] = logVarMax[j] = least;
  }
  return { layers, logVarMin, logVarMax };
}

/** Of an ensemble of this form, whatever its weights. Throws CUDA_UNAVAILABLE without the addon. */
function ensembleDeviceFit(spaces: Spaces, config: EnsembleConfig, precision: Precision): DeviceFit {
  const shape = memberShapeOf(spaces, config);
  const identity = (length: number) => ({
    mean: new Array<number>(length).fill(0),
    scale: new Array<number>(length).fill(1),
  });
  const normaliser = { input: identity(shape.inputDim), target: identity(shape.outputDim) };
  const { observationSpace, actionSpace } = spaces;
  const elites = new Array<number>(config.elites).fill(0);
  const form = { observationSpace, actionSpace, config, normaliser, elites };
  return deviceFit(eliteWeights(form, new Float32Array(memberLayout(shape, config).size)), precision);
}

/** What the registry asks. */
export const ensembleDevices: DeviceSupport = {
  ofSection: (section, spaces, precision) =>
    ensembleDeviceFit(
      spaces,
      settleEnsembleConfig(parseEnsembleConfig(section as EnsembleConfigInput), { spaces }),
      precision,
    ),
  ofManifest: ({ description }, precision) => {
    const parsed = ensembleDescriptionSchema.safeParse(description);
    // What is wrong with it, its reader says.
    return parsed.success ? ensembleDeviceFit(parsed.data, parsed.data.config, precision) : { precision };
  },
};
