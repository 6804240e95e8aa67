// Plays of games in a Java process. Such a game cannot be saved, so what brings a moment of it back are the commands that led there:
// the process holds several games, each where it was left, and one that is wanted elsewhere is played again from its beginning.

import { LRUCache } from 'lru-cache';
import { reverieError } from '../../core/errors.js';
import { type Seat, SeatPool } from '../replayed/seat-pool.js';
import type { JavaForm, JavaMoment, PlayedGame } from './java-form.js';
import { JavaDied, type JavaMachine, JavaThrown } from './java-machine.js';

/** Processes that may end in a row on one request. */
const DEATHS = 3;
/** Times that a game which throws is played. */
const TRIES = 2;
/** Moments that are remembered, so that a game played again is known to have come out there. */
const MOMENTS = 1_024;

export class JavaPlays<G extends PlayedGame> {
  private readonly pools: { readonly shared: SeatPool<JavaMoment>; readonly isolated: SeatPool<JavaMoment> };
  private readonly moments = new LRUCache<string, JavaMoment>({ max: MOMENTS });
  /** In the hands of the request that is being answered. */
  private taken: { readonly seat: Seat<JavaMoment>; readonly pool: SeatPool<JavaMoment> } | undefined;

  /** @param jar which the games' classes come from */
  constructor(
    private readonly machine: Pick<JavaMachine, 'make' | 'call' | 'drop' | 'close'>,
    private readonly form: JavaForm<G>,
    jar: string,
  ) {
    const { className, seats } = form;
    const pool = (size: number, own: boolean) => new SeatPool(size, () => machine.make(className, jar, own), NOWHERE);
    this.pools = { shared: pool(seats.shared, false), isolated: pool(seats.isolated, true) };
  }

  /** @throws JAVA_GAME_FAILED, JAVA_DIED, JAVA_MISSING */
  begin(game: G): JavaMoment & { readonly goal: string } {
    return this.surviving(game, 'its beginning', () => {
      const seat = this.freeSeat(game);
      const { calls, read } = this.form.begin(game);
      const begun = sound(read(this.machine.call(seat.object, calls)));
      this.leave(keyOf(game, []), begun);
      return begun;
    });
  }

  /** What follows a command, after the commands before it. @throws as `begin`, JAVA_GAME_NOT_REPEATABLE */
  step(game: G, history: readonly string[], text: string): JavaMoment {
    return this.surviving(game, `command ${history.length + 1}, "${text}"`, () => {
      const seat = this.seatAt(game, history);
      const { calls, read } = this.form.step(text, seat.moment);
      const moment = sound(read(this.machine.call(seat.object, calls)));
      this.leave(keyOf(game, moment.isIdle ? history : [...history, text]), moment);
      return moment;
    });
  }

  /** Commands that do something after these. @throws as `step` */
  admissible(game: G, history: readonly string[]): readonly string[] {
    const key = keyOf(game, history);
    const known = this.moments.get(key)?.admissible;
    if (known !== undefined) return known;
    return this.surviving(game, `its commands after ${history.length}`, () => {
      const seat = this.seatAt(game, history);
      const asked = this.form.admissible?.();
      const admissible = asked?.read(this.machine.call(seat.object, asked.calls)) ?? seat.moment.admissible ?? [];
      this.leave(key, { ...seat.moment, admissible });
      return admissible;
    });
  }

  /** Commands that win, as the game's authors play it. @throws as `begin` */
  walkthrough(game: G): readonly string[] {
    return this.surviving(game, 'its walkthrough', () => {
      const seat = this.freeSeat(game);
      const { calls, read } = this.form.walkthrough(game);
      const commands = read(this.machine.call(seat.object, calls));
      this.taken?.pool.retire(seat);
      this.taken = undefined;
      return commands;
    });
  }

  close(): void {
    this.forget();
    this.moments.clear();
    this.machine.close();
  }

  /** A game standing there, which nobody else has. */
  private seatAt(game: G, history: readonly string[]): Seat<JavaMoment> {
    const key = keyOf(game, history);
    const pool = this.poolOf(game);
    const there = pool.take(key);
    if (there !== undefined) {
      this.taken = { seat: there, pool };
      return there;
    }
    const seat = this.freeSeat(game);
    seat.moment = this.playedAgain(seat, game, history);
    const seen = this.moments.get(key);
    if (seen !== undefined && !isSame(seen, seat.moment)) {
      throw reverieError('JAVA_GAME_NOT_REPEATABLE', { game: game.id, steps: history.length });
    }
    return seat;
  }

  /** All at once, so that it takes one turn of waiting however long it was. */
  private playedAgain(seat: Seat<JavaMoment>, game: G, history: readonly string[]): JavaMoment {
    const begin = this.form.begin(game);
    const calls = [begin.calls, ...history.map((text) => this.form.step(text, seat.moment).calls)];
    const values = this.machine.call(seat.object, calls.flat());
    let [at, moment] = [begin.calls.length, sound(begin.read(values.slice(0, begin.calls.length)) as JavaMoment)];
    for (const text of history) {
      const step = this.form.step(text, moment);
      moment = sound(step.read(values.slice(at, at + step.calls.length)));
      at += step.calls.length;
    }
    return moment;
  }

  private poolOf(game: G): SeatPool<JavaMoment> {
    return this.form.isolated(game) ? this.pools.isolated : this.pools.shared;
  }

  private freeSeat(game: G): Seat<JavaMoment> {
    const pool = this.poolOf(game);
    const seat = pool.free();
    this.taken = { seat, pool };
    return seat;
  }

  private leave(key: string, moment: JavaMoment): void {
    this.moments.set(key, moment);
    this.taken?.pool.leave(this.taken.seat, key, moment);
    this.taken = undefined;
  }

  /** A game that threw may stand anywhere. */
  private dropTaken(): void {
    const { taken } = this;
    if (taken === undefined) return;
    this.taken = undefined;
    taken.pool.lost();
    try {
      this.machine.drop(taken.seat.object);
    } catch (error) {
      // It is gone with its process, then.
      if (!(error instanceof JavaDied)) throw error;
      this.forget();
    }
  }

  /** The process that held them is no more. */
  private forget(): void {
    this.pools.shared.forget();
    this.pools.isolated.forget();
    this.taken = undefined;
  }

  /** Once more where the process ended, in another one, and where the game threw; each a few times. */
  private surviving<T>(game: G, where: string, work: () => T): T {
    let [deaths, throws] = [0, 0];
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (error instanceof JavaDied) {
          this.forget();
          if (++deaths < DEATHS) continue;
          throw reverieError('JAVA_DIED', { game: game.id, where, times: deaths, problem: error.message }, error);
        }
        this.dropTaken();
        if (!(error instanceof JavaThrown)) throw error;
        if (++throws < TRIES) continue;
        throw reverieError('JAVA_GAME_FAILED', { game: game.id, where, problem: error.message }, error);
      }
    }
  }
}

/** Between commands, as no command holds it. */
const SEPARATOR = '\u001e';

function keyOf({ id }: PlayedGame, history: readonly string[]): string {
  return [id, ...history].join(SEPARATOR);
}

const NOWHERE: JavaMoment = { observation: '', look: '', inventory: '', score: 0, done: false, success: false };

function sound<M extends JavaMoment>(moment: M): M {
  if (moment.fault !== undefined) throw new JavaThrown(moment.fault);
  return moment;
}

function isSame(a: JavaMoment, b: JavaMoment): boolean {
  return a.look === b.look && a.inventory === b.inventory && a.score === b.score && a.done === b.done;
}
