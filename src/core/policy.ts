// What acts: declared here so that rooms which run policies need not know how one is learnt.

import { type Carry, exchangeRows, type FrozenCarry, type Memory } from './dynamics.js';
import type { Awaitable } from './environment.js';
import type { Rng } from './rng.js';

export interface PolicyAction {
  /** [rows, actionDim], row-major; a discrete action is one element. */
  readonly action: Float32Array;
  /** Log-probability (density for continuous actions) of each row's action; absent for deterministic policies. */
  readonly logProb?: Float32Array;
  /** What it remembers from here on; of policies with a memory. */
  readonly carry?: Carry;
}

export interface ActOptions {
  /** Take the mode instead of sampling. */
  readonly deterministic?: boolean;
  /** What it remembers of these rows; without it a policy with a memory acts as at the first step of an episode. */
  readonly carry?: Carry;
}

/** What a policy has that remembers. A memory that is frozen names the policy's version. */
export interface PolicyMemory extends Memory<Carry> {
  /** Of so many episodes, before their first observation. */
  begin(rows: number): Carry;
}

/** One fully connected layer: w [in, out] row-major, b [out]. */
interface NetworkLayer {
  readonly in: number;
  readonly out: number;
  readonly w: Float32Array;
  readonly b: Float32Array;
}

/** How a network's outputs become actions. */
type NetworkActions =
  | {
      readonly type: 'box';
      /** action = bias + scale * normalised, kept within [low, high]; normalised in [-1, 1]. */
      readonly scale: readonly number[];
      readonly bias: readonly number[];
      readonly low: readonly number[];
      readonly high: readonly number[];
    }
  | { readonly type: 'discrete'; readonly n: number; readonly start: number };

/**
 * A policy as a network, for code that runs it outside of `act`: `squashed` is the tanh of a Gaussian whose mean and
 * log standard deviation are the outputs, `gaussian` has its mean from the network and `logStd` of its own, `categorical`
 * has logits. Noise is drawn as `act` draws it: one word a box's element, or a choice.
 */
export interface PolicyNetwork {
  readonly head: 'squashed' | 'gaussian' | 'categorical';
  readonly activation: 'relu' | 'tanh' | 'swish';
  readonly layers: readonly NetworkLayer[];
  readonly logStd?: Float32Array;
  readonly actions: NetworkActions;
}

/** A batched vector policy; without a state of its own: all randomness comes from `rng`, all memory from a carry. */
export interface Policy {
  /** Identifies the exact weights; recorded with every transition. */
  readonly version: string;
  /** Absent in policies that act on the last observation alone. `Acting` (acting.ts) keeps it where environments are stepped. */
  readonly memory?: PolicyMemory;
  /** obs [rows, obsDim] to actions; the same inputs and rng state give the same bytes. */
  act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Awaitable<PolicyAction>;
  /** What `act` computes, as a network; absent where it is none, or remembers. */
  network?(): PolicyNetwork;
}

/**
 * A policy frozen for other threads: structured-clonable. `loader` is the URL of a module of ours whose export
 * `loadPolicy(payload): Promise<Policy>` revives it, so that a worker needs no import of the room that made it.
 */
export interface PolicySnapshot {
  readonly version: string;
  readonly loader: string;
  readonly payload: unknown;
}

/** A policy, or a learner that acts and answers more than an action. */
export interface Actor<Acted extends { readonly carry?: Carry }> {
  readonly memory?: PolicyMemory;
  act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Awaitable<Acted>;
}

export class Acting<Acted extends { readonly carry?: Carry } = PolicyAction> {
  private carry: Carry | undefined;

  /** @param rows episodes side by side, all at their beginning */
  constructor(
    private readonly actor: Actor<Acted>,
    private rows: number,
  ) {
    this.carry = actor.memory?.begin(rows);
  }

  /** What to do at obs [rows, obsDim]. */
  async act(obs: Float32Array, rng: Rng, options: ActOptions = {}): Promise<Acted> {
    const { actor, carry, rows } = this;
    if (carry === undefined) return actor.act(obs, rows, rng, options);
    const acted = await actor.act(obs, rows, rng, { ...options, carry });
    this.carry = acted.carry;
    return acted;
  }

  /** These rows go on, in this order; the others are over. */
  keep(rows: Uint32Array): void {
    this.rows = rows.length;
    if (this.carry !== undefined) this.carry = this.actor.memory!.pick(this.carry, rows);
  }

  /** In these rows an episode begins. */
  restart(rows: Uint32Array): void {
    const { memory } = this.actor;
    if (this.carry === undefined || rows.length === 0) return;
    this.carry = exchangeRows(memory!, this.carry, rows, memory!.begin(rows.length));
  }

  /** What is remembered, to go on from; undefined without a memory. */
  freeze(): FrozenCarry | undefined {
    return this.carry && this.actor.memory!.freeze(this.carry);
  }

  /** @throws SNAPSHOT_MISMATCH for what another version remembered */
  revive(frozen: FrozenCarry): void {
    if (this.actor.memory !== undefined) this.carry = this.actor.memory.revive(frozen);
  }
}
