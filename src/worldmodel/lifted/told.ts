// Texts of a recorded screen said anew on another one: what was copied there from the action, the goal or an element is copied here from
// what plays the same part, a number that went up goes up, and all else is as it was.

import { textsNamed } from '../../env/index.js';
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
  private found: readonly Source[] | undefined;

  constructor(
    private readonly recorded: Act,
    private readonly asked: Act,
    private readonly on: RetoldOn,
  ) {}

  /** Looked for once a text is to be said: most actions say none. */
  private get sources(): readonly Source[] {
    this.found ??= sourcesOf(this.recorded, this.asked, this.on).filter(([text]) => text !== '');
    return this.found;
  }

  /**
   * @param text  what a property became
   * @param was  what it was before, on the recorded screen and on this one; absent for what is new
   */
  say(text: string, was?: Source): string {
    const exact = this.sources.find(([theirs]) => theirs === text);
    if (exact !== undefined) return exact[1];
    const counted = was && countedOn(text, was);
    if (counted !== undefined) return counted;
    const within = [...(was ? [was] : []), ...this.sources]
      .filter(([theirs]) => theirs.length >= SHORTEST_PART && text.includes(theirs))
      .reduce<Source | undefined>(
        (longest, one) => (longest && longest[0].length >= one[0].length ? longest : one),
        undefined,
      );
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
function sourcesOf(recorded: Act, asked: Act, { pairs, isOfAnotherPage }: RetoldOn): Source[] {
  const given = Object.entries(recorded.call.arguments).flatMap(([key, text]): Source[] => {
    const here = asked.call.arguments[key];
    return typeof text === 'string' && typeof here === 'string' && key !== 'bid' ? [[text, here]] : [];
  });
  const own = recorded.element === undefined ? [] : recorded.layout.below(recorded.element);
  const goals = textsNamed(recorded.state.goal).map(
    (text, i): Source => [text, textsNamed(asked.state.goal)[i] ?? text],
  );
  return [
    ...given,
    ...textsOf(own, [recorded.layout, asked.layout], pairs),
    ...goals,
    ...textsOf(recorded.layout.order, [recorded.layout, asked.layout], pairs),
    ...(isOfAnotherPage ? openingTexts(recorded, asked) : []),
  ];
}

function openingTexts(recorded: Act, asked: Act): Source[] {
  const [from, to] = [layoutOf(recorded.opening), layoutOf(asked.opening)];
  return textsOf(from.order, [from, to], pairing(from, to));
}

function textsOf(ids: readonly string[], [from, to]: readonly [Layout, Layout], pairs: Pairing): Source[] {
  return ids.flatMap((id): Source[] => {
    const here = pairs.get(id);
    return here === undefined ? [] : [...paired(from, to, id, here)];
  });
}

function* paired(from: Layout, to: Layout, id: string, here: string): Generator<Source> {
  const [theirs, ours] = [from.element(id), to.element(here)];
  yield [theirs.name, ours.name];
  if (theirs.value !== undefined) yield [String(theirs.value), String(ours.value ?? '')];
}
