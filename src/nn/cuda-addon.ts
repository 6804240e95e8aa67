// What the compiled addon (native/cuda/border/addon.cc) offers. Only cuda.ts calls it; here are its words.

/** Arithmetic of the products: float32, or tf32 (10 bits of mantissa) summed up in float32. */
export type Precision = 'fp32' | 'tf32';

/** How a device would run an ensemble. */
export interface DeviceFit {
  /** Why it cannot. */
  readonly problem?: string;
  /** What products would be computed in: float32 for layers wider than tensor cores are used for, whatever was asked. */
  readonly precision: Precision;
  /** Why that precision, where another was asked for. */
  readonly reason?: string;
}

/** One fully connected layer: w [in, out] row-major, b [out]. */
export interface LayerWeights {
  readonly in: number;
  readonly out: number;
  readonly w: Float32Array;
  readonly b: Float32Array;
}

/** One elite in normalised units; the head's columns are [mean | log-variance | logit of the end]. */
interface MemberWeights {
  readonly layers: readonly LayerWeights[];
  /** Bounds of the log-variance [outputDim]. */
  readonly logVarMin: Float32Array;
  readonly logVarMax: Float32Array;
}

export interface EnsembleWeights {
  readonly obsDim: number;
  readonly actionDim: number;
  /** Of a discrete action; 0 for a box. */
  readonly actionChoices: number;
  readonly actionStart: number;
  readonly learnsReward: boolean;
  readonly learnsTermination: boolean;
  readonly elites: readonly MemberWeights[];
  readonly inputMean: Float32Array;
  readonly inputScale: Float32Array;
  readonly targetMean: Float32Array;
  readonly targetScale: Float32Array;
  /** Bounds that next observations are clipped to, infinite for none: [obsDim]. */
  readonly low: Float32Array;
  readonly high: Float32Array;
}

export interface PolicyWeights {
  readonly head: 'squashed' | 'gaussian' | 'categorical';
  readonly activation: 'relu' | 'tanh' | 'swish';
  readonly layers: readonly LayerWeights[];
  /** Of a gaussian head only, else empty. */
  readonly logStd: Float32Array;
  /** Of a box, else empty: action = bias + scale * normalised, kept within [low, high]. */
  readonly scale: Float32Array;
  readonly bias: Float32Array;
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** Of a discrete action, else 0. */
  readonly choices: number;
  readonly start: number;
}

export interface GpuDescription {
  readonly name: string;
  readonly computeCapability: string;
  readonly multiprocessors: number;
  readonly memoryBytes: number;
  readonly sharedBytesPerBlock: number;
}

interface AddonStepOptions {
  readonly isTs1: boolean;
  readonly isDeterministic: boolean;
  readonly withDisagreement: boolean;
}

export interface AddonStepRequest extends AddonStepOptions {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  /** Four words a stream: key 0, key 1, position low, position high. */
  readonly streams: Uint32Array;
  readonly hasStreamPerRow: boolean;
}

/** Arrays that are written; undefined where an answer is not wanted or not learned. */
export interface AddonStepAnswer {
  readonly nextObs: Float32Array;
  readonly reward?: Float32Array;
  readonly terminated?: Uint8Array;
  readonly disagreement?: Float32Array;
}

/** Where a model is put: a kernel's device by its number, or the processor with its own threads and vectors of a width. */
interface AddonPlace {
  readonly kind: 'cuda' | 'emulated' | 'native';
  readonly ordinal: number;
  readonly fatbin: string;
  readonly threads: number;
  /** Name of the width; empty for the best there is. */
  readonly width: string;
}

export interface AddonEnsemble {
  readonly handle: number;
  readonly bytes: number;
  readonly device: GpuDescription;
  /** Rows, times elites that see each, that `stepNow` takes a few milliseconds for at most; 0: none. */
  readonly briefRows: number;
}

export interface AddonRolloutRequest extends AddonStepOptions {
  readonly branches: number;
  readonly starts: Float32Array;
  readonly horizon: number;
  readonly policy: PolicyWeights;
  readonly isPolicyDeterministic: boolean;
  /** Infinity for none. */
  readonly disagreementLimit: number;
  readonly dropsDoubted: boolean;
  /** Ids of the built-in environments whose known reward and end are used; empty where they are learned, or nothing ends. */
  readonly knownReward: string;
  readonly knownEnds: string;
  /** One a step. */
  readonly actStreams: Uint32Array;
  readonly modelStreams: Uint32Array;
}

/** Rows branch after branch, each branch's steps in order. */
export interface AddonRollout {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
  readonly nextObs: Float32Array;
  /** Empty where the policy gives none. */
  readonly logProb: Float32Array;
  /** Empty where it was not asked for. */
  readonly disagreement: Float32Array;
  /** 0 goes on, 1 terminated, 2 out of horizon, 3 doubted, 4: the row after it was doubted and dropped. */
  readonly verdict: Uint8Array;
  /** Whether the model said that the task ended. */
  readonly terminated: Uint8Array;
  readonly branch: Uint32Array;
  readonly step: Uint32Array;
  /** Dropped rows counted too. */
  readonly doubted: number;
  readonly nonFinite: number;
}

export interface AddonProbe {
  /** Empty where a GPU can be used; else what is missing. */
  readonly missing: string;
  /** The way out. */
  readonly hint: string;
  readonly driverVersion: number;
  readonly devices: readonly GpuDescription[];
}

/** Gradient steps of soft actor-critics by vector code; see native/cuda/processor/actor-critic.h for what each is. */
export interface ActorCriticShape {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly batchSize: number;
  readonly hidden: readonly number[];
  readonly activation: 'relu' | 'tanh' | 'swish';
  readonly criticLayerNorm: boolean;
  /** Critics of residual blocks, on observations scaled by what stands among the policy's parameters. */
  readonly isResidual: boolean;
  readonly tau: number;
  readonly rewardScale: number;
  /** Nats of the action normalised to [-1, 1]. */
  readonly targetEntropy: number;
  /** action = bias + scale * normalised, an element each. */
  readonly scale: Float32Array;
  readonly bias: Float32Array;
  /** Whether all learns together, by two critics; else critics and policy learn apart. */
  readonly isJoint: boolean;
  readonly critics: number;
  /** Of these, how many a step's targets go by. */
  readonly drawn: number;
  /** Share of hidden units left out. */
  readonly dropout: number;
}

/** Gradient steps of a member of an ensemble by vector code; see native/cuda/processor/member-update.h. */
export interface MemberTrainingShape {
  readonly inputDim: number;
  readonly outputDim: number;
  readonly batchSize: number;
  readonly hidden: readonly number[];
  readonly termination: boolean;
  readonly logVarPenalty: number;
}

type Arrays = Readonly<Record<string, Float32Array>>;
export type Feeds = Readonly<Record<string, Float32Array | Int32Array | Uint8Array>>;

export interface Addon {
  /** A learner, freed with the last reference to it. */
  makeActorCritic(shape: ActorCriticShape, width: string): object;
  /** Gradient steps, which change the arrays of `state` and `metrics`: of all, or of the critics or the policy, whichever `state` has. */
  runActorCritic(
    learner: object,
    steps: number,
    state: Arrays,
    inputs: Arrays,
    batches: Feeds,
    metrics: Arrays,
  ): Promise<void>;
  makeMember(shape: MemberTrainingShape, width: string): object;
  /** The same on rows chosen from `rows`. */
  runMember(learner: object, steps: number, state: Arrays, rows: Arrays, chosen: Feeds, metrics: Arrays): Promise<void>;
  probe(): Promise<AddonProbe>;
  fit(weights: EnsembleWeights, precision: Precision): DeviceFit;
  knows(environment: string, isReward: boolean, obsDim: number, actionDim: number): boolean;
  makeEnsemble(where: AddonPlace, weights: EnsembleWeights, precision: Precision): Promise<AddonEnsemble>;
  step(handle: number, request: AddonStepRequest, answer: AddonStepAnswer): Promise<void>;
  /** A step that is done when it returns; brief-step.ts knows what lies where. */
  stepNow(handle: number, exchange: ArrayBuffer, rows: number, choices: number): void;
  /** Widths of vectors that this processor has, best first. */
  widths(): string[];
  rollout(handle: number, request: AddonRolloutRequest): Promise<AddonRollout>;
  close(handle: number): Promise<void>;
}
