// What acts: a network (its weights go on changing, or are frozen), a random policy, and how either comes back in another thread.

import { sha256 } from '../core/canonical-json.js';
import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicyAction, PolicyNetwork, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { compiledUrl } from '../core/threads.js';
import { float32 } from '../nn/graph.js';
import { InferenceSession } from '../nn/runtime.js';
import { actingModel, noiseDim, type PolicyNet, policyNetwork, weightsVersion } from './policy-net.js';
import { type Actions, actionsOf } from './spaces.js';

export interface ActingOutputs {
  readonly action: Float32Array;
  readonly mean: Float32Array;
  readonly logProb: Float32Array;
  readonly raw: Float32Array;
}

// One session per architecture for the life of the thread: weights are an input, so none is re-created as they change.
const sessions = new Map<string, Promise<InferenceSession>>();

/** The acting session of an architecture. */
export function actingSession(net: PolicyNet): Promise<InferenceSession> {
  const key = JSON.stringify(net);
  let session = sessions.get(key);
  if (!session) {
    session = InferenceSession.fromBytes(actingModel(net));
    sessions.set(key, session);
  }
  return session;
}

export class NetworkPolicy implements Policy {
  private versionOf: { theta: Float32Array; version: string } | undefined;

  /** @param weights the parameters of the moment; a new array whenever they change */
  constructor(
    private readonly session: InferenceSession,
    private readonly net: PolicyNet,
    private readonly weights: () => Float32Array,
  ) {}

  get version(): string {
    const theta = this.weights();
    if (this.versionOf?.theta !== theta) this.versionOf = { theta, version: weightsVersion(this.net, theta) };
    return this.versionOf.version;
  }

  async act(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): Promise<PolicyAction> {
    const out = await this.outputs(obs, rows, rng, options);
    return options.deterministic ? { action: out.mean } : { action: out.action, logProb: out.logProb };
  }

  network(): PolicyNetwork {
    return policyNetwork(this.net, this.weights());
  }

  /** All outputs of the acting graph; draws rows * noiseDim numbers from `rng` unless deterministic. */
  async outputs(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): Promise<ActingOutputs> {
    const { net } = this;
    assertObs(obs, rows, net.obsDim);
    const width = noiseDim(net);
    const theta = this.weights();
    const { acted } = await this.session.run({
      theta: float32(theta),
      obs: float32(obs, [rows, net.obsDim]),
      noise: float32(drawNoise(net, rows * width, rng, options), [rows, width]),
    });
    return unpack(acted.data as Float32Array, rows, net.actions.dim);
  }
}

/** Columns of `actingModel`'s output. */
function unpack(acted: Float32Array, rows: number, dim: number): ActingOutputs {
  const width = 3 * dim + 1;
  const columns = (start: number, count: number) => {
    const out = new Float32Array(rows * count);
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < count; i++) out[row * count + i] = acted[row * width + start + i];
    }
    return out;
  };
  return { action: columns(0, dim), mean: columns(dim, dim), raw: columns(2 * dim, dim), logProb: columns(3 * dim, 1) };
}

function drawNoise(net: PolicyNet, count: number, rng: Rng, options: ActOptions): Float32Array {
  const noise = new Float32Array(count);
  if (options.deterministic) return net.actions.type === 'box' ? noise : noise.fill(0.5);
  return net.actions.type === 'box' ? rng.fillNormal(noise) : rng.fillUniform(noise, UNIFORM_LOW, UNIFORM_HIGH);
}

// In float32 the ends of (0, 1) would round to 0 and 1, whose double logarithm is infinite.
const UNIFORM_LOW = 1e-7;
const UNIFORM_HIGH = 1 - 1e-7;

function assertObs(obs: Float32Array, rows: number, obsDim: number): void {
  if (obs.length === rows * obsDim) return;
  throw reverieError('DATA_MISMATCH', {
    problem: `obs has ${obs.length} elements where ${rows * obsDim} are needed.`,
    hint: `This policy reads ${obsDim} numbers a row, and ${rows} rows were announced.`,
  });
}

/** Knows nothing: uniform over the action space. The baseline, and the explorer of the first steps. */
export class RandomPolicy implements Policy {
  readonly version: string;
  private readonly actions: Actions;

  /** @param space a Discrete, or a Box with finite bounds */
  constructor(private readonly space: VectorSpace) {
    this.actions = actionsOf(space);
    this.version = `random-${sha256(JSON.stringify(space)).slice(0, 8)}`;
  }

  /** A random policy has no mode: `deterministic` answers the middle of the Box, or the first action. */
  act(_obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): PolicyAction {
    const { actions } = this;
    const action = new Float32Array(rows * actions.dim);
    const logProb = new Float32Array(rows);
    if (actions.type === 'discrete') {
      for (let i = 0; i < rows; i++) action[i] = actions.start + (options.deterministic ? 0 : rng.int(actions.n));
      return { action, logProb: logProb.fill(-Math.log(actions.n)) };
    }
    const { dim, scale, bias } = actions;
    if (!options.deterministic) rng.fillUniform(action, -1, 1);
    for (let i = 0; i < action.length; i++) action[i] = bias[i % dim] + scale[i % dim] * action[i];
    return { action, logProb: logProb.fill(-scale.reduce((sum, s) => sum + Math.log(2 * s), 0)) };
  }

  snapshot(): PolicySnapshot {
    return { version: this.version, loader: LOADER, payload: { kind: 'random', space: this.space } satisfies Payload };
  }
}

// Snapshots for other threads: the module that every one of them names as its loader is this one.

const LOADER = compiledUrl(import.meta.url, './policies.js');

type Payload =
  | { readonly kind: 'network'; readonly net: PolicyNet; readonly theta: Float32Array }
  | { readonly kind: 'random'; readonly space: VectorSpace };

/** Copies `theta`; structured-clonable. */
export function networkSnapshot(net: PolicyNet, theta: Float32Array): PolicySnapshot {
  const payload = { kind: 'network', net, theta: theta.slice() } satisfies Payload;
  return { version: weightsVersion(net, theta), loader: LOADER, payload };
}

/** The policy of a snapshot that this module made. */
export async function loadPolicy(payload: unknown): Promise<Policy> {
  const value = payload as Payload;
  if (value.kind === 'random') return new RandomPolicy(value.space);
  return new NetworkPolicy(await actingSession(value.net), value.net, () => value.theta);
}
