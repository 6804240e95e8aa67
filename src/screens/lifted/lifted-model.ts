// The lifted model as a backend of the router.

import { NO_COST } from '../../core/cost.js';
import type { ScreenState } from '../../env/screens/screen-state.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import { confidenceOf } from '../../worldmodel/from-records/calibration.js';
import { ModelFile, type RecordedContents } from '../../worldmodel/from-records/model-file.js';
import type { BackendModel, Declined, RawProposal } from '../../worldmodel/tools/backend-model.js';
import { screenChanges } from '../screen-changes.js';
import { Act } from './act.js';
import { KnownIds } from './known-ids.js';
import { LiftedBook } from './lifted-book.js';
import { recordedActs, type Walks, walksSchema } from './recorded-acts.js';

export type LiftedContents = RecordedContents<Walks>;

export const liftedFile = new ModelFile<LiftedContents>('lifted', { walks: walksSchema });

export class LiftedModel implements BackendModel {
  readonly version: string;
  private readonly book: LiftedBook;
  private readonly ids = new KnownIds();

  constructor(private readonly contents: LiftedContents) {
    this.version = liftedFile.versionOf(contents);
    this.book = new LiftedBook(recordedActs(contents.walks));
  }

  predict(query: CallQuery): RawProposal | Declined {
    const before = query.state as ScreenState;
    const opening = this.ids.openingOf(query);
    const said = this.book.say(new Act({ state: before, call: query.call, opening, ids: this.ids.last(query) }));
    if (said === undefined) return { declined: 'nothing like it was recorded on a screen like this' };
    const { after, observation, evidence } = said;
    const confidence = confidenceOf(this.contents.calibration, evidence);
    if (after === undefined) return { operations: [], observation, isError: true, confidence, cost: NO_COST };
    const twice = openedTwice(before, after);
    if (twice !== undefined)
      return {
        declined: `it would open the dialog ${JSON.stringify(twice)}, which is open and may well cover what is pointed at`,
      };
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
}

/**
 * The name of a dialog that has come and was there already. What opened it is recorded where it was closed, as it is covered where it
 * is open, and no tree says so.
 */
function openedTwice(before: ScreenState, after: ScreenState): string | undefined {
  const dialogs = ({ elements }: ScreenState) => Object.entries(elements).filter(([, { role }]) => role === 'dialog');
  const open = new Set(dialogs(before).flatMap(([id, { name }]) => (after.elements[id] === undefined ? [] : [name])));
  return dialogs(after).find(([id, { name }]) => before.elements[id] === undefined && open.has(name))?.[1].name;
}
