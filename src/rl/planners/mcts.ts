// Tree search over forks of a world model: UCT (Kocsis & Szepesvári 2006, ECML) for worlds where only so many things can be
// done. A node keeps the model's carry, so every branch goes on from exactly what came before; it needs `pick` and `imagine`
// alone, and so knows neither numbers nor typed states. All that can be done in a leaf is imagined, and played out, as one batch.

import type { Carry, Dynamics, Rows } from '../../core/dynamics.js';
import type { Rng } from '../../core/rng.js';

export interface MctsOptions {
  /** Leaves opened for one decision. */
  readonly simulations: number;
  /** Steps from the root that a branch is followed, playing out included. */
  readonly depth: number;
  /** Discount of a reward one step later. */
  readonly gamma: number;
  /** How much a branch that was seldom tried is worth trying, in units of the widest difference of values found. */
  readonly exploration: number;
}

export const MCTS_DEFAULTS: MctsOptions = { simulations: 64, depth: 20, gamma: 0.99, exploration: 1 };

/** What can be done, in one representation of the world. */
export interface Choices<C extends Carry, R extends Rows, Choice> {
  /** What can be done in a world's one row, as it was last observed; none: the episode is over. Same row, same list. */
  of(carry: C, observation: R['observations']): readonly Choice[];
  /** Choices as a batch of actions, a row each. */
  batch(choices: readonly Choice[]): R['actions'];
  /** Row `row` of a batch of observations, as a batch of one. */
  row(observations: R['observations'], row: number): R['observations'];
  /**
   * What a step that led to row `row` of `carry` is worth; its reward unless given. For worlds whose reward comes at the end
   * alone, and for exploring (state-counts.ts).
   */
  worth?(carry: C, row: number, reward: number): number;
}

interface Edge<C, O, Choice> {
  readonly choice: Choice;
  readonly reward: number;
  readonly isEnd: boolean;
  readonly carry: C;
  readonly observation: O;
  visits: number;
  /** Sum of discounted returns from here on, its reward included. */
  total: number;
  child: Node<C, O, Choice> | undefined;
}

interface Node<C, O, Choice> {
  edges: Edge<C, O, Choice>[];
  visits: number;
}

export class MctsPlanner<C extends Carry, R extends Rows, Choice> {
  private readonly options: MctsOptions;
  /** Least and largest return seen in the tree of the moment: what exploration is measured in (MuZero, 1911.08265, appendix B). */
  private least = Number.POSITIVE_INFINITY;
  private most = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly model: Dynamics<C, R>,
    private readonly choices: Choices<C, R, Choice>,
    options: Partial<MctsOptions> = {},
  ) {
    this.options = { ...MCTS_DEFAULTS, ...options };
  }

  /**
   * What to do in the world whose memory is the one row of `carry` and which last showed `observation`: the choice tried most,
   * the first of equals. Same carry and stream, same choice. Undefined where nothing can be done.
   */
  async plan(carry: C, observation: R['observations'], rng: Rng): Promise<Choice | undefined> {
    this.least = Number.POSITIVE_INFINITY;
    this.most = Number.NEGATIVE_INFINITY;
    const root = await this.opened(carry, observation, 0, rng.split('root'));
    for (let i = 1; i < this.options.simulations; i++) {
      if (!(await this.simulate(root, rng.split('simulation', i)))) break;
    }
    const most = Math.max(...root.edges.map(({ visits }) => visits));
    return root.edges.find(({ visits }) => visits === most)?.choice;
  }

  /** Walks down to a leaf, opens it, and tells the branch what it brought; false where nothing can be done at the root. */
  private async simulate(root: Node<C, R['observations'], Choice>, rng: Rng): Promise<boolean> {
    const path: Edge<C, R['observations'], Choice>[] = [];
    const nodes = [root];
    for (let node: Node<C, R['observations'], Choice> | undefined = root; node && node.edges.length > 0; ) {
      const edge = this.chosen(node);
      path.push(edge);
      node = edge.child;
      if (node) nodes.push(node);
    }
    const leaf = path.at(-1);
    if (leaf === undefined) return false;
    const { depth, gamma } = this.options;
    let value = 0;
    if (!leaf.isEnd && leaf.child === undefined && path.length < depth) {
      leaf.child = await this.opened(leaf.carry, leaf.observation, path.length, rng);
      const { edges } = leaf.child;
      // What one would do next is the best that was found, not the average of what could be done.
      if (edges.length > 0) value = Math.max(...edges.map(({ total }) => total));
    }
    for (let i = path.length - 1; i >= 0; i--) {
      value = path[i].reward + gamma * value;
      this.tell(path[i], value);
      nodes[i].visits++;
    }
    return true;
  }

  /** A node with an edge for all that can be done, each played out once at random. */
  private async opened(
    carry: C,
    observation: R['observations'],
    depth: number,
    rng: Rng,
  ): Promise<Node<C, R['observations'], Choice>> {
    const { choices, model } = this;
    const found = choices.of(carry, observation);
    if (found.length === 0) return { edges: [], visits: 0 };
    const forks = model.pick(carry, new Uint32Array(found.length));
    const step = await model.imagine(forks, choices.batch(found), rng.split('step'), {});
    const edges = found.map((choice, row): Edge<C, R['observations'], Choice> => {
      return {
        ...{
          choice,
          reward: this.worth(step.carry, row, step.reward[row]),
          isEnd: step.terminated[row] === 1,
          visits: 0,
          total: 0,
        },
        carry: model.pick(step.carry, Uint32Array.of(row)),
        observation: choices.row(step.observation, row),
        child: undefined,
      };
    });
    const values = await this.playedOut(edges, this.options.depth - depth - 1, rng.split('play'));
    for (const [row, edge] of edges.entries()) this.tell(edge, edge.reward + this.options.gamma * values[row]);
    return { edges, visits: edges.length };
  }

  /** What random play brings in after each edge, all edges as one batch. */
  private async playedOut(
    edges: readonly Edge<C, R['observations'], Choice>[],
    steps: number,
    rng: Rng,
  ): Promise<Float64Array> {
    const { choices, model } = this;
    const values = new Float64Array(edges.length);
    let live = [...edges.keys()].filter((row) => !edges[row].isEnd);
    let carries = live.map((row) => edges[row].carry);
    let seen = live.map((row) => edges[row].observation);
    for (let t = 0; t < steps && live.length > 0; t++) {
      const options = live.map((_, i) => choices.of(carries[i], seen[i]));
      const on = [...live.keys()].filter((i) => options[i].length > 0);
      if (on.length === 0) break;
      const actions = on.map((i) => options[i][rng.int(options[i].length)]);
      const asked = model.join(on.map((i) => carries[i]));
      const step = await model.imagine(asked, choices.batch(actions), rng.split('step', t), {});
      for (const [row, i] of on.entries()) {
        values[live[i]] += this.options.gamma ** t * this.worth(step.carry, row, step.reward[row]);
      }
      const going = [...on.keys()].filter((row) => step.terminated[row] === 0);
      carries = going.map((row) => model.pick(step.carry, Uint32Array.of(row)));
      seen = going.map((row) => choices.row(step.observation, row));
      live = going.map((row) => live[on[row]]);
    }
    return values;
  }

  private worth(carry: C, row: number, reward: number): number {
    return this.choices.worth?.(carry, row, reward) ?? reward;
  }

  /** By the upper bound of its value (UCB1), the first of equals. */
  private chosen(node: Node<C, R['observations'], Choice>): Edge<C, R['observations'], Choice> {
    const width = Math.max(this.most - this.least, 1e-9);
    const bound = ({ total, visits }: Edge<C, R['observations'], Choice>) =>
      total / visits + this.options.exploration * width * Math.sqrt(Math.log(node.visits + 1) / visits);
    return node.edges.reduce((best, edge) => (bound(edge) > bound(best) ? edge : best));
  }

  private tell(edge: Edge<C, R['observations'], Choice>, value: number): void {
    edge.visits++;
    edge.total += value;
    this.least = Math.min(this.least, value);
    this.most = Math.max(this.most, value);
  }
}

/** The choices of a discrete space of numbers, the same in every state. */
export function discreteChoices<C extends Carry>(
  { n, start }: { readonly n: number; readonly start: number },
  obsDim: number,
): Choices<C, { starts: Float32Array; observations: Float32Array; actions: Float32Array }, number> {
  const all = Array.from({ length: n }, (_, i) => start + i);
  return {
    of: () => all,
    batch: (choices) => Float32Array.from(choices),
    row: (observations, row) => observations.slice(row * obsDim, (row + 1) * obsDim),
  };
}
