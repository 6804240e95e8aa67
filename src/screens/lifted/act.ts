// An action on a screen, and what of it tells one from another.

import { actionLine, parseAction, SCREEN_ACTIONS, textsNamed } from '../../env/screens/screen-actions.js';
import type { ScreenElement, ScreenState } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
import { type Layout, layoutOf } from './layout.js';

export interface ActGiven {
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

export class Act implements ActGiven {
  readonly state: ScreenState;
  readonly call: CallSpec;
  readonly opening: ScreenState;
  readonly ids: number;
  readonly layout: Layout;
  /** Id of what is acted on; undefined where nothing is, or there is no such element. */
  readonly element: string | undefined;
  /** Actions of other keys are never alike. */
  readonly key: string;
  private readonly features: Readonly<Record<Feature, string>>;
  /** What stands on the screen, each role and name once. */
  readonly parts: ReadonlySet<string>;

  constructor({ state, call, opening, ids }: ActGiven) {
    this.state = state;
    this.call = call;
    this.opening = opening;
    this.ids = ids;
    this.layout = layoutOf(state);
    const bid = String(call.arguments.bid ?? '');
    this.element = state.elements[bid] === undefined ? undefined : bid;
    this.key = `${call.name} ${this.element === undefined ? '' : state.elements[bid].role}`;
    this.features = featuresOf(this);
    this.parts = new Set(Object.values(state.elements).map(({ role, name }) => `${role} ${name}`));
  }

  /**
   * From 0 to 1: how much speaks for the same happening.
   * @param shared  how many parts both screens have
   */
  likeness(other: Act, shared: number): number {
    if (this.key !== other.key) return 0;
    let sum = SCREEN_WEIGHT * (shared / (this.parts.size + other.parts.size - shared || 1));
    for (const feature of FEATURES) if (this.features[feature] === other.features[feature]) sum += WEIGHTS[feature];
    return sum / TOTAL;
  }
}

function featuresOf({ state, call, layout, element }: Omit<Act, 'features'>): Record<Feature, string> {
  const { elements, root, goal, history } = state;
  const own = element === undefined ? undefined : elements[element];
  const called = own?.name || beside(layout, element);
  const last = history.length === 0 ? undefined : parseAction(history.at(-1)!, SCREEN_ACTIONS);
  const lastElement = typeof last === 'object' ? elements[String(last.arguments.bid)] : undefined;
  return {
    title: elements[root]?.name ?? '',
    path:
      element === undefined
        ? ''
        : layout
            .chain(element)
            .map((id) => elements[id].role)
            .join(' < '),
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
