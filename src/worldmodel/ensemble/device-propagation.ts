// The elites on a device: their weights stay there, steps and whole rollouts run there. The random words are those that
// step-noise.ts draws, so that an answer differs from the processor's by rounding alone.

import type { PolicyNetwork } from '../../env/index.js';
import { DeviceEnsemble, type DeviceTarget, isKnownToDevices, type PolicyWeights } from '../../nn/index.js';
import { Rng } from '../../rng.js';
import { rowShape } from '../model-spaces.js';
import type { WholeRollout, WholeRolloutAnswer } from '../whole-rollout.js';
import { type EnsembleContents, type EnsembleDescription, memberShapeOf } from './contents.js';
import type { ElitePropagation, Propagated, PropagationRequest } from './elite-propagation.js';
import { eliteWeights } from './elite-weights.js';
import type { MemberShape } from './member-network.js';
import type { MemberAnswer } from './member-sessions.js';

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
   * @throws CUDA_UNAVAILABLE, CUDA_OUT_OF_MEMORY, CUDA_FAILED, DEVICE_UNSUPPORTED, MODEL_INVALID
   */
  static async open(
    contents: EnsembleContents,
    target: DeviceTarget,
    openOnProcessor: () => Promise<ElitePropagation>,
  ): Promise<DevicePropagator> {
    const { description } = contents;
    const ensemble = await DeviceEnsemble.open(target, eliteWeights(contents));
    const shape = memberShapeOf(description, description.config);
    return new DevicePropagator(ensemble, shape, knownNames(description), openOnProcessor);
  }

  async propagate({ rng, rows, ...rest }: PropagationRequest): Promise<Propagated> {
    const answer = await this.ensemble.step({ rng, rows, ...rest });
    if (rng instanceof Rng) rng.skip(rows * this.wordsOfRow(rest));
    else for (const one of rng) one.skip(this.wordsOfRow(rest));
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
    const { actRng, modelRng, horizon, propagation, isModelDeterministic, policy, withDisagreement, ...rest } = request;
    const streams = (of: (step: number) => Rng) => Array.from({ length: horizon }, (_, step) => of(step));
    const { doubted, verdict, logProb, disagreement, ...columns } = await this.ensemble.rollout({
      ...rest,
      ...known,
      horizon,
      policy: policyWeights(policy),
      isTs1: propagation !== 'mean',
      isDeterministic: isModelDeterministic,
      withDisagreement: withDisagreement || request.disagreementLimit !== undefined,
      actRngs: streams(actRng),
      modelRngs: streams(modelRng),
    });
    const { rows, terminated } = columns;
    const count = (which: number) => verdict.reduce((sum, one) => sum + (one === which ? 1 : 0), 0);
    return {
      ...columns,
      truncated: verdict.map((one, row) => (one !== VERDICT.goesOn && terminated[row] === 0 ? 1 : 0)),
      ended: { terminated: count(VERDICT.terminated), outOfHorizon: count(VERDICT.outOfHorizon), doubted },
      ...(logProb.length === rows && !request.isPolicyDeterministic && { logProb }),
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
