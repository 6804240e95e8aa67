// Plays the tasks of a graph. Where a task stands follows from what was done; what was worked out lately is not worked out again.

import { LRUCache } from 'lru-cache';
import { actionLine } from '../../env/screens/screen-actions.js';
import type { ScreenElement } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { ScreenPlayer } from '../screen-player.js';
import { drawBySeed } from '../seeded-pages.js';
import type { GraphDraw, GraphFile, GraphTask } from './graph-schema.js';
import { shortestSolution } from './graph-search.js';
import { allHold, type Cell, changed, type Row, resolved, type Scalar, type Scope, textOf } from './graph-values.js';
import { type GraphMoment, type GraphStart, GraphWorld } from './graph-world.js';
import { graphInvalid } from './read-graph.js';

/** A task of a graph and a seed. */
export interface GraphPage {
  readonly id: string;
  readonly name: string;
  readonly seed: number;
}

const MOMENTS = 4_096;
const SEPARATOR = '\u001e';
/** Of texts that an answer may be: no whole paragraphs. */
const LONGEST_ANSWER = 60;

export class GraphPlayer implements ScreenPlayer {
  private readonly world: GraphWorld;
  private readonly pages: ReadonlyMap<string, GraphPage>;
  private readonly moments = new LRUCache<string, GraphMoment>({ max: MOMENTS });

  /** @param path of the file, for errors */
  constructor(
    private readonly file: GraphFile,
    pages: readonly GraphPage[],
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
    this.moments.set(keyOf(page, [...before, call]), after);
    return this.world.look(after);
  }

  /** @throws FILE_INVALID where nothing that can be done does the task */
  solution(page: string): readonly CallSpec[] | undefined {
    const { done, answer } = this.taskOf(page);
    // A place to walk from, which is never done.
    if (done === undefined && answer === undefined) return undefined;
    const found = shortestSolution(this.world, this.at(page, []));
    if (found.calls === undefined && found.isAll) {
      const problem = `no way through the pages does it with seed ${this.pages.get(page)!.seed}`;
      throw graphInvalid(this.path, this.placeOf(page), problem);
    }
    return found.calls;
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
    const key = keyOf(page, calls);
    const known = this.moments.get(key);
    if (known !== undefined) return known;
    const moment = calls.length === 0 ? this.beginning(page) : this.after(page, calls);
    this.moments.set(key, moment);
    return moment;
  }

  private after(page: string, calls: readonly CallSpec[]): GraphMoment {
    const before = this.at(page, calls.slice(0, -1));
    const after = this.world.act(before, calls.at(-1)!);
    // Refused then, refused now: it changed nothing.
    return typeof after === 'string' ? before : after;
  }

  /** @throws FILE_INVALID */
  private beginning(page: string): GraphMoment {
    const { seed } = this.pages.get(page)!;
    const start = startOf(this.file, this.taskOf(page), seed, (place, problem) =>
      graphInvalid(this.path, `${this.placeOf(page)}${place}`, problem),
    );
    const moment = this.world.begin(start);
    if (!moment.done) return moment;
    throw graphInvalid(this.path, this.placeOf(page), `it is over as soon as it begins, with seed ${seed}`);
  }

  private taskOf(page: string): GraphTask {
    const { name } = this.pages.get(page)!;
    return this.file.tasks.find((task) => task.name === name)!;
  }

  private placeOf(page: string): string {
    return `tasks.${this.file.tasks.indexOf(this.taskOf(page))}`;
  }
}

function startOf(
  file: GraphFile,
  task: GraphTask,
  seed: number,
  fault: (place: string, problem: string) => Error,
): GraphStart {
  const cells = file.data;
  const given = Object.fromEntries(Object.entries(cells).map(([name, cell]) => [name, givenOf(cell)]));
  const draws: Record<string, Scalar | Row> = {};
  for (const [name, draw] of Object.entries(task.draw)) {
    const choices = choicesOf(draw, { cells, data: given, rows: {} });
    if (choices.length === 0) throw fault(`.draw.${name}`, 'there is nothing to draw from');
    draws[name] = choices[drawBySeed(choices.length, seed, `${task.name} ${name}`)];
  }
  const scope: Scope = { cells, data: given, rows: { task: draws } };
  const data = changed(task.changes, scope);
  const { done, over, answer } = task;
  const asked = answer === undefined ? {} : { answer: resolved(answer, { ...scope, data }) };
  const goal = textOf(task.goal, { ...scope, data });
  return { goal, page: task.start ?? file.start, data, draws, done, over, ...asked };
}

function givenOf(cell: GraphFile['data'][string]): Cell {
  if (cell.type === 'table') return cell.rows;
  return cell.type === 'sum' || cell.type === 'count' ? undefined : cell.value;
}

function choicesOf(draw: GraphDraw, scope: Scope): readonly (Scalar | Row)[] {
  if (Array.isArray(draw)) return draw;
  const { from, where } = typeof draw === 'string' ? { from: draw } : (draw as { from: string; where?: never });
  const rows = scope.data[from] as readonly Row[];
  return rows.filter((row) => allHold(where, { ...scope, rows: { row } }));
}

function keyOf(page: string, calls: readonly CallSpec[]): string {
  return [page, ...calls.map(actionLine)].join(SEPARATOR);
}
