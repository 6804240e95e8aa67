// Rules from logs as a backend. It is as sure as the least attested rule it used, by Laplace's rule of succession:
// (support + 1) / (support + counter-examples + 2).

import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import type { InducedRule, InducedRules } from '../../env/tools/induced-schema.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { BackendModel, Declined, RawProposal } from '../tools/backend-model.js';
import { InducedBook } from './induced-outcome.js';

export class InducedModel implements BackendModel {
  readonly version: string;
  private readonly book: InducedBook;

  /** @throws FILE_INVALID */
  constructor({ rules }: InducedRules) {
    this.book = new InducedBook(rules, 'induced.yaml');
    this.version = `induced:${sha256(canonicalJson(rules)).slice(0, 16)}`;
  }

  predict({ state, call }: CallQuery): RawProposal | Declined {
    const outcome = this.book.outcome(state, call);
    if ('unknown' in outcome) return { declined: outcome.unknown };
    const { operations, observation, isError, rules } = outcome;
    return { operations, observation, isError, confidence: Math.min(...rules.map(confidence)), cost: NO_COST };
  }
}

function confidence({ support, counterExamples }: InducedRule): number {
  return (support + 1) / (support + counterExamples.length + 2);
}
