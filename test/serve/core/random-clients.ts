// Clients that do at random what clients do, and write down what they were answered: see sequential-model.test.ts.

import { ReverieError } from '../../../src/core/errors.js';
import type { Rng } from '../../../src/core/rng.js';
import type { Turn } from '../../../src/serve/core/session-contract.js';
import type { Sessions } from '../../../src/serve/core/sessions.js';

/** What a session should be, if everything that was answered happened in the order of its answers and nothing else did. */
export interface Model {
  readonly seed: number;
  readonly actions: readonly string[];
  /** Other seeds that forks were given, after so many actions. */
  readonly reseeded: readonly { readonly at: number; readonly seed: number }[];
}

export interface Entry {
  readonly id: string;
  readonly what: string;
  readonly model: Model;
  readonly turn: Turn;
}

export interface Tally {
  readonly entries: Entry[];
  readonly outcomes: Map<string, number>;
}

const OWNERS = ['ada', 'bo'];

interface Held {
  readonly id: string;
  readonly owner: string;
  model: Model | undefined;
  snapshots: { readonly id: string; readonly model: Model }[];
  last: { readonly requestId: string; readonly action: string; readonly turn: Turn } | undefined;
}

/** One client: `operations` in a row, over sessions of its own. */
export class RandomClient {
  private readonly held: Held[] = [];
  private readonly owner: string;
  private asked = 0;

  constructor(
    private readonly table: Sessions,
    private readonly rng: Rng,
    private readonly name: number,
    private readonly tally: Tally,
    private readonly episodeLength: number,
  ) {
    this.owner = OWNERS[name % OWNERS.length];
  }

  async live(operations: number): Promise<void> {
    for (let i = 0; i < operations; i++) {
      try {
        await this.operate();
      } catch (error) {
        this.count(error instanceof ReverieError ? error.code : String((error as Error).message ?? error));
      }
    }
    for (const { id, owner } of this.held) await this.table.close(id, owner).catch(() => {});
  }

  private async operate(): Promise<void> {
    const held = this.held.length > 0 ? this.held[this.rng.int(this.held.length)] : undefined;
    const draw = this.rng.uniform();
    if (held === undefined || (draw < 0.06 && this.held.length < 4)) return this.open();
    if (draw < 0.12) return this.close(held);
    if (draw < 0.16) return this.fork(held);
    if (draw < 0.2) return this.group();
    if (draw < 0.26) return this.save(held);
    if (draw < 0.32) return this.restore(held);
    if (draw < 0.36) return this.lookAt(held);
    if (draw < 0.42) return this.race(held);
    if (held.model === undefined || held.model.actions.length >= this.episodeLength || draw < 0.48)
      return this.reset(held);
    return this.step(held);
  }

  private open(): void {
    const { id } = this.table.open({ owner: this.owner });
    this.hold(id);
    this.count('open');
  }

  private async close(held: Held): Promise<void> {
    this.held.splice(this.held.indexOf(held), 1);
    await this.table.close(held.id, held.owner);
    this.count('close');
  }

  private async reset(held: Held): Promise<void> {
    const seed = this.rng.int(1_000_000);
    const requestId = this.rng.uniform() < 0.5 ? this.requestId() : undefined;
    const ask = () => this.table.reset(held.id, { seed, requestId }, held.owner);
    const turn = await this.sentTwice(ask, requestId);
    held.model = { seed, actions: [], reseeded: [] };
    this.note(held, 'reset', turn);
  }

  /** Asked once or, as clients do whose connection broke, twice: at once or after the answer. */
  private async step(held: Held): Promise<void> {
    const action = this.action();
    const requestId = this.rng.uniform() < 0.6 ? this.requestId() : undefined;
    const model = held.model!;
    const client = new AbortController();
    const timeoutSeconds = this.rng.uniform() < 0.1 ? 0.002 : undefined;
    if (this.rng.uniform() < 0.1) setImmediate(() => client.abort('client left'));
    const ask = () => this.table.step(held.id, { action, requestId, timeoutSeconds }, held.owner, client.signal);
    const turn = await this.sentTwice(ask, requestId);
    held.model = { ...model, actions: [...model.actions, action] };
    this.note(held, 'step', turn);
    const { last } = held;
    if (last !== undefined) {
      const old = await this.table.step(held.id, last, held.owner);
      if (old !== last.turn) throw new Error('a repeated step was answered otherwise');
      this.count('repeated');
    }
    held.last = requestId === undefined ? last : { requestId, action, turn };
  }

  /** Two steps at once: they happen one after another, in the order of asking. */
  private async race(held: Held): Promise<void> {
    const { model } = held;
    if (model === undefined || model.actions.length + 2 > this.episodeLength) return;
    const actions = [this.action(), this.action()];
    const outcomes = await Promise.allSettled(
      actions.map((action) => this.table.step(held.id, { action }, held.owner)),
    );
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') {
        this.count(outcome.reason instanceof ReverieError ? outcome.reason.code : 'failed');
        continue;
      }
      held.model = { ...held.model!, actions: [...held.model!.actions, actions[i]] };
      this.note(held, 'race', outcome.value);
    }
  }

  private async save(held: Held): Promise<void> {
    const { model } = held;
    const { id } = await this.table.snapshot(held.id, held.owner);
    if (model !== undefined) held.snapshots.push({ id, model });
    this.count('snapshot');
  }

  private async restore(held: Held): Promise<void> {
    if (held.snapshots.length === 0) return;
    const { id, model } = held.snapshots[this.rng.int(held.snapshots.length)];
    const turn = await this.table.restore(held.id, id, held.owner);
    held.model = model;
    this.note(held, 'restore', turn);
  }

  private async fork(held: Held): Promise<void> {
    const seeds = this.rng.uniform() < 0.5 ? [this.rng.int(1000), this.rng.int(1000)] : undefined;
    const forks = await this.table.fork(held.id, 2, held.owner, { seeds });
    for (const [i, { id }] of forks.entries()) this.adopt(id, this.parted(held.model!, seeds?.[i]), 'fork');
  }

  private async group(): Promise<void> {
    const seed = this.rng.int(1_000_000);
    const seeds = this.rng.uniform() < 0.5 ? [this.rng.int(1000), this.rng.int(1000)] : undefined;
    const members = await this.table.openGroup({ count: 2, owner: this.owner, seeds }, { seed });
    const model = { seed, actions: [], reseeded: [] };
    for (const [i, { session }] of members.entries()) this.adopt(session.id, this.parted(model, seeds?.[i]), 'group');
  }

  private async lookAt(held: Held): Promise<void> {
    if (held.model === undefined) return;
    this.note(held, 'observe', this.table.observe(held.id, held.owner));
  }

  private async sentTwice(ask: () => Promise<Turn>, requestId: string | undefined): Promise<Turn> {
    if (requestId === undefined) return ask();
    const [turn, again] = await Promise.all([ask(), ask()]);
    if (turn !== again || turn !== (await ask())) throw new Error('a repeated request was answered otherwise');
    return turn;
  }

  private parted(model: Model, seed: number | undefined): Model {
    if (seed === undefined) return model;
    return { ...model, reseeded: [...model.reseeded, { at: model.actions.length, seed }] };
  }

  private adopt(id: string, model: Model, what: string): void {
    const held = this.hold(id);
    held.model = model;
    this.note(held, what, this.table.observe(id, this.owner));
    // Clients that keep every fork would soon hold all slots.
    if (this.held.length > 6) void this.table.close(this.held.shift()!.id, this.owner);
  }

  private hold(id: string): Held {
    const held: Held = { id, owner: this.owner, model: undefined, snapshots: [], last: undefined };
    this.held.push(held);
    return held;
  }

  private note(held: Held, what: string, turn: Turn): void {
    this.count(what);
    this.tally.entries.push({ id: held.id, what, model: held.model!, turn });
  }

  private count(what: string): void {
    this.tally.outcomes.set(what, (this.tally.outcomes.get(what) ?? 0) + 1);
  }

  private action(): string {
    return `add ${this.rng.int(100)}`;
  }

  private requestId(): string {
    return `${this.name}-${this.asked++}`;
  }
}
