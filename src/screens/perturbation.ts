// The same page shown otherwise, to see whether a policy has learned its tasks or their layout: other ids, another order of what stands
// beside its like, elements that nobody asked for (the perturbed environments of UI-Simulator, arXiv 2510.14969, section 5). What is done
// on such a screen is done on the page as it is, so that its task and what it pays stay what they are.

import { z } from 'zod';
import { contentHash } from '../core/canonical-json.js';
import type { ScreenElement, ScreenView } from '../env/screens/screen-state.js';
import type { CallSpec } from '../env/tools/domain.js';
import { drawBySeed } from './seeded-pages.js';

const MOST_DISTRACTORS = 8;

export const perturbationSchema = z
  .strictObject({
    ids: z.boolean().default(false).describe('Elements have other ids.'),
    order: z
      .boolean()
      .default(false)
      .describe('Elements of one role that stand side by side and read differently come in another order.'),
    distractors: z
      .number()
      .int()
      .min(0)
      .max(MOST_DISTRACTORS)
      .default(0)
      .describe('Buttons and links that no task is about, and that do nothing.'),
    seed: z.number().int().min(0).default(0).describe('Another seed perturbs otherwise.'),
  })
  .describe('Shows each page otherwise, by its name and the seed; what is done is done on the page as it is.');

export type Perturbation = z.output<typeof perturbationSchema>;

/** How one page is shown. */
export interface ShownPage {
  /** @param goal of the task */
  shown<View extends ScreenView>(view: View, goal: string): View;
  /** A call on the shown screen, as one on the page. */
  meant(call: CallSpec): CallSpec;
  /** A call on the page, as one on the shown screen. */
  asShown(call: CallSpec): CallSpec;
}

export const AS_IT_IS: ShownPage = { shown: (view) => view, meant: (call) => call, asShown: (call) => call };

/** An id n is shown as an n + b. */
const FACTORS = [3, 7, 11, 13];
const LARGEST_OFFSET = 1_000;
/** Of distractors, from here on: beyond all that pages have. */
const FIRST_DISTRACTOR = 10_000_000;
const DISTRACTORS: readonly ScreenElement[] = [
  { role: 'button', name: 'Help', children: [] },
  { role: 'link', name: 'About this page', children: [] },
  { role: 'button', name: 'Feedback', children: [] },
  { role: 'link', name: 'Terms of use', children: [] },
  { role: 'button', name: 'Share', children: [] },
  { role: 'link', name: 'Privacy', children: [] },
  { role: 'button', name: 'Print', children: [] },
  { role: 'link', name: 'Contact us', children: [] },
];
/** A goal with one of these, but for what it quotes, may mean a place among others. */
const PLACES =
  /\b(\d+(st|nd|rd|th)|first|second|third|fourth|fifth|last|next|previous|above|below|left|right|top|bottom|row|column|order)\b/i;
/** What belongs to a column, or is read in its order. */
const FIXED = /^(StaticText|row|cell|gridcell|columnheader|rowheader)$/;
const TEXT_ALONE = /^(paragraph|heading|LabelText)$/;
const NAMING = ['bid', 'from_bid', 'to_bid'];

/** @param page its id @param settle  milliseconds that an action takes, those that do nothing too */
export function shownPage(perturbation: Perturbation, page: string, settle: number): ShownPage {
  const { ids, order, distractors, seed } = perturbation;
  const draw = (below: number, what: string) => drawBySeed(below, seed, `${page} ${what}`);
  const factor = ids ? FACTORS[draw(FACTORS.length, 'factor')] : 1;
  const offset = ids ? draw(LARGEST_OFFSET, 'offset') : 0;
  const shownId = (id: string) => (id === '' ? '' : String(factor * Number(id) + offset));
  const pageId = (id: string) => String((Number(id) - offset) / factor);
  const renamed = ({ name, arguments: given }: CallSpec, idOf: (id: string) => string): CallSpec => {
    const named = NAMING.filter((key) => key in given).map((key) => [key, idOf(String(given[key]))]);
    return { name, arguments: { ...given, ...Object.fromEntries(named) } };
  };
  return {
    shown: (view, goal) => {
      const placed = order && !PLACES.test(unquoted(goal)) ? reordered(view, `${seed} ${page}`) : view.elements;
      const elements = Object.fromEntries(
        Object.entries(placed).map(([id, element]) => [
          shownId(id),
          { ...element, children: element.children.map(shownId) },
        ]),
      );
      const root = shownId(view.root);
      addDistractors(elements, root, chosenBeside(goal, distractors, draw));
      return { ...view, focused: shownId(view.focused), root, elements };
    },
    meant: (call) => {
      const isOfNone = NAMING.some((key) => key in call.arguments && Number(call.arguments[key]) >= FIRST_DISTRACTOR);
      return isOfNone ? { name: 'noop', arguments: { wait_ms: settle } } : renamed(call, pageId);
    },
    asShown: (call) => renamed(call, shownId),
  };
}

function unquoted(goal: string): string {
  return goal.replace(/"[^"]*"/g, '""');
}

/** So many, none of which the goal names, nor speaks of its role: `the button` must stay the only one. */
function chosenBeside(
  goal: string,
  count: number,
  draw: (below: number, what: string) => number,
): readonly { readonly element: ScreenElement; readonly isFirst: boolean }[] {
  const said = goal.toLowerCase();
  const free = DISTRACTORS.filter(({ role, name }) => !said.includes(role) && !said.includes(name.toLowerCase()));
  const keyed = free.map((element) => ({ element, key: draw(2 ** 31, element.name) }));
  const chosen = keyed.sort((a, b) => a.key - b.key).slice(0, count);
  return chosen.map(({ element, key }) => ({ element, isFirst: key % 2 === 0 }));
}

/** Before and after all else, in place. */
function addDistractors(
  elements: Record<string, ScreenElement>,
  root: string,
  added: ReturnType<typeof chosenBeside>,
): void {
  if (root === '') return;
  const ids = added.map((_, i) => String(FIRST_DISTRACTOR + i));
  for (const [i, { element }] of added.entries()) elements[ids[i]] = element;
  const where = (first: boolean) => ids.filter((_, i) => added[i].isFirst === first);
  const { children, ...rest } = elements[root];
  elements[root] = { ...rest, children: [...where(true), ...children, ...where(false)] } as ScreenElement;
}

/** The same elements; an element's place among its like follows from its id, and so stays what it is from screen to screen. */
function reordered({ elements }: ScreenView, key: string): Readonly<Record<string, ScreenElement>> {
  const places = new Map(Object.keys(elements).map((id) => [id, contentHash({ key, id })]));
  const moved = Object.entries(elements).map(([id, element]) => {
    const children = runsOf(element.children, elements).flatMap((run) =>
      isOfLike(run, elements) ? [...run].sort((a, b) => (places.get(a)! < places.get(b)! ? -1 : 1)) : run,
    );
    return [id, { ...element, children }] as const;
  });
  return Object.fromEntries(moved);
}

/** Children in their order, those of one role that stand side by side together. */
function runsOf(children: readonly string[], elements: ScreenView['elements']): string[][] {
  const runs: string[][] = [];
  for (const id of children) {
    const last = runs.at(-1);
    if (last !== undefined && elements[last[0]].role === elements[id].role) last.push(id);
    else runs.push([id]);
  }
  return runs;
}

/** Whether each could stand where another does: all read differently, and are more than text. */
function isOfLike(run: readonly string[], elements: ScreenView['elements']): boolean {
  const { role } = elements[run[0]];
  if (FIXED.test(role)) return false;
  if (TEXT_ALONE.test(role) && run.some((id) => elements[id].children.length === 0)) return false;
  const texts = run.map((id) => textOf(id, elements));
  return texts.every((text) => text !== '') && new Set(texts).size === run.length;
}

function textOf(id: string, elements: ScreenView['elements']): string {
  const { name, children } = elements[id];
  return [name, ...children.map((child) => textOf(child, elements))].join(' ').trim();
}
