// What an action made of a recorded screen, made of another one: the same changes of the tree, each on the element that plays the same
// part.

import { actionLine, textsNamed } from '../../env/screens/screen-actions.js';
import { type ScreenElement, type ScreenState, treeFaults } from '../../env/screens/screen-state.js';
import { type Act, type Layout, layoutOf, type Pairing, pairing } from './layout.js';

/** What was recorded: an action, and the screen after it. */
export interface RecordedAct {
  readonly act: Act;
  readonly after: ScreenState;
  readonly isError: boolean;
  readonly observation: string;
  /** Where it was recorded. */
  readonly episode: string;
  readonly task: string;
  readonly family: string;
}

/** The screen after the action that is asked about; undefined where the two screens have too little in common for it. */
export function transferred(recorded: RecordedAct, asked: Act): ScreenState | undefined {
  const transfer = new Transfer(recorded, asked);
  const found = transfer.screen();
  return found !== undefined && (transfer.keepsTree || treeFaults(found).length === 0) ? found : undefined;
}

interface Changes {
  /** Ids of elements, as the screen is read, and which properties of their own became others. */
  readonly own: readonly (readonly [id: string, keys: readonly string[]])[];
  /** Ids of elements that hold something else. */
  readonly held: readonly string[];
}

const known = new WeakMap<RecordedAct, Changes>();

/** What an action made of the elements that were there; worked out once. */
function changesOf(recorded: RecordedAct): Changes {
  const before = known.get(recorded);
  if (before !== undefined) return before;
  const own: [string, string[]][] = [];
  const held: string[] = [];
  const were = recorded.act.given.state.elements;
  for (const id of layoutOf(recorded.after).order) {
    const [was, is] = [were[id], recorded.after.elements[id]];
    if (was === undefined || was === is) continue;
    const keys = Object.keys({ ...was, ...is }).filter((key) => key !== 'children' && was[key] !== is[key]);
    if (keys.length > 0) own.push([id, keys]);
    const isSame = was.children.length === is.children.length && was.children.every((one, i) => one === is.children[i]);
    if (!isSame) held.push(id);
  }
  const found = { own, held };
  known.set(recorded, found);
  return found;
}

/** An element that one changes by what it is, and not by where it stands: the one that is ticked, or chosen. */
const STANDING = ['checked', 'selected', 'expanded'] as const;

class Transfer {
  private readonly before: Layout;
  private readonly after: Layout;
  private readonly pairs: Pairing;
  private readonly retelling: Retelling;
  private readonly elements: Record<string, ScreenElement>;
  /** Elements that were not there before, by their recorded ids. */
  private readonly fresh = new Map<string, string>();
  private isLost = false;

  constructor(
    private readonly recorded: RecordedAct,
    private readonly asked: Act,
  ) {
    const { act, after } = recorded;
    this.before = act.layout;
    this.after = layoutOf(after);
    const both = act.element !== undefined && asked.element !== undefined;
    this.pairs = pairing(act.layout, asked.layout, both ? [act.element!, asked.element!] : undefined);
    this.retelling = new Retelling(act, asked, this.pairs, this.isOfAnotherPage);
    this.elements = { ...asked.given.state.elements };
  }

  screen(): ScreenState | undefined {
    const { recorded, asked } = this;
    const root = this.isOfAnotherPage ? this.made(recorded.after.root) : this.changed();
    if (root === undefined) return undefined;
    const { focused, done, reward, tabs, tab } = recorded.after;
    const keyboard = focused === '' ? '' : this.here(focused);
    const placed = this.keepsTree ? this.elements : this.placed(root);
    return {
      ...asked.given.state,
      root,
      focused: keyboard !== undefined && placed[keyboard] !== undefined ? keyboard : '',
      elements: placed,
      ...(tabs !== undefined && { tabs, tab }),
      done,
      reward,
      history: [...asked.given.state.history, actionLine(asked.given.call)],
    };
  }

  /** Nothing came, went or moved: whatever is in the tree stands where it stood. */
  get keepsTree(): boolean {
    return !this.isOfAnotherPage && changesOf(this.recorded).held.length === 0;
  }

  /** Nothing of what there was is there any more: all elements are new, as their ids are. */
  private get isOfAnotherPage(): boolean {
    const { root } = this.recorded.after;
    return root !== '' && this.before.tree.elements[root] === undefined;
  }

  /** Carries the changes over to the screen. Its root; undefined where something that changed has no part on it. */
  private changed(): string | undefined {
    const { own, held } = changesOf(this.recorded);
    for (const [id, keys] of own) this.change(id, keys);
    for (const id of held) this.hold(id);
    return this.isLost ? undefined : this.asked.given.state.root;
  }

  /** What plays the part of a recorded element: on the screen, or new on it. */
  private here(id: string): string | undefined {
    return this.fresh.get(id) ?? this.pairs.get(id);
  }

  /** Properties of its own that became others. */
  private change(id: string, keys: readonly string[]): void {
    const [was, is] = [this.before.element(id), this.after.element(id)];
    const here = this.changedHere(id, keys);
    if (here === undefined) {
      // Nothing stands as that did, so there is nothing to change.
      this.isLost ||= !STANDING.some((key) => keys.includes(key));
      return;
    }
    const own = this.elements[here];
    const changed: Record<string, ScreenElement[string]> = { ...own };
    for (const key of keys) {
      const value = is[key];
      if (value === undefined) delete changed[key];
      else changed[key] = typeof value === 'string' ? this.say(value, [was[key], own[key]]) : value;
    }
    this.elements[here] = changed as ScreenElement;
  }

  private say(text: string, [theirs, ours]: readonly (ScreenElement[string] | undefined)[]): string {
    return this.retelling.say(text, [String(theirs ?? ''), String(ours ?? '')]);
  }

  private changedHere(id: string, keys: readonly string[]): string | undefined {
    const key = STANDING.find((one) => keys.includes(one));
    const was = this.before.element(id);
    if (id === this.recorded.act.element || key === undefined || was[key] !== true) return this.pairs.get(id);
    return sole(this.before, was.role, key) === undefined ? this.pairs.get(id) : sole(this.asked.layout, was.role, key);
  }

  /** What it holds, which became something else. */
  private hold(id: string): void {
    const [was, is] = [this.before.element(id).children, this.after.element(id).children];
    const here = this.pairs.get(id);
    if (here === undefined) {
      this.isLost = true;
      return;
    }
    const children = this.without(
      here,
      was.filter((child) => !is.includes(child)),
      was,
    );
    let place = 0;
    for (const child of is) {
      const known = was.includes(child) ? this.pairs.get(child) : undefined;
      if (known !== undefined && children.includes(known)) place = children.indexOf(known) + 1;
      if (was.includes(child)) continue;
      const made = this.made(child);
      if (made === undefined || children.includes(made)) continue;
      children.splice(place++, 0, made);
    }
    this.elements[here] = { ...this.elements[here], children };
  }

  /** Children of an element without those that play the part of what went; where all of a role went, all of it go. */
  private without(here: string, gone: readonly string[], was: readonly string[]): string[] {
    const roleOf = (id: string) => this.before.element(id).role;
    const whole = new Set(
      gone.map(roleOf).filter((role) => was.every((id) => roleOf(id) !== role || gone.includes(id))),
    );
    const went = new Set(gone.map((id) => this.pairs.get(id)));
    const { children } = this.asked.layout.element(here);
    return children.filter((id) => !went.has(id) && !whole.has(this.asked.layout.element(id).role));
  }

  /** A child that came: from elsewhere on the screen, as it was when the task began, or new. */
  private made(id: string): string | undefined {
    if (this.before.tree.elements[id] !== undefined) return this.pairs.get(id);
    const { act } = this.recorded;
    if (act.given.opening.elements[id] !== undefined) return this.shownAgain(id);
    const number = Number(id) - act.given.ids;
    const here = String(this.asked.given.ids + number);
    if (!Number.isInteger(number) || number <= 0 || this.elements[here] !== undefined) return undefined;
    this.fresh.set(id, here);
    const { children, ...own } = this.after.element(id);
    const told = Object.entries(own).map(([key, value]) => [
      key,
      typeof value === 'string' && (key === 'name' || key === 'value') ? this.retelling.say(value) : value,
    ]);
    const held = children.flatMap((child) => this.made(child) ?? []);
    this.elements[here] = { ...Object.fromEntries(told), children: held } as ScreenElement;
    return here;
  }

  private shownAgain(id: string): string | undefined {
    const shown = layoutOf(this.asked.given.opening);
    const here = pairing(layoutOf(this.recorded.act.given.opening), shown).get(id);
    if (here === undefined) return undefined;
    for (const one of shown.below(here)) this.elements[one] ??= shown.element(one);
    return here;
  }

  /** Only what stands somewhere. */
  private placed(root: string): Record<string, ScreenElement> {
    const kept = new Set<string>();
    const open = [root];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (kept.has(id) || this.elements[id] === undefined) continue;
      kept.add(id);
      open.push(...this.elements[id].children);
    }
    return Object.fromEntries(Object.entries(this.elements).filter(([id]) => kept.has(id)));
  }
}

/** The only element of a role of which something is so. */
function sole({ tree }: Layout, role: string, key: (typeof STANDING)[number]): string | undefined {
  const found = Object.keys(tree.elements).filter(
    (id) => tree.elements[id].role === role && tree.elements[id][key] === true,
  );
  return found.length === 1 ? found[0] : undefined;
}

/** Shorter texts are not looked for within others: they are there by chance. */
const SHORTEST_PART = 3;

/** A text of the recorded side, and what is said in its place. */
type Source = readonly [theirs: string, ours: string];

class Retelling {
  private found: readonly Source[] | undefined;

  /** @param isOfAnotherPage  such a page may tell again what the opening screens told */
  constructor(
    private readonly recorded: Act,
    private readonly asked: Act,
    private readonly pairs: Pairing,
    private readonly isOfAnotherPage: boolean,
  ) {}

  /** Nearest first: of two that could be the source, the first is. Most actions say none. */
  private get sources(): readonly Source[] {
    const { recorded, asked, pairs, isOfAnotherPage } = this;
    this.found ??= [...sourcesOf(recorded, asked, pairs, isOfAnotherPage)].filter(([theirs]) => theirs !== '');
    return this.found;
  }

  /**
   * @param text  what a property became
   * @param was  what it was before, on the recorded screen and on this one; absent for what is new
   */
  say(text: string, was?: Source): string {
    for (const [theirs, ours] of this.sources) if (theirs === text) return ours;
    const counted = was && countedOn(text, was);
    if (counted !== undefined) return counted;
    let within: Source | undefined;
    for (const one of [...(was ? [was] : []), ...this.sources]) {
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

function* sourcesOf(recorded: Act, asked: Act, pairs: Pairing, isOfAnotherPage: boolean): Generator<Source> {
  const [theirs, ours] = [recorded.given, asked.given];
  for (const [key, text] of Object.entries(theirs.call.arguments)) {
    const here = ours.call.arguments[key];
    if (typeof text === 'string' && typeof here === 'string' && key !== 'bid') yield [text, here];
  }
  const layouts = [recorded.layout, asked.layout] as const;
  if (recorded.element !== undefined) yield* textsOf(recorded.layout.below(recorded.element), layouts, pairs);
  const goal = textsNamed(ours.state.goal);
  for (const [i, text] of textsNamed(theirs.state.goal).entries()) yield [text, goal[i] ?? text];
  yield* textsOf(recorded.layout.order, layouts, pairs);
  if (!isOfAnotherPage) return;
  const [from, to] = [layoutOf(theirs.opening), layoutOf(ours.opening)];
  yield* textsOf(from.order, [from, to], pairing(from, to));
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
