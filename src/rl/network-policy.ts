// A network that acts: the acting session of an architecture, shared by every policy of that architecture,
// and the two policies over it, one whose weights go on changing and one frozen.

import { createHash } from 'node:crypto';
import type { Carry } from '../core/dynamics.js';
import { reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicyAction, PolicyNetwork } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { float32 } from '../nn/graph.js';
import { ParamLayout } from '../nn/parameters.js';
import { InferenceSession } from '../nn/runtime.js';
import { actingModel, noiseDim, type PolicyNet, policyNetwork, policyParams } from './policy-net.js';

export interface ActingOutputs {
  readonly action: Float32Array;
  readonly mean: Float32Array;
  readonly logProb: Float32Array;
  readonly raw: Float32Array;
  /** What is remembered from here on; of networks with a memory. */
  readonly carry?: Carry;
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

/** Short hash of an architecture and its parameters: equal versions act equally. */
export function weightsVersion(net: PolicyNet, theta: Float32Array): string {
  const bytes = new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength);
  return createHash('sha256').update(JSON.stringify(net)).update(bytes).digest('hex').slice(0, 12);
}

export class NetworkPolicy implements Policy {
  private versionOf: { theta: Float32Array; version: string } | undefined;
  private readonly session: InferenceSession;
  private readonly net: PolicyNet;
  private readonly weights: () => Float32Array;

  /** @param weights the parameters of the moment; a new array whenever they change */
  constructor(session: InferenceSession, net: PolicyNet, weights: () => Float32Array) {
    this.session = session;
    this.net = net;
    this.weights = weights;
  }

  static async load(net: PolicyNet, theta: Float32Array): Promise<NetworkPolicy> {
    const size = new ParamLayout(policyParams(net)).size;
    if (!(theta instanceof Float32Array) || theta.length !== size) {
      throw reverieError('MODEL_FILE_INVALID', {
        problem: `This is not a policy that can be loaded: ${`it has ${theta?.length} parameters where its network has ${size}`}.`,
        hint: 'Give the payload of a PolicySnapshot made by this version of reverie.',
      });
    }
    const session = await actingSession(net);
    return new NetworkPolicy(session, net, () => theta);
  }

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
