// The lifted model as a backend of the router.

import { LRUCache } from 'lru-cache';
import { NO_COST } from '../../core/cost.js';
import { type CallQuery, initialStateOf, type Message, type ScreenState, screenChanges } from '../../env/index.js';
import { confidenceOf } from '../sequence/calibration.js';
import type { BackendModel, Declined, RawProposal } from '../tools/backend-model.js';
import { Act } from './act.js';
import { LiftedBook } from './lifted-book.js';
import { type LiftedContents, versionOf } from './lifted-file.js';
import { lastId, recordedActs } from './recorded-acts.js';

/** Openings of tasks that are held. */
const OPENINGS = 64;

export class LiftedModel implements BackendModel {
  readonly version: string;
  private readonly book: LiftedBook;
  private readonly openings = new LRUCache<string, ScreenState>({ max: OPENINGS });

  constructor(private readonly contents: LiftedContents) {
    this.version = versionOf(contents);
    this.book = new LiftedBook(recordedActs(contents.walks));
  }

  predict(query: CallQuery): RawProposal | Declined {
    const before = query.state as ScreenState;
    const opening = this.openingOf(query);
    const ids = Math.max(lastId(opening), lastId(before), ...query.messages.map(lastShown));
    const said = this.book.say(new Act({ state: before, call: query.call, opening, ids }));
    if (said === undefined) return { declined: 'nothing like it was recorded on a screen like this' };
    const { after, observation, evidence } = said;
    const confidence = confidenceOf(this.contents.calibration, evidence);
    if (after === undefined) return { operations: [], observation, isError: true, confidence, cost: NO_COST };
    const done = { op: 'add', path: '/history/-', value: after.history.at(-1)! } as const;
    return {
      operations: [...screenChanges(before, after), done],
      // Drawn from the state by the domain.
      observation: '',
      isError: false,
      confidence,
      cost: NO_COST,
    };
  }

  private openingOf({ domain, task }: CallQuery): ScreenState {
    const kept = this.openings.get(task.id) ?? (initialStateOf(domain, task) as ScreenState);
    this.openings.set(task.id, kept);
    return kept;
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
