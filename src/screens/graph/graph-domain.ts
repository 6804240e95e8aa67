// A navigation graph as a domain: `domain: { id: screen-graph, graph: shop.yaml }` (GUI Exploration Lab: pages as nodes, actions as edges,
// so that what an agent does there is exact and costs nothing). Played without a browser; solutions are found by search.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { contentHash, type JsonObject } from '../../core/canonical-json.js';
import {
  ANSWERS,
  actionLine,
  SCREEN_ACTIONS,
  type ScreenAction,
  textsNamed,
} from '../../env/screens/screen-actions.js';
import type { ScreenElement } from '../../env/screens/screen-state.js';
import type { CallSpec, DomainEntry, ToolsDomain } from '../../env/tools/domain.js';
import { placeOf, type ScreenPlayer } from '../screen-player.js';
import { pageUnknown, playedScreens } from '../screens-domain.js';
import { drawBySeed, type ScreenPage, seededPages } from '../seeded-pages.js';
import { type GraphFile, type GraphTask, graphInvalid, readGraph, type Scalar } from './graph-file.js';
import {
  allHold,
  changed,
  fieldKind,
  type GraphMoment,
  GraphWorld,
  type Placed,
  type Row,
  textOf,
} from './graph-world.js';

const SEEDS = 5;
/** Changes whenever the same action in the same graph could be answered otherwise. */
const RULES_VERSION = '1';
/** Those for which a page needs no layout, no address and no second tab. */
const OFFERED: readonly ScreenAction[] = [
  ...(['noop', 'click', 'dblclick', 'hover', 'focus', 'fill', 'clear', 'press', 'select_option'] as const),
  ...(['go_back', 'go_forward'] as const),
];
const MOMENTS = 4_096;
/** Of texts that an answer may be: no whole paragraphs. */
const LONGEST_ANSWER = 60;
/** Moments that a search looks at before a solution counts as not known. */
const MOST_MOMENTS = 60_000;

const ownKeys = z.strictObject({
  screens: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('screens of a graph: tasks by their names; default: all'),
  seeds: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(SEEDS)
    .describe(`screens of a graph: seeds of each task and split; default ${SEEDS}`),
});
const settings = ownKeys.extend({
  graph: z.string().min(1).describe("screen-graph: the graph's file, YAML or JSON, relative to the scenario"),
});

export const screenGraphs: DomainEntry = {
  name: 'screen-graph',
  summary: 'Screens of a navigation graph in a file of your own: pages, edges, data and tasks, without a browser.',
  schema: settings,
  files: ({ graph }, folder) => (typeof graph === 'string' ? [path.resolve(folder, graph)] : []),
  make: async () => async (given, folder) => {
    const { graph, ...rest } = settings.parse(given);
    return graphDomain(path.resolve(folder, graph), rest);
  },
};

/**
 * A graph under a name of its own, for packs and plugins.
 * @param file absolute: its path, or its URL (`new URL('shop.yaml', import.meta.url)`)
 */
export function screenGraphDomain(name: string, summary: string, file: string | URL): DomainEntry {
  const graph = file instanceof URL ? fileURLToPath(file) : file;
  return {
    name,
    summary,
    schema: ownKeys,
    files: () => [graph],
    make: async () => async (given) => ({ ...graphDomain(graph, ownKeys.parse(given)), id: name }),
  };
}

/**
 * @param file absolute path
 * @throws FILE_INVALID, UNKNOWN_KEY, NAME_UNKNOWN
 */
export function graphDomain(file: string, { screens, seeds }: z.output<typeof ownKeys>): ToolsDomain {
  const graph = readGraph(file);
  const names = graph.tasks.map(({ name }) => name);
  const unknown = screens?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw pageUnknown(graph.title, unknown, '', names);
  const pages = seededPages(screens ?? names, seeds, () => ({ file: '' }));
  const asks = graph.tasks.some(({ answer }) => answer !== undefined);
  const version = contentHash(graph as unknown as JsonObject);
  const domain = playedScreens({
    id: path.basename(file, path.extname(file)),
    pages,
    version,
    policy: graph.policy,
    player: new GraphPlayer(graph, pages, file),
    actions: SCREEN_ACTIONS.filter((name) => OFFERED.includes(name) || (asks && name === ANSWERS)),
    rules: `screen-graph ${RULES_VERSION} ${version}`,
  });
  return graph.goalKinds === undefined ? domain : { ...domain, goalKinds: graph.goalKinds };
}

/** Where a task stands follows from what was done; what was worked out lately is not worked out again. */
class GraphPlayer implements ScreenPlayer {
  private readonly world: GraphWorld;
  private readonly pages: ReadonlyMap<string, ScreenPage>;
  private readonly moments = new LRUCache<string, GraphMoment>({ max: MOMENTS });

  /** @param path of the file, for errors */
  constructor(
    private readonly file: GraphFile,
    pages: readonly ScreenPage[],
    private readonly path: string,
  ) {
    this.world = new GraphWorld(file);
    this.pages = new Map(pages.map((page) => [page.id, page]));
  }

  begin(page: string) {
    return this.world.look(this.at(page, []));
  }

  act(page: string, before: readonly CallSpec[], call: CallSpec) {
    const after = this.world.act(this.at(page, before), call);
    if (typeof after === 'string') return after;
    this.moments.set(placeOf(page, [...before, call]), after);
    return this.world.look(after);
  }

  /** @throws FILE_INVALID where nothing that can be done does the task */
  solution(page: string): readonly CallSpec[] | undefined {
    const { done, answer } = this.taskOf(page);
    // A place to walk from, which is never done.
    if (done === undefined && answer === undefined) return undefined;
    const calls = shortestSolution(this.world, this.at(page, []));
    if (calls !== 'none') return calls;
    throw this.invalid(page, '', `no way through the pages does it with seed ${this.pages.get(page)!.seed}`);
  }

  answers(page: string, { elements }: { readonly elements: Readonly<Record<string, ScreenElement>> }): string[] {
    if (this.taskOf(page).answer === undefined) return [];
    const names = Object.values(elements).flatMap(({ children, name }) => (children.length === 0 ? [name] : []));
    return [...new Set(names.filter((name) => name !== '' && name.length <= LONGEST_ANSWER))];
  }

  close(): void {
    this.moments.clear();
  }

  private at(page: string, calls: readonly CallSpec[]): GraphMoment {
    const key = placeOf(page, calls);
    const known = this.moments.get(key);
    if (known !== undefined) return known;
    const before = calls.length === 0 ? this.beginning(page) : this.at(page, calls.slice(0, -1));
    const after = calls.length === 0 ? before : this.world.act(before, calls.at(-1)!);
    // Refused then, refused now: it changed nothing.
    const moment = typeof after === 'string' ? before : after;
    this.moments.set(key, moment);
    return moment;
  }

  /** @throws FILE_INVALID */
  private beginning(page: string): GraphMoment {
    const { file } = this;
    const task = this.taskOf(page);
    const { seed } = this.pages.get(page)!;
    const given = Object.fromEntries(
      Object.entries(file.data).map(([name, cell]) => {
        if (cell.type === 'table') return [name, cell.rows];
        return [name, cell.type === 'sum' || cell.type === 'count' ? undefined : cell.value];
      }),
    );
    const draws: Record<string, Scalar | Row> = {};
    for (const [name, draw] of Object.entries(task.draw)) {
      const { from, where } = typeof draw === 'object' && !Array.isArray(draw) ? draw : { from: draw };
      const choices = Array.isArray(from) ? from : (given[from as string] as readonly Row[]);
      const fitting = (choices as readonly (Scalar | Row)[]).filter((row) =>
        allHold(where, { cells: file.data, data: given, rows: { row: row as Row } }),
      );
      if (fitting.length === 0) throw this.invalid(page, `.draw.${name}`, 'there is nothing to draw from');
      draws[name] = fitting[drawBySeed(fitting.length, seed, `${task.name} ${name}`)];
    }
    const rows = { task: draws };
    const data = changed(task.changes, { cells: file.data, data: given, rows });
    const scope = { cells: file.data, data, rows };
    const { done, over, answer } = task;
    const moment = this.world.begin({
      ...{ goal: textOf(task.goal, scope), page: task.start ?? file.start, data, draws, done, over },
      ...(answer !== undefined && { answer: textOf(answer, scope) }),
    });
    if (!moment.done) return moment;
    throw this.invalid(page, '', `it is over as soon as it begins, with seed ${seed}`);
  }

  private taskOf(page: string): GraphTask {
    return this.file.tasks.find(({ name }) => name === this.pages.get(page)!.family)!;
  }

  private invalid(page: string, place: string, problem: string): Error {
    return graphInvalid(this.path, `tasks.${this.file.tasks.indexOf(this.taskOf(page))}${place}`, problem);
  }
}

// The shortest way to a task's goal, breadth first over what its world can be, by actions that do something.

/** What a search leaves out: rows like those that the task drew, but others; answers that are not on the screen. */
interface Bounds {
  readonly others: boolean;
  readonly unseen: boolean;
}

/** Narrow searches first: a solution touches no other rows, and answers by what is on the screen, where that is possible. */
const SEARCHES: readonly Bounds[] = [
  { others: true, unseen: true },
  { others: false, unseen: true },
  { others: false, unseen: false },
];

/**
 * Of equally short ways the first by the order of elements on the page.
 * @returns 'none' where all that can be reached (but by going back) was looked at; undefined where there was too much to look at
 */
function shortestSolution(world: GraphWorld, beginning: GraphMoment): readonly CallSpec[] | 'none' | undefined {
  let found: readonly CallSpec[] | 'none' | undefined;
  for (const bounds of SEARCHES) {
    found = searched(world, beginning, bounds);
    if (Array.isArray(found)) break;
  }
  return found;
}

function searched(world: GraphWorld, beginning: GraphMoment, bounds: Bounds): readonly CallSpec[] | 'none' | undefined {
  const seen = new Set([situationOf(beginning)]);
  const ways: { readonly moment: GraphMoment; readonly calls: readonly CallSpec[] }[] = [
    { moment: beginning, calls: [] },
  ];
  // More are added while they are gone through.
  for (const from of ways) {
    for (const call of movesOf(world, from.moment, bounds)) {
      const moment = world.act(from.moment, call);
      if (typeof moment === 'string' || (moment.done && moment.reward <= 0)) continue;
      const calls = [...from.calls, call];
      if (moment.done) return calls;
      const place = situationOf(moment);
      if (seen.has(place)) continue;
      if (seen.size >= MOST_MOMENTS) return undefined;
      seen.add(place);
      ways.push({ moment, calls });
    }
  }
  return 'none';
}

/** All that what follows depends on; not the ids, nor where the keyboard is. Data is told where it is not as at the beginning. */
function situationOf({ page, data, fields, start }: GraphMoment): string {
  const other = Object.entries(data).filter(([name, value]) => value !== start.data[name]);
  return JSON.stringify([page, other, fields]);
}

function movesOf(world: GraphWorld, moment: GraphMoment, bounds: Bounds): CallSpec[] {
  const { start, placed } = moment;
  const drawn = Object.values(start.draws).filter((value): value is Row => typeof value === 'object');
  const isLike = (a: Row, b: Row) => Object.keys(a).join() === Object.keys(b).join();
  const isOther = (row: Row, one: Row) => isLike(row, one) && Object.keys(row).some((key) => row[key] !== one[key]);
  const isAside = ({ rows: { task: _, ...rows } }: Placed) =>
    Object.values(rows).some((row) => drawn.some((one) => isOther(row as Row, one)));
  const near = placed.filter((one) => one.properties.disabled !== true && !(bounds.others && isAside(one)));
  const moves = near.flatMap((one) => movesOn(world, moment, one));
  if (start.answer === undefined) return moves;
  const text = String(start.answer);
  // As a whole word: 4 is not in 45.
  const isIn = (shown: Scalar | undefined) => ` ${shown ?? ''} `.toLowerCase().includes(` ${text.toLowerCase()} `);
  const isSeen = placed.some(({ name, properties }) => isIn(name) || isIn(properties.value));
  return isSeen || !bounds.unseen ? [...moves, { name: 'send_msg_to_user', arguments: { text } }] : moves;
}

function movesOn(world: GraphWorld, { page, ids, start }: GraphMoment, placed: Placed): CallSpec[] {
  const bid = ids.get(placed.key)!;
  const moves: CallSpec[] = [];
  const kind = fieldKind(placed.template);
  if (kind === 'ticked' || kind === 'radio') moves.push({ name: 'click', arguments: { bid } });
  if (kind === 'written' && placed.properties.readonly !== true) {
    // What may be written: what the goal names in quotes, and what the task drew.
    const drawn = Object.values(start.draws).flatMap((value) => (typeof value === 'object' ? [] : [String(value)]));
    for (const value of new Set([...textsNamed(start.goal), ...drawn]))
      moves.push({ name: 'fill', arguments: { bid, value } });
  }
  if (kind === 'chosen')
    for (const { name, template } of placed.children)
      if (template.role === 'option') moves.push({ name: 'select_option', arguments: { bid, options: name } });
  for (const { action, key } of world.edgesOf(page, placed)) {
    moves.push({ name: action, arguments: action === 'press' ? { bid, key_comb: key ?? 'Enter' } : { bid } });
  }
  return [...new Map(moves.map((move) => [actionLine(move), move])).values()];
}
