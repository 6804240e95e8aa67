// Which commands are listed at a moment: those of recorded forms whose names stand where names stood that such commands were listed with.

import type { Places } from './act.js';
import type { Mentions, ReadCommand } from './phrases.js';

/** A recorded moment, as far as its list is learned from. */
export interface ListedMoment {
  readonly commands: readonly ReadCommand[];
  readonly places: Places;
}

interface Tally {
  listed: number;
  all: number;
}

/** What a list is made from. */
export interface ListQuery {
  readonly before: readonly string[];
  readonly from: Places;
  readonly to: Places;
  /** Texts of the moment before. */
  readonly texts: Mentions;
  /** Names as commands write them, by their lower case. */
  readonly spelling: ReadonlyMap<string, string>;
  /** The agent is somewhere else. */
  readonly isElsewhere: boolean;
}

export class CommandBook {
  /** Forms by how many names they have. */
  private readonly forms = new Map<string, number>();
  private readonly tallies = new Map<string, Tally>();
  /** Where names stood that commands of a form were listed with, by form and place in it: elsewhere there is nothing to ask. */
  private readonly fitting = new Map<string, Set<string>>();

  constructor(moments: Iterable<ListedMoment>) {
    const all = [...moments];
    for (const { commands, places } of all) {
      for (const { form, names } of commands) {
        this.forms.set(form, names.length);
        names.forEach((name, i) => {
          const key = keyOf(form, [String(i)]);
          this.fitting.set(key, (this.fitting.get(key) ?? new Set()).add(places.get(name.toLowerCase()) ?? ''));
        });
      }
    }
    for (const moment of all) this.learn(moment);
  }

  list({ before, from, to, texts, spelling, isElsewhere }: ListQuery): string[] {
    const found = new Set<string>();
    const isStill = (name: string) => from.get(name.toLowerCase()) === to.get(name.toLowerCase());
    const was = new Set(before);
    const own = new Map(before.flatMap((text) => texts.read(text).names).map((name) => [name.toLowerCase(), name]));
    const spelled = (name: string) => own.get(name) ?? spelling.get(name) ?? name;
    for (const text of before) {
      const { names } = texts.read(text);
      const isUntouched = names.every(isStill) && !(isElsewhere && names.some((name) => !to.has(name.toLowerCase())));
      if (isUntouched) found.add(text);
    }
    for (const [form, count] of this.forms) {
      if (count === 0) continue;
      for (const names of this.namings(form, count, to)) {
        const text = names.reduce((whole, name) => whole.replace('_', () => spelled(name)), form);
        const isKnown = names.every(isStill) && !isElsewhere;
        if (isKnown ? was.has(text) : this.isListed(form, names, to)) found.add(text);
      }
    }
    return [...found].sort();
  }

  private learn({ commands, places }: ListedMoment): void {
    const isListed = new Set(
      commands.map(({ form, names }) =>
        keyOf(
          form,
          names.map((name) => name.toLowerCase()),
        ),
      ),
    );
    for (const [form, count] of this.forms) {
      if (count === 0) continue;
      for (const names of this.namings(form, count, places)) {
        const is = isListed.has(keyOf(form, names)) ? 1 : 0;
        for (const key of keysOf(form, names, places)) {
          const tally = this.tallies.get(key) ?? { listed: 0, all: 0 };
          tally.listed += is;
          tally.all += 1;
          this.tallies.set(key, tally);
        }
      }
    }
  }

  /** Names that might be those of a command of the form. */
  private *namings(form: string, count: number, places: Places): Generator<string[]> {
    const fitted = (i: number) => {
      const where = this.fitting.get(keyOf(form, [String(i)]))!;
      return [...places].flatMap(([name, at]) => (where.has(at) ? [name] : []));
    };
    if (count === 1) for (const name of fitted(0)) yield [name];
    if (count !== 2) return;
    const seconds = fitted(1);
    for (const first of fitted(0)) for (const second of seconds) if (first !== second) yield [first, second];
  }

  /** As it was with names in such places: with the same names, else with some of them, else with any. */
  private isListed(form: string, names: readonly string[], places: Places): boolean {
    for (const key of keysOf(form, names, places)) {
      const tally = this.tallies.get(key);
      if (tally !== undefined) return tally.listed * 2 > tally.all;
    }
    return false;
  }
}

function keyOf(form: string, names: readonly string[]): string {
  return [form, ...names].join('\u0000');
}

/** From what says most to what says least. */
function keysOf(form: string, names: readonly string[], places: Places): string[] {
  const where = names.map((name) => places.get(name) ?? '');
  const any = names.map(() => '');
  const last = names.map((name, i) => (i === names.length - 1 ? name : ''));
  const kinds = names.length === 1 ? [names, any] : [names, last, any];
  return kinds.map((kept) => keyOf(form, [...kept, ...where]));
}
