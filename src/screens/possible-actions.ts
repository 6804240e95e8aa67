// Actions that a screen offers by what is on it: what agents choose among that write no lines of their own. There are more, as any text
// can be written into a field; these are texts that the task names in quotes.

import { ANSWERS, actionLine, type ScreenAction, textsNamed } from '../env/screens/screen-actions.js';
import { type ScreenState, tabsOf } from '../env/screens/screen-state.js';
import type { CallSpec } from '../env/tools/domain.js';
import { optionsOf, screenRefusals } from './refusals.js';
import { elementsBelow } from './solving.js';

/** Roles of what is pointed at as a whole. */
const POINTED = new Set(['button', 'link', 'menuitem', 'radio', 'checkbox', 'tab', 'treeitem']);

/**
 * In the order of the screen: clicks, then what is written and chosen; none that the screen refuses.
 * @param answers texts that a task which asks something may be answered with
 */
export function possibleActions(
  state: ScreenState,
  offered: readonly ScreenAction[],
  answers: readonly string[] = [],
): readonly string[] {
  const texts = textsNamed(state.goal);
  const [, ...within] = elementsBelow(state);
  const calls = within.flatMap((bid): CallSpec[] => {
    const element = state.elements[bid];
    const options = optionsOf(state, element);
    const holds = element.children.filter((id) => state.elements[id].role !== 'StaticText');
    // What holds others is pointed at by pointing at one of these.
    if (holds.length > options.length && !POINTED.has(element.role)) return [];
    return [
      { name: 'click', arguments: { bid } },
      ...texts.map((value) => ({ name: 'fill', arguments: { bid, value } })),
      ...options.map(({ name }) => ({ name: 'select_option', arguments: { bid, options: name } })),
    ];
  });
  calls.push(...pageCalls(state), ...answers.map((text) => ({ name: ANSWERS, arguments: { text } })));
  const able = calls.filter((call) => offered.includes(call.name as ScreenAction));
  return able.filter((call) => screenRefusals(state, call).length === 0).map(actionLine);
}

/** Where there are several pages: back, and to other tabs. */
function pageCalls(state: ScreenState): CallSpec[] {
  const { tabs, tab } = tabsOf(state);
  if (tabs.length === 0) return [];
  const others = tabs.flatMap((_, index): CallSpec[] =>
    index === tab ? [] : [{ name: 'tab_focus', arguments: { index } }],
  );
  const closing: CallSpec[] = others.length > 0 ? [{ name: 'tab_close', arguments: {} }] : [];
  return [{ name: 'go_back', arguments: {} }, ...others, ...closing];
}
