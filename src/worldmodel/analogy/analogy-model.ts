// Analogies as a backend of the router.

import { z } from 'zod';
import { NO_COST } from '../../core/cost.js';
import { type CallQuery, type ShownState, shownChanges } from '../../env/index.js';
import { confidenceOf } from '../from-records/calibration.js';
import { ModelFile, type RecordedContents } from '../from-records/model-file.js';
import type { BackendModel, Declined, RawProposal } from '../tools/backend-model.js';
import { Casebook } from './casebook.js';
import { momentOf, stepsOf, type Walks, walksSchema } from './recorded-walks.js';

export interface AnalogyContents extends RecordedContents<Walks> {
  /** Of what was kept from it: how often it said that the game was won, and how often it was. */
  readonly wins: { readonly said: number; readonly right: number };
}

const count = z.int().min(0);

export const analogyFile = new ModelFile<AnalogyContents>('analogy', {
  walks: walksSchema,
  wins: z.strictObject({ said: count, right: count }),
});

export class AnalogyModel implements BackendModel {
  readonly version: string;
  private readonly book: Casebook;

  constructor(private readonly contents: AnalogyContents) {
    this.version = analogyFile.versionOf(contents);
    this.book = new Casebook(stepsOf(contents.walks));
  }

  predict({ state, task, messages, call }: CallQuery): RawProposal | Declined {
    const before = state as unknown as ShownState;
    if (before.done) return { declined: 'the game has ended' };
    const heard = messages.findLast(({ role }) => role === 'tool' || role === 'user')?.content ?? '';
    const moment = momentOf(state, { task: task.id, goal: task.user.goal, said: heard });
    const command = String(call.arguments.text);
    const said = this.book.say(moment, command);
    if (said === undefined) return { declined: 'nothing that was recorded can be carried over to this moment' };
    const { after, observation, isError, evidence } = said;
    const confidence = this.confidence(evidence, after.success);
    const operations = isError ? [] : shownChanges(before, after, command);
    return { operations, observation, isError, confidence, cost: NO_COST };
  }

  /** A win is no surer than such claims were right where they could be looked up. */
  private confidence(evidence: number, isWin: boolean): number {
    const { calibration, wins } = this.contents;
    const known = confidenceOf(calibration, evidence);
    return isWin ? Math.min(known, (wins.right + 1) / (wins.said + 2)) : known;
  }
}
