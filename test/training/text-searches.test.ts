// Walkthroughs with searches: which verbs look into places, and what a demonstration looks into before it goes where it knows to go.

import { expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { LineEnvironment } from '../../src/env/tools/text-environment.js';
import { lookElsewhere, revealingVerbs } from '../../src/training/text-imitation.js';
import { TextEpisode } from '../../src/training/text-play.js';

const PLACES = ['drawer 1', 'drawer 2', 'drawer 3', 'drawer 4'];
const WALKTHROUGH = ['go to drawer 3', 'open drawer 3', 'take book 1 from drawer 3'];

/** A room of closed drawers; book 1 is in the third, and another book where it is asked for. */
class Drawers {
  private at = '';
  private open: readonly string[] = [];
  private isHeld = false;
  readonly tools = { domain: {}, state: {}, task: { id: 'drawers', user: { goal: 'find a book' } }, messages: [] };

  constructor(private readonly other?: string) {}

  reset() {
    Object.assign(this, { at: '', open: [], isHeld: false });
    return { observation: `You see ${PLACES.join(', ')}. You are to find a book.`, info: this.info() };
  }

  step(line: string) {
    if (line.startsWith('go to ')) this.at = line.slice(6);
    if (line.startsWith('open ')) this.open = [...this.open, this.at];
    if (line.startsWith('take ')) this.isHeld = true;
    const there = this.within();
    const observation = `You are at ${this.at}. ${there === '' ? 'Nothing.' : `There is ${there}.`}`;
    const verdict = { reward: this.isHeld ? 1 : 0 };
    const info = { ...this.info(), verdict, predictions: [] };
    return { observation, reward: verdict.reward, terminated: this.isHeld, truncated: false, info };
  }

  mark() {
    const { at, open, isHeld } = this;
    return () => Object.assign(this, { at, open, isHeld });
  }

  private within(): string {
    if (!this.open.includes(this.at)) return '';
    if (this.at === 'drawer 3') return 'book 1';
    return this.at === this.other ? 'book 2' : '';
  }

  private info() {
    const go = PLACES.filter((place) => place !== this.at).map((place) => `go to ${place}`);
    const open = this.at === '' || this.open.includes(this.at) ? [] : [`open ${this.at}`];
    const take = this.within() === '' ? [] : [`take ${this.within()} from ${this.at}`];
    return { admissible: [...go, 'look', ...open, ...take], stateHash: `${this.at} ${this.open} ${this.isHeld}` };
  }
}

const begin = (other?: string) =>
  TextEpisode.begin(new Drawers(other) as unknown as LineEnvironment, { task: 'drawers', seed: 0 });

async function follow(episode: TextEpisode, commands: readonly string[]): Promise<void> {
  for (const command of commands) {
    const choice = episode.situation.admissible.indexOf(command);
    await episode.step({ choice, logProb: 0, entropy: 0 });
  }
}

const reveals = new Set(['open']);

it('is told by plain demonstrations which verb looks into a place', async () => {
  const episode = await begin();
  await follow(episode, WALKTHROUGH);
  expect(revealingVerbs([episode.played()])).toEqual(reveals);
});

it('looks into other drawers and comes back to the walkthrough', async () => {
  const lengths = new Set<number>();
  for (let seed = 0; seed < 12; seed++) {
    const episode = await begin();
    expect(await lookElsewhere(episode, WALKTHROUGH, { most: 3, reveals, rng: Rng.fromSeed(seed) })).toBe(0);
    const said = episode.situation.turns.map((turn) => turn.said);
    lengths.add(said.length);
    expect(said.join()).not.toContain('drawer 3');
    expect(said.filter((_, i) => i % 2 === 1)).toEqual(
      said.filter((_, i) => i % 2 === 0).map((go) => go.replace('go to', 'open')),
    );
    await follow(episode, WALKTHROUGH);
    expect(episode.ended).toBe(true);
  }
  expect([...lengths].sort()).toEqual([0, 2, 4, 6]);
});

it('takes back a look at what is wanted, and looks for nothing that it was told of', async () => {
  const found = await begin('drawer 1');
  const searches = Array.from({ length: 40 }, (_, seed) => ({ most: 3, reveals, rng: Rng.fromSeed(seed) }));
  const taken: number[] = [];
  for (const search of searches) {
    const episode = await begin('drawer 1');
    taken.push(await lookElsewhere(episode, WALKTHROUGH, search));
    expect(episode.situation.turns.map((turn) => turn.said).join()).not.toContain('drawer 1');
  }
  expect(new Set(taken)).toEqual(new Set([0, 2]));
  await follow(found, WALKTHROUGH.slice(0, 2));
  expect(await lookElsewhere(found, ['go to drawer 2', 'look'], searches[1])).toBe(0);
  expect(found.situation.turns.length).toBe(2);
});
