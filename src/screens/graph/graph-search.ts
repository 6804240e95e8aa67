// The shortest way to a task's goal: A* (Hart, Nilsson and Raphael, 1968) over what its world can be, by actions that do something. Nobody need
// write solutions. The bound is how many pages the goal's page is away, whatever the data.

import { actionLine, textsNamed } from '../../env/screens/screen-actions.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { GraphFile } from './graph-schema.js';
import { type Row, type Scalar, textOf } from './graph-values.js';
import { fieldKind, type Placed } from './graph-view.js';
import type { GraphMoment, GraphWorld } from './graph-world.js';

/** Moments that are looked at before a solution counts as not known. */
const MOST_MOMENTS = 60_000;

export type Found =
  | { readonly calls: readonly CallSpec[] }
  /** `isAll`: everything that can be reached (but by going back) was looked at. */
  | { readonly calls?: undefined; readonly isAll: boolean };

interface Way {
  readonly moment: GraphMoment;
  readonly length: number;
  readonly from?: Way;
  readonly call?: CallSpec;
}

/** What a search leaves out. */
interface Bounds {
  /** Rows like those that the task drew, but others. */
  readonly others: boolean;
  /** Answers that are not on the screen. */
  readonly unseen: boolean;
}

/**
 * The shortest that touches, of rows like those the task drew, no others and answers by what is on the screen; where there is none, the
 * shortest of all. Of equally short ways the first by the order of elements on the page.
 */
export function shortestSolution(world: GraphWorld, beginning: GraphMoment): Found {
  let found: Found = { isAll: false };
  for (const bounds of [
    { others: true, unseen: true },
    { others: false, unseen: true },
    { others: false, unseen: false },
  ]) {
    found = searched(world, beginning, bounds);
    if (found.calls !== undefined) break;
  }
  return found;
}

function searched(world: GraphWorld, beginning: GraphMoment, bounds: Bounds): Found {
  const away = pagesAway(world.file, beginning);
  const seen = new Set<string>();
  // By length and bound together, the least first.
  const waiting: Way[][] = [];
  const wait = (way: Way) => {
    const least = way.length + (way.moment.done ? 0 : away(way.moment.page));
    if (least === Number.POSITIVE_INFINITY) return;
    waiting[least] ??= [];
    waiting[least].push(way);
  };
  wait({ moment: beginning, length: 0 });
  for (let least = 0; least < waiting.length; least++) {
    const ways = waiting[least] ?? [];
    for (let i = 0; i < ways.length; i++) {
      const way = ways[i];
      if (way.moment.done) return { calls: callsOf(way) };
      const key = keyOf(way.moment);
      if (seen.has(key)) continue;
      if (seen.size >= MOST_MOMENTS) return { isAll: false };
      seen.add(key);
      for (const call of movesOf(world, way.moment, bounds)) {
        const moment = world.act(way.moment, call);
        const isLost = typeof moment === 'string' || (moment.done && moment.reward <= 0);
        if (!isLost && !(seen.has(keyOf(moment)) && !moment.done))
          wait({ moment, length: way.length + 1, from: way, call });
      }
    }
  }
  return { isAll: true };
}

/** All that what follows depends on; not the ids, nor where the keyboard is. Data is told where it is not as at the beginning. */
function keyOf({ page, data, fields, start }: GraphMoment): string {
  const other = Object.entries(data).filter(([name, value]) => value !== start.data[name]);
  return JSON.stringify([page, other, fields]);
}

function callsOf(last: Way): CallSpec[] {
  const calls: CallSpec[] = [];
  for (let way: Way | undefined = last; way?.call !== undefined; way = way.from) calls.unshift(way.call);
  return calls;
}

/** Edges at least from a page to that on which the task is done; 0 where it may be done on any. */
function pagesAway({ edges }: GraphFile, { start }: GraphMoment): (page: string) => number {
  const goal = start.answer === undefined ? start.done?.find(({ page }) => page !== undefined)?.page : undefined;
  if (goal === undefined) return () => 0;
  const away = new Map([[goal, 0]]);
  for (const page of away.keys())
    for (const edge of edges) if (edge.to === page && !away.has(edge.page)) away.set(edge.page, away.get(page)! + 1);
  return (page) => away.get(page) ?? Number.POSITIVE_INFINITY;
}

function movesOf(world: GraphWorld, moment: GraphMoment, bounds: Bounds): CallSpec[] {
  const { start, placed } = moment;
  const drawn = Object.values(start.draws).filter((value): value is Row => typeof value === 'object');
  const isOther = ({ rows: { task: _, ...rows } }: Placed) =>
    Object.values(rows).some((row) => drawn.some((one) => isLike(row as Row, one) && !isEqual(row as Row, one)));
  const near = placed.filter((one) => one.properties.disabled !== true && !(bounds.others && isOther(one)));
  const moves = near.flatMap((one) => movesOn(world, moment, one));
  if (start.answer === undefined) return moves;
  const text = textOf(start.answer, { cells: world.file.data, data: moment.data, rows: { task: start.draws } });
  const isSeen = placed.some(({ name, properties }) => [name, properties.value].some((told) => isIn(text, told)));
  return isSeen || !bounds.unseen ? [...moves, { name: 'send_msg_to_user', arguments: { text } }] : moves;
}

/** As a whole word: 4 is not in 45. */
function isIn(text: string, told: Scalar | undefined): boolean {
  return ` ${told ?? ''} `.toLowerCase().includes(` ${text.toLowerCase()} `);
}

function isLike(a: Row, b: Row): boolean {
  return Object.keys(a).join() === Object.keys(b).join();
}

function isEqual(a: Row, b: Row): boolean {
  return Object.keys(a).every((key) => a[key] === b[key]);
}

function movesOn(world: GraphWorld, moment: GraphMoment, placed: Placed): CallSpec[] {
  const bid = world.idOf(moment, placed);
  const moves: CallSpec[] = [];
  const kind = fieldKind(placed.template);
  const isReadOnly = placed.properties.readonly === true;
  if (kind === 'ticked' || kind === 'radio') moves.push({ name: 'click', arguments: { bid } });
  if (kind === 'written' && !isReadOnly)
    for (const value of textsOf(moment)) moves.push({ name: 'fill', arguments: { bid, value } });
  if (kind === 'chosen')
    for (const { name, optionOf } of placed.children)
      if (optionOf !== undefined) moves.push({ name: 'select_option', arguments: { bid, options: name } });
  for (const { action, key } of world.edgesOf(moment.page, placed)) {
    if (action === 'fill' || action === 'select_option') continue;
    moves.push({ name: action, arguments: action === 'press' ? { bid, key_comb: key ?? 'Enter' } : { bid } });
  }
  return [...new Map(moves.map((move) => [actionLine(move), move])).values()];
}

/** What may be written: what the goal names in quotes, and what the task drew. */
function textsOf({ start }: GraphMoment): readonly string[] {
  const drawn = Object.values(start.draws).flatMap((value) => (typeof value === 'object' ? [] : [String(value)]));
  return [...new Set([...textsNamed(start.goal), ...drawn])];
}
