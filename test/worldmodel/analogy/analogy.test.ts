// Recorded steps of a text game carried over: to other things, to a game whose things have other names, to places that were left; and what is
// not answered.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import {
  applyOperations,
  nothingShown,
  placeOf,
  type ShownMoment,
  type ShownState,
  shownChanges,
  shownSchema,
  type ToolsDomain,
} from '../../../src/env/index.js';
import { type AnalogyContents, AnalogyModel, analogyFile } from '../../../src/worldmodel/analogy/analogy-model.js';
import { Casebook, type Said } from '../../../src/worldmodel/analogy/casebook.js';
import { analogyBackend } from '../../../src/worldmodel/analogy/entry.js';
import { stepsOf, type Walks } from '../../../src/worldmodel/analogy/recorded-walks.js';
import { openingsOf, sentencesOf, textOf } from '../../../src/worldmodel/analogy/sentences.js';

/** A game of two rooms: things on a shelf, a box for them next door. What is put into the box counts. */
class Rooms {
  private held: string[] = [];
  private boxed: string[] = [];
  private isWest = true;

  constructor(
    private shelf: string[],
    private readonly rooms: readonly [string, string],
    private readonly goal = shelf.length,
  ) {}

  say(text: string): string {
    const [, verb, thing] = /^(take|put|move) (.+?)(?: in box)?$/.exec(text)!;
    if (verb === 'move') this.isWest = thing === 'west';
    if (verb === 'take') this.boxed = this.boxed.filter((one) => one !== thing);
    if (verb === 'take') [this.shelf, this.held] = [this.shelf.filter((one) => one !== thing), [...this.held, thing]];
    if (verb === 'put') [this.held, this.boxed] = [this.held.filter((one) => one !== thing), [...this.boxed, thing]];
    if (verb === 'move') return this.moment().look;
    return verb === 'take' ? `You take the ${thing}.` : `You put the ${thing} in the box.`;
  }

  moment(): ShownMoment {
    const list = (things: string[]) => {
      const all = things.map((thing) => `a ${thing}`);
      return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')}, and ${all.at(-1)}`;
    };
    const [west, east] = this.rooms;
    const shelf =
      this.shelf.length > 0
        ? `There is a shelf that has ${list(this.shelf)} on it.`
        : 'There is a shelf, that has nothing on it.';
    const box =
      this.boxed.length > 0 ? `There is a box, that contains ${list(this.boxed)}.` : 'There is a box, that is empty.';
    const look = this.isWest
      ? `You are in the ${west}. ${shelf} \nTo the East you see the ${east}.`
      : `You are in the ${east}. ${box} \nTo the West you see the ${west}.`;
    const inventory = [
      'You hold:',
      ...(this.held.length > 0 ? this.held.map((thing) => `  a ${thing}`) : ['  nothing']),
      '',
    ].join('\n');
    const takes = (this.isWest ? this.shelf : this.boxed).map((thing) => `take ${thing}`);
    const puts = this.isWest ? [] : this.held.map((thing) => `put ${thing} in box`);
    const success = this.boxed.length === this.goal;
    const admissible = success ? [] : [...takes, ...puts, this.isWest ? 'move east' : 'move west'].sort();
    return { look, inventory, score: this.boxed.length / this.goal, done: success, success, admissible };
  }
}

type Played = { readonly game: Rooms; readonly state: ShownState };

function begun(task: string, game: Rooms): Played {
  const nothing = nothingShown(true);
  const operations = [{ op: 'replace', path: '/game', value: task } as const, ...shownChanges(nothing, game.moment())];
  return { game, state: applyOperations(nothing, operations) as unknown as ShownState };
}

function said(
  { game, state }: Played,
  text: string,
): Played & { observation: string; operations: ReturnType<typeof shownChanges> } {
  const observation = game.say(text);
  const operations = shownChanges(state, game.moment(), text);
  return { game, state: applyOperations(state as never, operations) as unknown as ShownState, observation, operations };
}

const PLAYS: [task: string, make: () => Rooms, commands: string[]][] = [
  [
    'a',
    () => new Rooms(['red cup', 'spoon', 'fork'], ['hall', 'den']),
    [
      'take spoon',
      'take red cup',
      'move east',
      'put spoon in box',
      'put red cup in box',
      'move west',
      'take fork',
      'move east',
      'put fork in box',
    ],
  ],
  [
    'b',
    () => new Rooms(['plate', 'knife'], ['attic', 'cellar']),
    [
      'take knife',
      'move east',
      'put knife in box',
      'take knife',
      'move west',
      'take plate',
      'move east',
      'put plate in box',
      'put knife in box',
    ],
  ],
  [
    'c',
    () => new Rooms(['lamp', 'old coin', 'hat'], ['barn', 'yard']),
    ['take hat', 'take lamp', 'move east', 'move west'],
  ],
];

function walks(plays = PLAYS): Walks {
  const tasks: Walks['tasks'] = {};
  const all = plays.map(([task, make, commands]) => {
    let now = begun(task, make());
    tasks[task] = { state: now.state as never, opening: now.state.look, goal: 'Put all into the box.' };
    const steps = commands.map((text) => {
      const next = said(now, text);
      now = next;
      return { said: text, operations: next.operations as never, isError: false, observation: next.observation };
    });
    return { episode: task, task, steps };
  });
  return { tasks, walks: all };
}

/** What the book says of the last command, and what comes of it. */
function asked(
  book: Casebook,
  [task, make, commands]: (typeof PLAYS)[number],
): { dreamt: Said | undefined; real: ShownMoment & { observation: string } } {
  let now = begun(task, make());
  let heard = now.state.look;
  for (const text of commands.slice(0, -1)) {
    const next = said(now, text);
    [now, heard] = [next, next.observation];
  }
  const about = { ...now.state, admissible: now.state.admissible!, task, goal: 'Put all into the box.', said: heard };
  const dreamt = book.say(about, commands.at(-1)!);
  const observation = now.game.say(commands.at(-1)!);
  return { dreamt, real: { ...now.game.moment(), observation } };
}

const whole = (said: Said | undefined) => said && { ...said.after, observation: said.observation };

describe('a casebook of recorded steps', () => {
  const book = new Casebook(stepsOf(walks()));

  it.each([
    ['a thing out of a longer list, with names nobody recorded', ['take brass key']],
    ['the last thing of a list', ['take brass key', 'take pen', 'take cap', 'take old map']],
  ])('takes %s', (_, commands) => {
    const made = () => new Rooms(['pen', 'brass key', 'old map', 'cap'], ['hall', 'den']);
    const { dreamt, real } = asked(book, ['new', made, commands]);
    expect(whole(dreamt)).toEqual(real);
  });

  it('comes back to a place as it was left, and knows what can be done there', () => {
    const { dreamt, real } = asked(book, ['c', PLAYS[2][1], ['take old coin', 'move east', 'move west']]);
    expect(whole(dreamt)).toEqual(real);
  });

  it('puts a second thing behind the first, and pays what the game pays', () => {
    const { dreamt, real } = asked(book, [
      'a',
      PLAYS[0][1],
      ['take fork', 'take spoon', 'move east', 'put fork in box', 'put spoon in box'],
    ]);
    expect(whole(dreamt)).toEqual(real);
  });

  it('says nothing of a place that was never seen', () => {
    expect(asked(book, ['new', () => new Rooms(['pen'], ['mill', 'pond']), ['move east']]).dreamt).toBeUndefined();
  });

  it('knows a win by what the game was seen to pay for all', () => {
    const { dreamt, real } = asked(book, [
      'b',
      PLAYS[1][1],
      ['take plate', 'take knife', 'move east', 'put knife in box', 'put plate in box'],
    ]);
    expect(dreamt?.after).toMatchObject({ success: true, done: true, score: 1, admissible: [] });
    expect(whole(dreamt)).toEqual(real);
  });
});

describe('the model', () => {
  it('is read as it was written, and is no surer of a win than such claims were right', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reverie-analogy-'));
    try {
      const calibration = { from: [0], right: [0.9], answers: 50 };
      const contents: AnalogyContents = {
        domain: 'x',
        walks: walks(),
        calibration,
        wins: { said: 8, right: 1 },
        exactness: 0.9,
      };
      await analogyFile.save(folder, contents);
      const kept = await analogyFile.load(folder);
      expect(kept).toEqual(contents);
      const model = new AnalogyModel(kept);
      const last = stepsOf(contents.walks).findLast(({ task }) => task === 'b')!;
      const task = { id: 'b', user: { goal: 'Put all into the box.' } };
      const { said: _said, task: _task, goal: _goal, ...state } = last.before;
      const ask = (text: string) =>
        model.predict({ state, task, messages: [], call: { id: '', name: 'act', arguments: { text } } } as never);
      expect(ask(last.text)).toMatchObject({ confidence: 0.2, isError: false });
      expect(ask('move west')).toMatchObject({ confidence: 0.9 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a model of recorded episodes', () => {
  const begunIn = (task: string) => begun(task, PLAYS.find(([name]) => name === task)![1]());
  const rooms = {
    ...{ id: 'rooms', rules: {}, stateSchema: shownSchema(true), initialState: nothingShown(true) },
    tasks: PLAYS.map(([id]) => {
      const { state } = begunIn(id);
      const initialOperations = Object.entries(state).map(([key, value]) => ({ op: 'add', path: `/${key}`, value }));
      return { id, user: { goal: 'Put all into the box.', opening: state.look }, initialOperations };
    }),
  } as unknown as ToolsDomain;
  const episodes = walks().walks.map(({ task, steps }) => ({
    ...{ id: task, task, return: 1, terminated: true },
    steps: steps.map(({ said: text, ...outcome }) => ({
      action: { content: null, toolCalls: [{ id: '', name: 'act', arguments: { text } }] },
      predictions: [outcome],
    })),
  }));

  it('keeps them all, is judged by them, and is read back as the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reverie-analogy-'));
    try {
      const settings = analogyBackend.schema!.parse({ minConfidence: 0.4 }) as Record<string, unknown>;
      const learn = await analogyBackend.fit!();
      const out = join(folder, 'made', 'model');
      const { version, exactness, report, isReady } = await learn({
        ...{ domain: rooms, episodes: episodes as never, settings, rng: Rng.fromSeed(1), work: folder, out },
        ...{ signal: new AbortController().signal, onProgress: () => {} },
      });
      expect(report).toMatchObject({ steps: 22, learnedFrom: 22, distinct: 22, exact: exactness });
      expect(isReady).toBe(true);
      // The run that made it names it, too.
      for (const model of ['made', 'made/model']) {
        const open = await (await analogyBackend.make())({ domain: rooms, folder }, { ...settings, model });
        expect(open).toMatchObject({ version });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('texts as sentences', () => {
  it('gives sentences the opening of the place that they come to stand at', () => {
    const things = ['a cup', 'an egg', 'a pot', 'the lamp', 'a pan', 'an oven'];
    const texts = things.map(
      (thing, i) =>
        `Here. You see ${thing}. There is also ${things[(i + 2) % 6]}. In a corner is ${things[(i + 1) % 6]}.`,
    );
    const openings = openingsOf(texts.map((text) => ['look', text] as const));
    const sentences = sentencesOf(texts[0], 'look', openings);
    expect(textOf(sentences, 'look', openings)).toBe(texts[0]);
    expect(textOf([sentences[0], ...sentences.slice(2)], 'look', openings)).toBe(
      'Here. You see a pot. There is also an egg.',
    );
  });
});

describe('states that are known by what they show', () => {
  it('remember places as they were left', () => {
    const game = PLAYS[0][1]();
    const first = begun('a', game);
    const left = said(said(first, 'take fork'), 'move east');
    expect(placeOf(left.state.look)).toBe('You are in the den.');
    expect(left.state.left).toEqual({
      'You are in the hall.': said(begun('a', PLAYS[0][1]()), 'take fork').state.look,
    });
    expect(left.state.history).toEqual(['take fork', 'move east']);
  });
});
