// Games or pages held elsewhere, each where it was left, so that who goes on there need not have it played again.

/** `M`: what is known of a moment of a game. */
export interface Seat<M> {
  /** Its id where it is held. */
  readonly object: string;
  /** Where its game stands. */
  moment: M;
  /** When it was left; the first is 1. */
  left: number;
}

export class SeatPool<M extends { readonly done: boolean }> {
  /** By the place where their games stand; several may stand at the same. */
  private readonly standing = new Map<string, Seat<M>[]>();
  /** Those whose game nobody goes on with. */
  private idle: Seat<M>[] = [];
  private count = 0;
  private clock = 0;

  /**
   * @param make makes another one where they are held, and answers its id there
   * @param nowhere the moment of a game that has not begun
   */
  constructor(
    private readonly size: number,
    private readonly make: () => string,
    private readonly nowhere: M,
  ) {}

  /** One whose game stands there; it is nobody else's then. */
  take(place: string): Seat<M> | undefined {
    return this.standing.get(place)?.pop();
  }

  /** One that can begin any game: idle, new, or the one that was left longest ago. */
  free(): Seat<M> {
    return this.idle.pop() ?? (this.count < this.size ? this.made() : this.oldest());
  }

  leave(seat: Seat<M>, place: string, moment: M): void {
    if (moment.done) {
      this.retire(seat);
      return;
    }
    seat.moment = moment;
    seat.left = ++this.clock;
    const there = this.standing.get(place);
    if (there === undefined) this.standing.set(place, [seat]);
    else there.push(seat);
    if (this.standing.size > 4 * this.size) this.sweep();
  }

  /** Its game is over, or of no more use. */
  retire(seat: Seat<M>): void {
    this.idle.push(seat);
  }

  /** It was taken, and will not come back. */
  lost(): void {
    this.count--;
  }

  /** What held them is no more. */
  forget(): void {
    this.standing.clear();
    this.idle = [];
    this.count = 0;
  }

  private made(): Seat<M> {
    const object = this.make();
    this.count++;
    return { object, moment: this.nowhere, left: 0 };
  }

  private oldest(): Seat<M> {
    const places = [...this.standing.values()].filter((seats) => seats.length > 0);
    // At any place the one that came first was left first.
    return places.reduce((a, b) => (b[0].left < a[0].left ? b : a)).shift()!;
  }

  private sweep(): void {
    for (const [place, seats] of this.standing) if (seats.length === 0) this.standing.delete(place);
  }
}
