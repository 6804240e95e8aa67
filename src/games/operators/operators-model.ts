// Induced operators as a backend of the router.

import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import type { FactTable, ToolRules } from '../../env/tools/domain.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { BackendModel, Declined, RawProposal } from '../../worldmodel/tools/backend-model.js';
import type { OperatorsFile } from './operator.js';
import { OperatorBook } from './operator-book.js';

export class OperatorsModel implements BackendModel {
  readonly version: string;
  private readonly book: OperatorBook;

  /** @param sceneOf  what there is in the world of a state, and what is so in it for good */
  constructor(
    file: OperatorsFile,
    private readonly sceneOf: NonNullable<ToolRules['scene']>,
  ) {
    this.book = new OperatorBook(file);
    this.version = `operators:${sha256(canonicalJson(file)).slice(0, 16)}`;
  }

  predict({ state, call }: CallQuery): RawProposal | Declined {
    const outcome = this.book.outcome(this.sceneOf(state), state.facts as FactTable, call);
    if ('unknown' in outcome) return { declined: outcome.unknown };
    const { accepted, operations, observation, confidence } = outcome;
    if (observation === undefined) return { declined: 'what is answered to it was never seen in such a state' };
    return { operations, observation, isError: !accepted, confidence, cost: NO_COST };
  }
}
