// Texts of a recorded screen said anew on another one: what was copied there from the action, the goal or an element is copied here from
// what plays the same part, a number that went up goes up, and all else is as it was.

import { textsNamed } from '../../env/screens/screen-actions.js';
import type { Act } from './act.js';
import { type Layout, layoutOf, type Pairing, pairing } from './layout.js';

/** Shorter texts are not looked for within others: they are there by chance. */
const SHORTEST_PART = 3;

/** A text of the recorded side, and what is said in its place. */
type Source = readonly [theirs: string, ours: string];

export interface RetoldOn {
  readonly pairs: Pairing;
  /** Such a page may tell again what the opening screens told. */
  readonly isOfAnotherPage: boolean;
}

export class Retelling {
  private readonly found: Source[] = [];
  private readonly rest: Iterator<Source>;

  constructor(recorded: Act, asked: Act, on: RetoldOn) {
    this.rest = sourcesOf(recorded, asked, on);
  }

  /** Looked for as far as they are asked for: most texts are found early, and most actions say none. */
  private *sources(): Generator<Source> {
    for (let i = 0; ; i++) {
      if (i === this.found.length) {
        const { value, done } = this.rest.next();
        if (done === true) return;
        this.found.push(value);
      }
      if (this.found[i][0] !== '') yield this.found[i];
    }
  }

  /**
   * @param text  what a property became
   * @param was  what it was before, on the recorded screen and on this one; absent for what is new
   */
  say(text: string, was?: Source): string {
    for (const [theirs, ours] of this.sources()) if (theirs === text) return ours;
    const counted = was && countedOn(text, was);
    if (counted !== undefined) return counted;
    let within: Source | undefined;
    for (const one of [...(was ? [was] : []), ...this.sources()]) {
      const [theirs] = one;
      if (theirs.length < SHORTEST_PART || theirs.length <= (within?.[0].length ?? 0)) continue;
      if (text.includes(theirs)) within = one;
    }
    return within === undefined ? text : text.replace(within[0], () => within[1]);
  }
}

/** Of numbers, so much more or less. */
function countedOn(text: string, [theirs, ours]: Source): string | undefined {
  const [is, was, here] = [text, theirs || '0', ours || '0'].map(Number);
  if (text.trim() === '' || [is, was, here].some(Number.isNaN)) return undefined;
  return String(here + is - was);
}

/** Nearest first: of two that could be the source, the first is. */
function* sourcesOf(recorded: Act, asked: Act, { pairs, isOfAnotherPage }: RetoldOn): Generator<Source> {
  for (const [key, text] of Object.entries(recorded.call.arguments)) {
    const here = asked.call.arguments[key];
    if (typeof text === 'string' && typeof here === 'string' && key !== 'bid') yield [text, here];
  }
  const layouts = [recorded.layout, asked.layout] as const;
  if (recorded.element !== undefined) yield* textsOf(recorded.layout.below(recorded.element), layouts, pairs);
  const goal = textsNamed(asked.state.goal);
  for (const [i, text] of textsNamed(recorded.state.goal).entries()) yield [text, goal[i] ?? text];
  yield* textsOf(recorded.layout.order, layouts, pairs);
  if (isOfAnotherPage) yield* openingTexts(recorded, asked);
}

function openingTexts(recorded: Act, asked: Act): Generator<Source> {
  const [from, to] = [layoutOf(recorded.opening), layoutOf(asked.opening)];
  return textsOf(from.order, [from, to], pairing(from, to));
}

function* textsOf(ids: readonly string[], [from, to]: readonly [Layout, Layout], pairs: Pairing): Generator<Source> {
  for (const id of ids) {
    const here = pairs.get(id);
    if (here === undefined) continue;
    const [theirs, ours] = [from.element(id), to.element(here)];
    yield [theirs.name, ours.name];
    if (theirs.value !== undefined) yield [String(theirs.value), String(ours.value ?? '')];
  }
}
