// A screen as the network over elements reads it: each element by hashed words and by what can be counted of it (how it stands, how much of
// its words the goal names, whether it was acted on), its neighbours in the tree, and each action by the element that it names, its kind,
// its text, and the words before that text in the goal.

import { reverieError } from '../../core/errors.js';
import { joinedIntegers } from '../../core/statistics.js';
import { parseAction, SCREEN_ACTIONS } from '../../env/screens/screen-actions.js';
import type { ScreenElement, ScreenView } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
import { checkCommands, type SaidBefore, saidBefore, saidCounts } from './scoring-network.js';
import type { TextSituation } from './text-policy.js';
import { placeOf, shareOf, tokensOf } from './words.js';

/** Most elements of one screen. */
export const MAX_ELEMENTS = 512;
/** Tokens of the goal, of an element, of an action's text, and of what stands before that text in the goal: the first of each. */
export const GOAL_TOKENS = 40;
export const ELEMENT_TOKENS = 12;
export const TEXT_TOKENS = 8;
export const BESIDE_TOKENS = 3;
/** What is counted of an element, and of an action: see `countsOfElement`, `countsOfAction`. */
export const ELEMENT_COUNTS = 18;
export const ACTION_COUNTS = 9;

export interface EncodedScreen {
  /** [GOAL_TOKENS] */
  readonly goal: Int32Array;
  /** [elements, ELEMENT_TOKENS], in the order of the tree; 0 stands for no token. */
  readonly words: Int32Array;
  /** [elements, ELEMENT_COUNTS] */
  readonly counts: Float32Array;
  /** [elements], the place of each; -1: there is none. */
  readonly parents: Int32Array;
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** [elements] */
  readonly children: Int32Array;
  /** [actions], the place of the element that each names; -1: it names none. */
  readonly targets: Int32Array;
  /** [actions] */
  readonly kinds: Int32Array;
  /** [actions, TEXT_TOKENS] and [actions, BESIDE_TOKENS] */
  readonly texts: Int32Array;
  readonly beside: Int32Array;
  /** [actions, ACTION_COUNTS] */
  readonly actionCounts: Float32Array;
}

/** @throws DOMAIN_UNFIT where there is no screen, or too large a one; DOMAIN_UNFIT */
export function encodeScreen(situation: TextSituation, vocabulary: number): EncodedScreen {
  checkCommands(situation);
  const { admissible, goal } = situation;
  const screen = screenOf(situation);
  const order = inOrder(screen);
  if (order.length > MAX_ELEMENTS)
    throw unreadable(`the screen has ${order.length} elements, more than ${MAX_ELEMENTS}`);
  const places = new Map(order.map(({ id }, i) => [id, i]));
  const memory = remembered(situation, goal);
  const acts = admissible.map((line) => actOf(line));
  const hashed = (tokens: readonly string[], size: number) =>
    fitted(
      tokens.slice(0, size).map((token) => placeOf(token, vocabulary)),
      size,
    );
  return {
    goal: hashed(tokensOf(goal), GOAL_TOKENS),
    words: joinedIntegers(order.map(({ element }) => hashed(wordsOf(element), ELEMENT_TOKENS))),
    counts: Float32Array.from(order.flatMap((node) => countsOfElement(node, screen, memory))),
    ...neighbours(order, places),
    targets: Int32Array.from(acts, ({ bid }) => places.get(bid) ?? -1),
    kinds: Int32Array.from(acts, ({ name }) => placeOf(name, vocabulary)),
    texts: joinedIntegers(acts.map(({ text }) => hashed(tokensOf(text), TEXT_TOKENS))),
    beside: joinedIntegers(acts.map(({ text }) => hashed(tokensBefore(goal, text), BESIDE_TOKENS))),
    actionCounts: Float32Array.from(
      acts.flatMap((act, i) => countsOfAction(admissible[i], act, screen.elements[act.bid], memory)),
    ),
  };
}

interface Act {
  readonly name: string;
  /** Id of the element that it names; empty where it names none. */
  readonly bid: string;
  readonly text: string;
}

interface Node {
  readonly id: string;
  readonly element: ScreenElement;
  readonly parent: string;
  readonly depth: number;
  /** Among the children of its parent, and how many these are. */
  readonly at: number;
  readonly of: number;
}

interface Memory {
  readonly goal: string;
  readonly goalWords: ReadonlySet<string>;
  /** What the goal names in quotes, in lower case and in order. */
  readonly quoted: readonly string[];
  readonly said: SaidBefore;
  /** Elements that were acted on. */
  readonly acted: ReadonlySet<string>;
  readonly lastActed: string;
  readonly turns: number;
}

function screenOf({ shown }: TextSituation): ScreenView {
  const { root, elements } = (shown ?? {}) as Partial<ScreenView>;
  if (typeof root !== 'string' || elements?.[root] === undefined)
    throw unreadable(shown === undefined ? 'the world shows no tree of elements' : 'its tree has no root');
  return shown as unknown as ScreenView;
}

function unreadable(problem: string) {
  return reverieError('DOMAIN_UNFIT', {
    problem: `The network "elements" cannot read what a situation shows: ${problem}.`,
    hint: 'Use rl.network=relevance, which reads any world of text; "elements" is for screens of up to 512 elements.',
  });
}

function inOrder({ root, elements }: ScreenView): Node[] {
  const nodes: Node[] = [];
  const open: Node[] = [{ id: root, element: elements[root], parent: '', depth: 0, at: 0, of: 1 }];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    nodes.push(node);
    const { id: parent, depth } = node;
    const children = node.element.children.filter((id) => elements[id] !== undefined);
    const below = children.map((id, at) => ({
      id,
      element: elements[id],
      parent,
      depth: depth + 1,
      at,
      of: children.length,
    }));
    open.push(...below.reverse());
  }
  return nodes;
}

function neighbours(order: readonly Node[], places: ReadonlyMap<string, number>) {
  const parents = Int32Array.from(order, ({ parent }) => places.get(parent) ?? -1);
  const beside = (step: number) =>
    Int32Array.from(order, ({ at }, i) => {
      if (parents[i] < 0) return -1;
      const id = order[parents[i]].element.children[at + step];
      return id === undefined ? -1 : (places.get(id) ?? -1);
    });
  const children = Int32Array.from(order, ({ element }) => element.children.filter((id) => places.has(id)).length);
  return { parents, before: beside(-1), after: beside(1), children };
}

function remembered({ turns }: TextSituation, goal: string): Memory {
  const acted = turns.map((turn) => actOf(turn.said).bid).filter((bid) => bid !== '');
  return {
    goal: goal.toLowerCase(),
    goalWords: new Set(tokensOf(goal)),
    quoted: [...goal.matchAll(/"([^"]+)"/g)].map(([, text]) => text.toLowerCase()),
    said: saidBefore(turns),
    acted: new Set(acted),
    lastActed: acted.at(-1) ?? '',
    turns: turns.length,
  };
}

/** What a line does; one that is no action is a name alone. */
function actOf(line: string): Act {
  const call = parseAction(line, SCREEN_ACTIONS);
  if (typeof call === 'string') return { name: line, bid: '', text: '' };
  const { bid = call.arguments.from_bid, ...given } = call.arguments as CallSpec['arguments'];
  const text = Object.values(given).flat().map(String).join(' ');
  return { name: call.name, bid: bid === undefined ? '' : String(bid), text };
}

/** Its role, its name as a whole, and the words of all that it says. */
function wordsOf({ role, name, value, classes, color }: ScreenElement): string[] {
  const told = [name, value, classes, color].map((text) => String(text ?? ''));
  return [role, ...(name === '' ? [] : [name.toLowerCase()]), ...told.flatMap(tokensOf)];
}

function countsOfElement({ id, element, depth, at, of }: Node, { focused }: ScreenView, memory: Memory): number[] {
  const { name, value, checked, selected, expanded, disabled } = element;
  const own = tokensOf(name);
  const called = name.toLowerCase();
  const flags = [
    checked === true,
    checked === false,
    selected === true,
    expanded === true,
    disabled === true,
    id === focused,
    value !== undefined && value !== '',
    element.children.length > 0,
    memory.acted.has(id),
    id === memory.lastActed,
    called !== '' && memory.goal.includes(called),
    memory.quoted.includes(called),
    value !== undefined && memory.quoted.includes(String(value).toLowerCase()),
  ];
  return [
    ...flags.map(Number),
    shareOf(own, memory.goalWords),
    nthOf(called, memory.quoted),
    Math.min(depth, 10) / 10,
    (at + 1) / of,
    Math.min(own.length, 8) / 8,
  ];
}

function countsOfAction(
  line: string,
  { bid, text }: Act,
  element: ScreenElement | undefined,
  memory: Memory,
): number[] {
  return [
    ...saidCounts(line, memory.said, memory.turns),
    memory.acted.has(bid) ? 1 : 0,
    text !== '' && element?.value === text ? 1 : 0,
    shareOf(tokensOf(text), memory.goalWords),
    nthOf(text.toLowerCase(), memory.quoted),
    Math.min(memory.quoted.length, 4) / 4,
    Math.min(memory.turns, 20) / 20,
  ];
}

/** 1 where it is the first of the texts, 1/2 the second, and so on; 0 where it is none. */
function nthOf(text: string, texts: readonly string[]): number {
  const at = texts.indexOf(text);
  return at < 0 ? 0 : 1 / (at + 1);
}

/** The last words before a text where the goal names it first. */
function tokensBefore(goal: string, text: string): readonly string[] {
  const at = text === '' ? -1 : goal.indexOf(text);
  return at < 0 ? [] : tokensOf(goal.slice(0, at)).slice(-BESIDE_TOKENS);
}

function fitted(places: readonly number[], size: number): Int32Array {
  const row = new Int32Array(size);
  row.set(places);
  return row;
}
