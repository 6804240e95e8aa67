// How plays are kept and found again, in a process of a few lines that counts commands, throws and dies as it is told.

import { describe, expect, it } from 'vitest';
import type { JavaCall } from '../../../src/env/java/gateway-lines.js';
import type { JavaForm, JavaMoment } from '../../../src/env/java/java-form.js';
import { JavaDied, JavaThrown } from '../../../src/env/java/java-machine.js';
import { JavaPlays } from '../../../src/env/java/java-plays.js';

const GAME = { id: 'tower' };

/** A game that says all that was said to it. `begins` and `steps` count what it was asked. */
class Process {
  readonly said = new Map<string, string[]>();
  begins = 0;
  steps = 0;
  made = 0;
  /** Before so many further answers it dies, or throws. */
  dieIn = Number.POSITIVE_INFINITY;
  throwAt: string | undefined;
  /** What it draws instead of counting. */
  salt = '';

  make(): string {
    const id = `o${this.made++}`;
    this.said.set(id, []);
    return id;
  }

  call(object: string, calls: readonly JavaCall[]): string[] {
    return calls.map(([verb, text]) => {
      if (--this.dieIn < 0) {
        this.dieIn = Number.POSITIVE_INFINITY;
        this.said.clear();
        throw new JavaDied('by SIGKILL');
      }
      if (text !== undefined && text === this.throwAt) throw new JavaThrown('java.lang.RuntimeException: no');
      const said = verb === 'begin' ? [] : [...this.said.get(object)!, String(text)];
      if (verb === 'begin') this.begins++;
      else this.steps++;
      this.said.set(object, said);
      return said.join(' ') + this.salt;
    });
  }

  drop(object: string): void {
    this.said.delete(object);
  }

  close(): void {}
}

function momentOf(text: string): JavaMoment {
  return { observation: text, look: text, inventory: '', score: 0, done: false, success: false };
}

function form(seats: number): JavaForm<typeof GAME> {
  return {
    className: 'Tower',
    isolated: () => false,
    seats: { shared: seats, isolated: 0 },
    begin: () => ({ calls: [['begin']], read: ([text]) => ({ ...momentOf(String(text)), goal: 'up' }) }),
    step: (text) => ({ calls: [['step', text]], read: ([all]) => momentOf(String(all)) }),
    walkthrough: () => ({ calls: [['begin']], read: () => ['up'] }),
  };
}

function plays(seats = 4) {
  const process = new Process();
  return { process, plays: new JavaPlays(process, form(seats), 'tower.jar') };
}

describe('plays', () => {
  it('go on where they were left, and none is played again', () => {
    const { process, plays: all } = plays();
    all.begin(GAME);
    all.begin(GAME);
    expect(all.step(GAME, [], 'a').observation).toBe('a');
    expect(all.step(GAME, [], 'b').observation).toBe('b');
    expect(all.step(GAME, ['a'], 'c').observation).toBe('a c');
    expect(all.step(GAME, ['b'], 'c').observation).toBe('b c');
    expect([process.begins, process.steps, process.made]).toEqual([2, 4, 2]);
  });

  it('are played again from the beginning where a fork asks, and where more are open than are held', () => {
    const { process, plays: all } = plays(2);
    all.begin(GAME);
    all.step(GAME, [], 'a');
    all.step(GAME, ['a'], 'b');
    expect(all.step(GAME, ['a'], 'x').observation).toBe('a x');
    expect([process.begins, process.steps]).toEqual([2, 4]);
    expect(all.step(GAME, ['q'], 'r').observation).toBe('q r');
    expect(process.made).toBe(2);
    expect(all.step(GAME, ['a', 'x'], 'y').observation).toBe('a x y');
  });

  it('survive the end of their process, wherever it comes', () => {
    for (let dieIn = 0; dieIn < 5; dieIn++) {
      const { process, plays: all } = plays();
      process.dieIn = dieIn;
      all.begin(GAME);
      all.step(GAME, [], 'a');
      all.step(GAME, ['a'], 'b');
      expect(all.step(GAME, ['a', 'b'], 'c').observation).toBe('a b c');
    }
  });

  it('are given up where the process always ends, or the game always throws', () => {
    const { process, plays: all } = plays();
    process.call = () => {
      throw new JavaDied('by SIGKILL');
    };
    const failed = (code: string, where: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(where) });
    expect(() => all.begin(GAME)).toThrow(failed('JAVA_DIED', /"tower" ended 3 times in a row, in its beginning/));
    const { process: other, plays: thrown } = plays();
    other.throwAt = 'jump';
    thrown.begin(GAME);
    expect(() => thrown.step(GAME, [], 'jump')).toThrow(
      failed('JAVA_GAME_FAILED', /"tower" failed in command 1, "jump", .*RuntimeException/),
    );
    expect(other.said.size).toBe(0);
    expect(thrown.step(GAME, [], 'walk').observation).toBe('walk');
  });

  it('are told from games that do not come out where they were', () => {
    const { process, plays: all } = plays();
    all.begin(GAME);
    all.step(GAME, [], 'a');
    process.salt = '!';
    all.step(GAME, ['a'], 'b');
    expect(() => all.step(GAME, ['a'], 'c')).toThrow(
      expect.objectContaining({
        code: 'JAVA_GAME_NOT_REPEATABLE',
        message: expect.stringContaining('after 1 commands'),
      }),
    );
  });
});
