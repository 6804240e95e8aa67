// Which ids of elements an episode has used: a browser gives each once, in order, so that new elements get the next ones.

import { LRUCache } from 'lru-cache';
import type { ScreenState } from '../../env/screens/screen-state.js';
import type { Message } from '../../env/tools/message.js';
import { initialStateOf } from '../../env/tools/task-states.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import { lastId } from './recorded-acts.js';

/** Openings of tasks that are held. */
const OPENINGS = 64;

export class KnownIds {
  private readonly openings = new LRUCache<string, ScreenState>({ max: OPENINGS });

  /** The screen that the task began with. */
  openingOf({ domain, task }: Pick<CallQuery, 'domain' | 'task'>): ScreenState {
    const kept = this.openings.get(task.id) ?? (initialStateOf(domain, task) as ScreenState);
    this.openings.set(task.id, kept);
    return kept;
  }

  /** The largest that was seen so far. */
  last(query: CallQuery): number {
    return Math.max(
      lastId(this.openingOf(query)),
      lastId(query.state as ScreenState),
      ...query.messages.map(lastShown),
    );
  }
}

const shown = new WeakMap<Message, number>();

/** The largest id that a message shows; looked for once in each. */
function lastShown(message: Message): number {
  if (message.role !== 'tool') return 0;
  const known = shown.get(message);
  if (known !== undefined) return known;
  const ids = [...message.content.matchAll(/^\s*\[(\d+)\]/gm)];
  const last = ids.reduce((largest, [, id]) => Math.max(largest, Number(id)), 0);
  shown.set(message, last);
  return last;
}
