// What to try next: a bandit over moves, and evolution over runs of them. Moves on their own come first; then what did best is
// made longer, shorter or otherwise, with moves that did well (UCB1) more often. Nothing is asked of a model here.

import type { Rng } from '../../core/rng.js';
import type { Move } from './moves.js';

export interface Attempt {
  readonly moves: readonly Move[];
}

interface Tried extends Attempt {
  readonly score: number;
}

/** Longer runs are no trick but work. */
const LONGEST = 5;
const PARENTS = 3;

/** What moves were worth, by name, over all tasks. */
export class MoveCredit {
  private readonly credit = new Map<string, { plays: number; sum: number }>();
  private plays = 0;

  add(moves: readonly Move[], score: number): void {
    for (const name of new Set(moves.map((move) => move.name))) {
      const known = this.credit.get(name) ?? { plays: 0, sum: 0 };
      this.credit.set(name, { plays: known.plays + 1, sum: known.sum + score });
      this.plays++;
    }
  }

  /** UCB1 (Auer et al. 2002); what was never tried comes before all else. */
  bound(name: string): number {
    const known = this.credit.get(name);
    if (known === undefined) return Number.POSITIVE_INFINITY;
    return known.sum / known.plays + Math.sqrt((2 * Math.log(this.plays)) / known.plays);
  }

  /** Mean score; 0 of what was never tried. */
  mean(name: string): number {
    const known = this.credit.get(name);
    return known === undefined ? 0 : known.sum / known.plays;
  }
}

export class TrickSearch {
  private readonly tried: Tried[] = [];
  private readonly seen = new Set<string>();
  private readonly single: Move[];

  constructor(
    private readonly moves: readonly Move[],
    private readonly credit: MoveCredit,
    private readonly rng: Rng,
  ) {
    const order = new Map(moves.map((move) => [move, rng.uniform()]));
    const worth = (move: Move) => credit.mean(move.name);
    this.single = [...moves].sort((a, b) => worth(b) - worth(a) || order.get(a)! - order.get(b)!);
  }

  /** Up to `count` attempts that were not made before. */
  ask(count: number): Attempt[] {
    const asked: Attempt[] = [];
    for (let tries = 0; asked.length < count && tries < 20 * count; tries++) {
      const moves = this.next();
      const key = JSON.stringify(moves.map(({ name }) => name));
      if (this.seen.has(key)) continue;
      this.seen.add(key);
      asked.push({ moves });
    }
    return asked;
  }

  tell(attempt: Attempt, score: number): void {
    this.tried.push({ ...attempt, score });
    this.tried.sort((a, b) => b.score - a.score || a.moves.length - b.moves.length);
    this.credit.add(attempt.moves, score);
  }

  /** Every second attempt is a move on its own while there are any left, so that good ones are soon combined. */
  private next(): readonly Move[] {
    const isEarly = this.tried.length === 0 || this.rng.uniform() < 0.5;
    if (this.single.length > 0 && isEarly) return [this.single.shift()!];
    if (this.tried.length === 0) return [this.drawn()];
    const parent = this.tried[this.rng.int(Math.min(PARENTS, this.tried.length))].moves;
    return this.changed(parent);
  }

  private changed(parent: readonly Move[]): readonly Move[] {
    const at = this.rng.int(parent.length);
    const draw = this.rng.uniform();
    if (draw < 0.6 && parent.length < LONGEST) {
      const place = this.rng.int(parent.length + 1);
      return [...parent.slice(0, place), this.drawn(), ...parent.slice(place)];
    }
    if (draw < 0.8 && parent.length > 1) return parent.filter((_, i) => i !== at);
    return parent.map((move, i) => (i === at ? this.drawn() : move));
  }

  /** The best of three by their bound: not always the same one. */
  private drawn(): Move {
    const three = Array.from({ length: 3 }, () => this.moves[this.rng.int(this.moves.length)]);
    return three.reduce((best, move) => (this.credit.bound(move.name) > this.credit.bound(best.name) ? move : best));
  }
}
