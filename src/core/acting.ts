// A policy at work in some episodes side by side, with what it remembers of each. Whoever steps environments acts through this,
// and need not know whether a policy has a memory; one that has none costs nothing.

import { type Carry, exchangeRows, type FrozenCarry } from './dynamics.js';
import type { Awaitable } from './environment.js';
import type { ActOptions, PolicyAction, PolicyMemory } from './policy.js';
import type { Rng } from './rng.js';

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
