// What happens in a graph: exact, and a function of the task and of what was done. A moment is never changed; an action leads to another.

import type { CallSpec } from '../../env/tools/domain.js';
import type { PageMoment } from '../page/page-browser.js';
import type { GraphEdge, GraphFile } from './graph-schema.js';
import { allHold, changed, resolved, type Scalar, type Scope, textOf } from './graph-values.js';
import {
  type Fields,
  fieldKind,
  inOrder,
  optionName,
  type PageScope,
  type Placed,
  placedElements,
  screenElements,
  shownProperties,
} from './graph-view.js';

/** A task as a seed sets it. */
export interface GraphStart {
  readonly goal: string;
  readonly page: string;
  readonly data: Scope['data'];
  /** What `task` names. */
  readonly draws: Scope['rows'][string];
  readonly done?: GraphFile['tasks'][number]['done'];
  readonly over?: GraphFile['tasks'][number]['over'];
  readonly answer?: Scalar;
}

/** What `GraphMoment` has beside what follows from it. */
interface Stand {
  readonly page: string;
  readonly data: Scope['data'];
  readonly fields: Fields;
  /** Pages that lead back, and forward again. */
  readonly back: readonly string[];
  readonly forward: readonly string[];
  /** Key of the element that the keyboard writes to. */
  readonly focused: string;
  /** Ids of what was on the page since it was opened. */
  readonly ids: ReadonlyMap<string, string>;
  /** Ids that were given. */
  readonly count: number;
}

export interface GraphMoment extends Stand {
  readonly start: GraphStart;
  /** The page, what holds others first. */
  readonly placed: readonly Placed[];
  readonly top: readonly Placed[];
  readonly reward: number;
  readonly done: boolean;
}

/** Key of the page itself. */
const ROOT = '';

export class GraphWorld {
  /** By page and element. */
  private readonly edges = new Map<string, readonly GraphEdge[]>();

  constructor(readonly file: GraphFile) {
    for (const edge of file.edges) {
      const key = `${edge.page} ${edge.on}`;
      this.edges.set(key, [...(this.edges.get(key) ?? []), edge]);
    }
  }

  begin(start: GraphStart): GraphMoment {
    const stand = { page: start.page, data: start.data, fields: {}, back: [], forward: [], focused: '' };
    return this.moment(start, { ...stand, ids: new Map(), count: 0 });
  }

  /** The next moment, or why the action cannot be carried out. What the screen refuses by itself is none of it. */
  act(before: GraphMoment, { name, arguments: given }: CallSpec): GraphMoment | string {
    if (name === 'noop') return before;
    if (name === 'go_back' || name === 'go_forward') return this.gone(before, name);
    if (name === 'send_msg_to_user') return this.told(before, String(given['text']));
    const target = this.placedAt(before, String(given['bid']));
    if (target === undefined) return `there is no element "${given['bid']}" on the screen`;
    const used = this.used(before, target, name, given);
    if (typeof used === 'string') return used;
    const at = this.scope(used, target.rows);
    const edge = this.edgesOf(before.page, target).find((one) => isOf(one, name, given) && allHold(one.when, at));
    return this.moment(before.start, edge === undefined ? used : this.followed(used, edge, at));
  }

  /** Edges that an element has on a page, whether they can be taken or not. */
  edgesOf(page: string, { template }: Placed): readonly GraphEdge[] {
    return template.id === undefined ? [] : (this.edges.get(`${page} ${template.id}`) ?? []);
  }

  idOf(moment: GraphMoment, { key }: Placed): string {
    return moment.ids.get(key)!;
  }

  look(moment: GraphMoment): PageMoment {
    const { page, top, ids, focused, start, reward, done } = moment;
    const idOf = (key: string) => ids.get(key)!;
    const title = textOf(this.file.pages[page].title, this.scope(moment));
    const root = idOf(ROOT);
    return {
      focused: focused === '' ? '' : (ids.get(focused) ?? ''),
      root,
      elements: screenElements(title, top, root, idOf),
      tabs: [`/${page} ${title}`],
      tab: 0,
      goal: start.goal,
      reward,
      done,
    };
  }

  private placedAt({ placed, ids }: GraphMoment, id: string): Placed | undefined {
    return placed.find(({ key }) => ids.get(key) === id);
  }

  private scope({ data, fields, start }: Stand & { start: GraphStart }, rows: Scope['rows'] = {}): PageScope {
    return { cells: this.file.data, data, fields, rows: { ...rows, task: start.draws } };
  }

  /** What every page makes of it: fields hold what is put into them, and the keyboard follows. */
  private used(before: GraphMoment, target: Placed, name: string, given: CallSpec['arguments']): GraphMoment | string {
    const { template, key, properties } = target;
    const kind = fieldKind(template);
    const focused = kind !== undefined || name === 'focus' || name === 'press' ? key : before.focused;
    const at = { ...before, focused: name === 'hover' ? before.focused : focused };
    if (name === 'fill' || name === 'clear') return this.put(at, target, String(given['value'] ?? ''));
    if (name === 'select_option') return this.put(at, target, [given['options']].flat().map(String).join(', '));
    if (name !== 'click') return at;
    if (kind === 'ticked') return this.put(at, target, properties.checked !== true);
    return kind === 'radio' ? this.put(at, target, optionName(template, this.scope(before, target.rows))) : at;
  }

  private put(at: GraphMoment, { template, key }: Placed, value: Scalar): GraphMoment | string {
    const { bind } = template;
    if (bind === undefined) return { ...at, fields: { ...at.fields, [key]: value } };
    if (this.file.data[bind].type !== 'number') return { ...at, data: { ...at.data, [bind]: value } };
    const number = Number(value === '' ? 0 : value);
    if (!Number.isFinite(number)) return `"${value}" is no number`;
    return { ...at, data: { ...at.data, [bind]: number } };
  }

  private followed(used: GraphMoment, { changes, to }: GraphEdge, at: PageScope): GraphMoment {
    const after = { ...used, data: changed(changes, at) };
    return to === undefined ? after : opened(after, to, { back: [...used.back, used.page], forward: [] });
  }

  private gone(before: GraphMoment, name: 'go_back' | 'go_forward'): GraphMoment {
    const { back, forward, page } = before;
    const isBack = name === 'go_back';
    const to = (isBack ? back : forward).at(-1);
    if (to === undefined) return before;
    const ways = isBack
      ? { back: back.slice(0, -1), forward: [...forward, page] }
      : { back: [...back, page], forward: forward.slice(0, -1) };
    return this.moment(before.start, opened(before, to, ways));
  }

  /** Where a task asks for an answer, the first message is it. */
  private told(before: GraphMoment, text: string): GraphMoment {
    const { answer, done } = before.start;
    if (answer === undefined) return before;
    const shown = this.shownScope(before);
    const isRight = text.trim().toLowerCase() === String(resolved(answer, shown)).trim().toLowerCase();
    return { ...before, done: true, reward: isRight && allHold(done, shown) ? 1 : 0 };
  }

  private shownScope(moment: GraphMoment): PageScope {
    return { ...this.scope(moment), shown: shownProperties(moment.page, moment.placed) };
  }

  private moment(start: GraphStart, stand: Stand): GraphMoment {
    const top = placedElements(stand.page, this.file, this.scope({ ...stand, start }));
    const placed = inOrder(top);
    const ids = new Map(stand.ids);
    let { count } = stand;
    for (const key of [ROOT, ...placed.map((one) => one.key)]) if (!ids.has(key)) ids.set(key, String(++count));
    const moment = { ...stand, start, top, placed, ids, count, reward: 0, done: false };
    const shown = this.shownScope(moment);
    if (start.done !== undefined && start.answer === undefined && allHold(start.done, shown))
      return { ...moment, reward: 1, done: true };
    return start.over !== undefined && allHold(start.over, shown) ? { ...moment, done: true } : moment;
  }
}

/** Another page has other elements: its fields are empty, and none of its ids was there before. */
function opened<T extends Stand>(stand: T, page: string, ways: Pick<Stand, 'back' | 'forward'>): T {
  return { ...stand, ...ways, page, fields: {}, focused: '', ids: new Map() };
}

function isOf({ action, key }: GraphEdge, name: string, given: CallSpec['arguments']): boolean {
  return action === name && (key === undefined || key === given['key_comb']);
}
