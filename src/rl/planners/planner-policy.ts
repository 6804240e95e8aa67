// A planner as a policy: it plans anew in a world model at every step of an episode. What it remembers is the model's memory of
// the episode, what it did last, and the plan that the next one begins with; so it can be forked, kept and gone on with.

import type { Carry, FrozenCarry } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import { sha256 } from '../../core/hash.js';
import type { ActOptions, Policy, PolicyAction, PolicyMemory } from '../../core/policy.js';
import type { Rng } from '../../core/rng.js';
import { CemPlanner } from './cem.js';
import { IcemPlanner } from './icem.js';
import { MppiPlanner } from './mppi.js';
import type { NumericDynamics, Plan, Shooting, ShootingOptions } from './shooting.js';

const METHODS = { cem: CemPlanner, icem: IcemPlanner, mppi: MppiPlanner };

export type PlannerMethod = keyof typeof METHODS;

/** Begins what every planned policy's version does. */
export const PLANNED = 'planned-';

interface Episode<C extends Carry> {
  /** The model's memory of the step before, and what was done then; undefined before the first step. */
  readonly before?: { readonly carry: C; readonly action: Float32Array; readonly plan: Plan };
}

interface Episodes<C extends Carry> extends Carry {
  readonly episodes: readonly Episode<C>[];
}

/** Numbers as they are kept: JSON-safe. */
interface FrozenEpisode {
  readonly carry: FrozenCarry;
  readonly action: readonly number[];
  readonly mean: readonly number[];
  readonly kept: readonly (readonly number[])[];
}

export class PlannerPolicy<C extends Carry> implements Policy {
  readonly version: string;
  private readonly planner: Shooting<C, ShootingOptions>;

  /** @throws SPACE_UNSUPPORTED for actions that are no box with finite bounds */
  constructor(
    private readonly model: NumericDynamics<C>,
    method: PlannerMethod,
    options: Partial<ShootingOptions> = {},
  ) {
    this.planner = new METHODS[method](model, options) as unknown as Shooting<C, ShootingOptions>;
    const asked = sha256(JSON.stringify([method, options])).slice(0, 8);
    this.version = `${PLANNED}${method}-${model.modelVersion.slice(0, 12)}-${asked}`;
  }

  readonly memory: PolicyMemory = {
    begin: (rows): Episodes<C> => ({ rows, episodes: Array.from({ length: rows }, () => ({})) }),
    pick: (carry, rows) => ({ rows: rows.length, episodes: Array.from(rows, (row) => episodesOf<C>(carry)[row]) }),
    join: (carries) => {
      const episodes = carries.flatMap((carry) => episodesOf<C>(carry));
      return { rows: episodes.length, episodes };
    },
    freeze: (carry) => ({ version: this.version, state: episodesOf<C>(carry).map((one) => this.frozen(one)) }),
    revive: ({ version, state }) => {
      if (version !== this.version)
        throw reverieError('SNAPSHOT_MISMATCH', { from: `a policy ${version}`, into: `a policy ${this.version}` });
      const episodes = (state as (FrozenEpisode | null)[]).map((one) => this.revived(one));
      return { rows: episodes.length, episodes };
    },
  };

  /** One row after the other, each from a stream of its own. */
  async act(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): Promise<PolicyAction> {
    const carry = options.carry ?? this.memory.begin(rows);
    const width = obs.length / rows;
    const stream = rng.split('plan', rng.uint32());
    const episodes: Episode<C>[] = [];
    for (const [row, { before }] of episodesOf<C>(carry).entries()) {
      const seen = obs.slice(row * width, (row + 1) * width);
      const own = stream.split(row);
      const here = before
        ? await this.model.follow(before.carry, before.action, seen)
        : await this.model.begin(seen, own.split('begin'));
      const { action, next } = await this.planner.decide(here, before?.plan, own);
      episodes.push({ before: { carry: here, action, plan: next } });
    }
    const done: Episodes<C> = { rows, episodes };
    const dim = episodes[0].before!.action.length;
    const action = new Float32Array(rows * dim);
    for (const [row, { before }] of episodes.entries()) action.set(before!.action, row * dim);
    return { action, carry: done };
  }

  private frozen({ before }: Episode<C>): FrozenEpisode | null {
    if (before === undefined) return null;
    const { action, carry, plan } = before;
    const kept = plan.kept.map((sequence) => [...sequence]);
    return { carry: this.model.freeze(carry), action: [...action], mean: [...plan.mean], kept };
  }

  private revived(frozen: FrozenEpisode | null): Episode<C> {
    if (frozen === null) return {};
    const plan = {
      mean: Float64Array.from(frozen.mean),
      kept: frozen.kept.map((sequence) => Float64Array.from(sequence)),
    };
    return { before: { carry: this.model.revive(frozen.carry), action: Float32Array.from(frozen.action), plan } };
  }
}

function episodesOf<C extends Carry>(carry: Carry): readonly Episode<C>[] {
  return (carry as Episodes<C>).episodes;
}
