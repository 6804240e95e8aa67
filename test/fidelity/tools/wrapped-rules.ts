// A model of tools with errors put in by hand: the exact rules, wrong as often as is said, in the way that is said. What it
// draws depends on the question alone.

import { canonicalJson, type Json } from '../../../src/core/canonical-json.js';
import { Rng } from '../../../src/core/rng.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { Operation, Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { CallQuery, Responder } from '../../../src/env/tools/tools-family.js';

export interface WrappedErrors {
  /** Share of calls that change something whose state turns out wrong, while the observation stays right. */
  readonly state?: number;
  /** Share of calls whose observation is wrong, while the state stays right. */
  readonly observation?: number;
  /** Share of answers that say an error where there is none, or none where there is one; nothing else changes. */
  readonly flag?: number;
  /** Share of observations that name an id which does not exist. */
  readonly invented?: number;
  /** What it says of its own certainty, from how likely it was right. */
  readonly confidence?: (right: number) => number;
  /** Share of draws that another seed of the question would make otherwise; 0: always the same. */
  readonly noisy?: number;
  readonly seed?: number;
}

export function wrappedRules(domain: ToolsDomain, errors: WrappedErrors): Responder {
  const real = rulesResponder(domain, 'rules');
  return {
    version: `wrapped:${JSON.stringify({ ...errors, confidence: errors.confidence?.(0.5) ?? null })}`,
    answer: (query) => spoilt(query, real.answer(query) as Prediction, errors),
    close: () => {},
  };
}

function spoilt(query: CallQuery, right: Prediction, errors: WrappedErrors): Prediction {
  const rng = Rng.fromSeed(errors.seed ?? 0).split('wrapped', keyOf(query, errors));
  // Some questions are harder: a calibrated model says so.
  const hard = rng.split('hard').uniform();
  const isWrong = (label: string, share = 0) =>
    rng.split(label).uniform() < (errors.confidence ? 2 * hard * share : share);
  const changes = right.operations.length > 0;
  const operations = changes && isWrong('state', errors.state) ? wrongOperations(right.operations) : right.operations;
  const observation = isWrong('observation', errors.observation) ? `${right.observation} indeed` : right.observation;
  const isError = isWrong('flag', errors.flag) ? !right.isError : right.isError;
  const risk = 2 * hard * (errors.observation ?? 0);
  return {
    ...right,
    operations,
    observation,
    isError,
    confidence: errors.confidence?.(1 - risk) ?? 1,
  };
}

function keyOf({ task, state, call, messages, seed }: CallQuery, { noisy = 0 }: WrappedErrors): string {
  const key = canonicalJson([task.id, stateHash(state), call as unknown as Json, messages.slice(1) as unknown as Json]);
  const isNoisy = Rng.fromSeed(1).split('noisy', key).uniform() < noisy;
  return isNoisy ? `${key} ${seed}` : key;
}

/** One more entry where none should be. */
function wrongOperations(operations: readonly Operation[]): Operation[] {
  const [collection] = operations[0].path.split('/').slice(1);
  return [...operations, { op: 'add', path: `/${collection}/WRONG-1`, value: { made: 'up' } }];
}
