// A real mouse and keyboard: actions on a page in Chromium, by playwright-core.

import type { ElementHandle, Page } from 'playwright-core';
import type { ScreenView } from '../../env/screens/screen-state.js';
import type { CallSpec, Picture } from '../../env/tools/domain.js';
import { ActionFailed, type PageContract } from './page-browser.js';

/** How long an element may take to be ready for an action, in milliseconds, on a machine that is busy. */
const ACTION_MS = 10_000;

/** What playwright threw at an action: a refusal, unless it was the page that ended (then its message speaks of a crash). */
export function actionFault(error: unknown): Error {
  const [message] = (error as Error).message.split('\n');
  return /crash/i.test(message) ? new Error(message) : new ActionFailed(message);
}

/** @throws where it cannot be done */
export async function carryOut(page: Page, { name, arguments: given }: CallSpec): Promise<void> {
  const wait = { timeout: ACTION_MS };
  const target = 'bid' in given ? await elementOf(page, given['bid']) : undefined;
  switch (name) {
    case 'noop':
      return;
    case 'click':
      await placeOf(target!);
      return target!.click(wait);
    case 'dblclick':
      await placeOf(target!);
      return target!.dblclick(wait);
    case 'hover':
      await placeOf(target!);
      return target!.hover(wait);
    case 'focus':
      return target!.focus();
    case 'fill':
      return target!.fill(String(given['value']), wait);
    case 'clear':
      return target!.fill('', wait);
    case 'press':
      return target!.press(String(given['key_comb']), wait);
    case 'select_option':
      await target!.selectOption(
        [given['options']].flat().map((label) => ({ label: String(label) })),
        wait,
      );
      return;
    case 'drag_and_drop':
      return drag(page, await elementOf(page, given['from_bid']), await elementOf(page, given['to_bid']));
    case 'scroll':
      return page.mouse.wheel(Number(given['delta_x']), Number(given['delta_y']));
    default:
      throw new Error(`no such action as ${name}`);
  }
}

async function elementOf(page: Page, id: unknown): Promise<ElementHandle> {
  const found = await page.evaluateHandle(`window.reverieView.element(${JSON.stringify(String(id))})`);
  const element = found.asElement();
  if (element === null) throw new Error(`element "${String(id)}" is no longer on the page`);
  return element;
}

async function drag(page: Page, from: ElementHandle, to: ElementHandle): Promise<void> {
  const [start, end] = [await centreOf(from), await centreOf(to)];
  await page.mouse.move(...start);
  await page.mouse.down();
  await page.mouse.move(...end, { steps: 5 });
  await page.mouse.up();
}

async function centreOf(element: ElementHandle): Promise<[number, number]> {
  const box = await placeOf(element);
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/** What the window shows of a screen, and where its elements are. */
export async function pictureOf(
  page: Page,
  { hidden }: Pick<PageContract, 'hidden'>,
  { elements }: Pick<ScreenView, 'elements'>,
): Promise<Picture> {
  const { width, height } = page.viewportSize()!;
  const all = JSON.parse(String(await page.evaluate('window.reverieView.boxes()'))) as Picture['boxes'];
  const boxes = Object.fromEntries(Object.entries(all).filter(([id]) => elements[id] !== undefined));
  // Of a scale of its own, it would not be the boxes'.
  const style = hidden.length > 0 ? { style: `${hidden.join(', ')} { visibility: hidden !important; }` } : {};
  const png = await page.screenshot({ type: 'png', scale: 'css', ...style });
  return { png: Uint8Array.from(png), width, height, boxes };
}

/** An element that has none gets none by being waited for, as the page's time stands still. */
async function placeOf(element: ElementHandle) {
  const box = await element.boundingBox();
  if (box === null || box.width === 0 || box.height === 0) throw new Error('the element has no place on the screen');
  return box;
}
