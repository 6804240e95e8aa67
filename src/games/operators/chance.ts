// Whether what held in each of n tries held there by chance. Of all ways in which the action could have been tried in the states that were
// seen, the other conditions being met, it holds in a share q. Were it not needed, all n tries would have it with a probability of q to
// the power of n; tries on the same objects of the same scene count as one. Where q is 1 it follows from the others: it is so in every
// state that was seen.

import { Situation } from '../../worldmodel/situation.js';
import type { Condition } from './conditions.js';
import { eachGrounding } from './groundings.js';
import { isVariable, truthOf } from './literal.js';
import { lazyBindingOf } from './operator.js';
import { type Frame, type Offer, spread, type Transition } from './tries.js';

/** States that are looked at: of the action's own tries, of their scenes, and of all. */
const STATES = { own: 60, near: 120, all: 120, further: 1500 };
/** Ways to try the action in one state that are looked at. */
const MOST_WAYS = 400;

export class Chances {
  private readonly some: readonly Situation[];
  private readonly more: readonly Situation[];
  private readonly every: readonly Situation[];
  /** Tries that tell something of their own. */
  private readonly count: number;

  constructor(
    private readonly frame: Frame,
    transitions: readonly Transition[],
  ) {
    const accepted: Offer[] = [...frame.tries.accepted, ...frame.tries.offered];
    const scenes = new Set(accepted.map(({ before }) => before.scene));
    const distinct = transitions.filter(({ before }, i) => i === 0 || transitions[i - 1].before !== before);
    const situation = ({ scene, before }: Transition) => new Situation(scene, before);
    const near = distinct.filter(({ scene }) => scenes.has(scene));
    this.some = [
      ...spread(accepted, STATES.own).map(({ before }) => before),
      ...spread(near, STATES.near).map(situation),
      ...spread(distinct, STATES.all).map(situation),
    ];
    this.more = spread(near, STATES.further).map(situation);
    this.every = distinct.map(situation);
    const numbers = new Map([...scenes].map((scene, i) => [scene, i]));
    this.count = new Set(accepted.map(({ before, objects }) => [numbers.get(before.scene), ...objects].join())).size;
  }

  /** Whether it holds wherever the others do. */
  follows(condition: Condition, others: readonly Condition[]): boolean {
    return this.isAlways(condition, others, this.some) && this.isAlways(condition, others, this.more);
  }

  /** Looks no further than the first way in which it does not hold. */
  private isAlways(condition: Condition, others: readonly Condition[], states: readonly Situation[]): boolean {
    let so = true;
    this.visit(states, others, (holds) => {
      so = holds(condition);
      return so;
    });
    return so;
  }

  /** The share of ways in which the condition holds where the others do; 1 where there are none. */
  share(condition: Condition, others: readonly Condition[], states = this.some): number {
    let [all, so] = [0, 0];
    this.visit(states, others, (holds) => {
      all += 1;
      if (holds(condition)) so += 1;
      return true;
    });
    return all === 0 ? 1 : so / all;
  }

  /** In every state that was seen, each way in which all of `met` hold: which of `asked` hold then. */
  ways(met: readonly Condition[], asked: readonly Condition[]): Uint8Array[] {
    const found: Uint8Array[] = [];
    this.visit(this.every, met, (holds) => found.push(Uint8Array.from(asked, (one) => Number(holds(one)))) > 0);
    return found;
  }

  /** The probability that all tries have by chance what holds in such a share of ways. */
  byChance(share: number): number {
    return share ** this.count;
  }

  private visit(
    states: readonly Situation[],
    met: readonly Condition[],
    found: (holds: (condition: Condition) => boolean) => boolean,
  ): void {
    const { tries, variables } = this.frame;
    const { parameters } = tries.action;
    const names = new Set(parameters.map(({ name }) => name));
    const byName = new Map(variables.map((variable) => [variable.name, variable]));
    const isJoined = ({ literal: { negated, predicate, args } }: Condition) =>
      !negated && predicate !== '=' && args.every((arg) => !isVariable(arg) || names.has(arg));
    const joined = met.filter(isJoined).map(({ literal }) => literal);
    const checked = met.filter((one) => !isJoined(one)).map(({ literal }) => literal);
    let goesOn = true;
    for (const at of states) {
      if (!goesOn) return;
      eachGrounding(at, parameters, joined, MOST_WAYS, (objects) => {
        const binding = lazyBindingOf(parameters, byName, objects, at);
        if (!checked.every((literal) => truthOf(literal, binding, at) === true)) return true;
        goesOn = found(({ literal }) => truthOf(literal, binding, at) === true);
        return goesOn;
      });
    }
  }
}
