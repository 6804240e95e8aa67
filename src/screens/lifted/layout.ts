// A screen with what its elements stand in, and which elements of two screens play the same part.

import { actionLine, parseAction, SCREEN_ACTIONS, textsNamed } from '../../env/screens/screen-actions.js';
import type { ScreenElement, ScreenState } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';

/** A tree of elements. */
type Tree = Pick<ScreenState, 'root' | 'elements'>;

export class Layout {
  readonly parents: ReadonlyMap<string, string>;
  /** All that is on the screen, as it is read. */
  readonly order: readonly string[];

  constructor(readonly tree: Tree) {
    const parents = new Map<string, string>();
    const order: string[] = [];
    const open = tree.root === '' ? [] : [tree.root];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      order.push(id);
      const { children } = tree.elements[id];
      for (const child of children) parents.set(child, id);
      open.push(...[...children].reverse());
    }
    this.parents = parents;
    this.order = order;
  }

  element(id: string): ScreenElement {
    return this.tree.elements[id];
  }

  /** It, what it stands in, and so on up to the root. */
  chain(id: string): string[] {
    const found = [id];
    for (let at = this.parents.get(id); at !== undefined; at = this.parents.get(at)) found.push(at);
    return found;
  }

  /** It and all that it holds, as it is read. */
  below(id: string): string[] {
    return [id, ...this.element(id).children.flatMap((child) => this.below(child))];
  }
}

const layouts = new WeakMap<Tree, Layout>();

/** Of a tree that never changes; worked out once. */
export function layoutOf(tree: Tree): Layout {
  const known = layouts.get(tree) ?? new Layout(tree);
  layouts.set(tree, known);
  return known;
}

/** Ids of one screen to those of another; each is used once. */
export type Pairing = ReadonlyMap<string, string>;

/** Pairs of lists that are longer are not compared one by one. */
const MOST_COMPARED = 40_000;

/**
 * Which element of `to` plays the part of one in `from`: from the acted-on elements upwards, and from the roots downwards, children in
 * their order, those of the same role, before others those of the same name.
 * @param acted  elements that are the same part whatever they are
 */
export function pairing(from: Layout, to: Layout, acted?: readonly [string, string]): Pairing {
  const pairs = new Map<string, string>([[from.tree.root, to.tree.root]]);
  const [ours, theirs] = acted === undefined ? [[], []] : [from.chain(acted[0]), to.chain(acted[1])];
  for (let i = 0; i < Math.min(ours.length, theirs.length); i++) {
    if (i > 0 && from.element(ours[i]).role !== to.element(theirs[i]).role) break;
    pairs.set(ours[i], theirs[i]);
  }
  // Pairs that are added on the way have their turn, too.
  for (const [id, there] of pairs) if (id !== '' && there !== '') pairChildren(from, to, [id, there], pairs);
  return pairs;
}

function pairChildren(from: Layout, to: Layout, [a, b]: readonly [string, string], pairs: Map<string, string>): void {
  const [ours, theirs] = [from.element(a).children, to.element(b).children];
  let [i, j] = [0, 0];
  // What is paired already divides both lists.
  for (let end = 0; end <= ours.length; end++) {
    const pair = end === ours.length ? undefined : pairs.get(ours[end]);
    if (end < ours.length && pair === undefined) continue;
    const there = pair === undefined ? theirs.length : theirs.indexOf(pair, j);
    if (there < 0) continue;
    for (const [x, y] of bestPairs(from, to, ours.slice(i, end), theirs.slice(j, there))) pairs.set(x, y);
    [i, j] = [end + 1, there + 1];
  }
}

/** Pairs of two lists, in order, that are most alike together. */
function bestPairs(from: Layout, to: Layout, ours: readonly string[], theirs: readonly string[]): [string, string][] {
  const [n, m] = [ours.length, theirs.length];
  if (n === 0 || m === 0) return [];
  if (n * m > MOST_COMPARED) return ours.slice(0, m).map((id, i) => [id, theirs[i]]);
  const worth = new Float64Array(n * m);
  // A row and a column more, of nothing.
  const best = new Float64Array((n + 1) * (m + 1));
  const place = (i: number, j: number) => i * (m + 1) + j;
  for (let i = n - 1; i >= 0; i--) {
    const own = from.element(ours[i]);
    for (let j = m - 1; j >= 0; j--) {
      const pair = likeness(own, to.element(theirs[j]));
      worth[i * m + j] = pair;
      const both = pair > 0 ? pair + best[place(i + 1, j + 1)] : 0;
      best[place(i, j)] = Math.max(both, best[place(i + 1, j)], best[place(i, j + 1)]);
    }
  }
  const found: [string, string][] = [];
  for (let [i, j] = [0, 0]; i < n && j < m; ) {
    const pair = worth[i * m + j];
    if (pair > 0 && best[place(i, j)] === pair + best[place(i + 1, j + 1)]) found.push([ours[i++], theirs[j++]]);
    else if (best[place(i, j)] === best[place(i + 1, j)]) i++;
    else j++;
  }
  return found;
}

/** 0 for what cannot be the same part. */
function likeness(a: ScreenElement, b: ScreenElement): number {
  if (a.role !== b.role) return 0;
  const named = a.name !== '' && a.name === b.name ? 2 : 0;
  const looks = a.classes !== undefined && a.classes === b.classes ? 0.5 : 0;
  return 1 + named + looks + (a.children.length === b.children.length ? 0.25 : 0);
}

interface ActGiven {
  readonly state: ScreenState;
  readonly call: CallSpec;
  /** The screen that the task began with. */
  readonly opening: ScreenState;
  /** Ids that have been given out so far: numbers from 1 to this one. */
  readonly ids: number;
}

/** What is compared, each a text; where both are the same it counts, by its weight. */
const WEIGHTS = {
  title: 4,
  path: 2,
  name: 2,
  wanted: 3,
  progress: 2,
  standing: 2,
  beside: 1,
  place: 1,
  asked: 1,
  others: 1,
  before: 0.5,
  again: 0.5,
  given: 1,
} as const;

type Feature = keyof typeof WEIGHTS;
const FEATURES = Object.keys(WEIGHTS) as Feature[];

/** Weight of how much of two screens is the same, from 0 to 1. */
const SCREEN_WEIGHT = 4;
const TOTAL = Object.values(WEIGHTS).reduce<number>((sum, weight) => sum + weight, SCREEN_WEIGHT);

export class Act {
  readonly layout: Layout;
  /** Id of what is acted on; undefined where nothing is, or there is no such element. */
  readonly element: string | undefined;
  /** Actions of other keys are never alike. */
  readonly key: string;
  private readonly features: Readonly<Record<Feature, string>>;
  /** What stands on the screen, each role and name once. */
  private readonly parts: ReadonlySet<string>;

  constructor(readonly given: ActGiven) {
    const { state, call } = given;
    this.layout = layoutOf(state);
    const bid = String(call.arguments.bid ?? '');
    this.element = state.elements[bid] === undefined ? undefined : bid;
    this.key = `${call.name} ${this.element === undefined ? '' : state.elements[bid].role}`;
    this.features = featuresOf(given, this.layout, this.element);
    this.parts = new Set(Object.values(state.elements).map(({ role, name }) => `${role} ${name}`));
  }

  /** From 0 to 1: how much speaks for the same happening. */
  likeness(other: Act): number {
    if (this.key !== other.key) return 0;
    let shared = 0;
    for (const part of this.parts) if (other.parts.has(part)) shared++;
    let sum = SCREEN_WEIGHT * (shared / (this.parts.size + other.parts.size - shared || 1));
    for (const feature of FEATURES) if (this.features[feature] === other.features[feature]) sum += WEIGHTS[feature];
    return sum / TOTAL;
  }
}

function featuresOf({ state, call }: ActGiven, layout: Layout, element: string | undefined): Record<Feature, string> {
  const { elements, root, goal, history } = state;
  const own = element === undefined ? undefined : elements[element];
  const called = own?.name || beside(layout, element);
  const last = history.length === 0 ? undefined : parseAction(history.at(-1)!, SCREEN_ACTIONS);
  const lastElement = typeof last === 'object' ? elements[String(last.arguments.bid)] : undefined;
  return {
    title: elements[root]?.name ?? '',
    path: (element === undefined ? [] : layout.chain(element)).map((id) => elements[id].role).join(' < '),
    name: own?.name ?? '',
    wanted: wanted(called, goal),
    progress: progressOf(state),
    standing: own === undefined ? '' : standingOf(own),
    beside: beside(layout, element),
    place: element === undefined ? '' : placeOf(layout, element),
    asked: goal.replace(/"[^"]*"/g, '""').replace(/\d+/g, '0'),
    others: othersOf(layout, own),
    before: typeof last === 'object' ? `${last.name} ${lastElement?.role ?? ''} ${lastElement?.name ?? ''}` : '',
    again: String(history.includes(actionLine(call))),
    given: typeof call.arguments.value === 'string' ? wanted(call.arguments.value, goal) : '',
  };
}

/** Whether the goal speaks of it. */
function wanted(text: string, goal: string): string {
  if (text === '') return 'nameless';
  if (textsNamed(goal).includes(text)) return 'quoted';
  const words = (written: string) =>
    ` ${written
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()} `;
  return words(goal).includes(words(text)) ? 'named' : 'not';
}

/** How it stands: all but what it is called. */
function standingOf({ children: _children, name: _name, value, ...rest }: ScreenElement): string {
  return JSON.stringify([
    Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)),
    value !== undefined && value !== '',
  ]);
}

function isOn({ checked, selected, value, role }: ScreenElement): boolean {
  return checked === true || (selected === true && role !== 'option') || (value !== undefined && value !== '');
}

/** Of what the goal names, whether all, some or none is written or ticked; and whether anything is that it does not name. */
function progressOf({ elements, goal }: ScreenState): string {
  const able = Object.values(elements).filter(
    ({ checked, value, selected, role }) =>
      role !== 'option' && (checked !== undefined || value !== undefined || selected !== undefined),
  );
  const said = (element: ScreenElement) => (typeof element.value === 'string' ? element.value : element.name);
  const on = able.filter(isOn);
  const right = on.filter((element) => wanted(said(element), goal) !== 'not');
  const asked = able.filter((element) => element.value !== undefined || wanted(element.name, goal) !== 'not');
  const share = right.length === 0 ? 'none' : right.length >= asked.length ? 'all' : 'some';
  return `${share} ${on.length > right.length ? 'and others' : ''}`;
}

/** Its place among its kind. */
function placeOf(layout: Layout, id: string): string {
  const parent = layout.parents.get(id);
  if (parent === undefined) return '';
  const kind = layout.element(parent).children.filter((one) => layout.element(one).role === layout.element(id).role);
  return `${kind.indexOf(id)}`;
}

/** How many of its kind are ticked or chosen: none, one, more. */
function othersOf(layout: Layout, own: ScreenElement | undefined): string {
  if (own === undefined) return '';
  const on = layout.order.filter(
    (id) => layout.element(id) !== own && layout.element(id).role === own.role && isOn(layout.element(id)),
  );
  return String(Math.min(2, on.length));
}

/** The last text before it. */
function beside(layout: Layout, id: string | undefined): string {
  if (id === undefined) return '';
  const at = layout.order.indexOf(id);
  for (let i = at - 1; i > 0; i--) {
    const { name, children } = layout.element(layout.order[i]);
    if (name !== '' && children.length === 0) return name;
  }
  return '';
}
