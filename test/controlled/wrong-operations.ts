// Changes of the state that are not the true ones: one dropped, one altered, or one invented.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { Rng } from '../../src/core/rng.js';
import { applyOperations } from '../../src/env/state/operations.js';
import { stateHash } from '../../src/env/state/state.js';
import type { Operation } from '../../src/env/tools/prediction.js';
import { asObject } from './asked.js';
import { pick, wrongValue } from './wrong-values.js';

const TRIES = 8;

/** Operations that apply and lead to another state than `operations` do; undefined if none was found. */
export function wrongOperations(
  state: JsonObject,
  operations: readonly Operation[],
  rng: Rng,
): readonly Operation[] | undefined {
  const right = stateHash(applyOperations(state, operations));
  for (let i = 0; i < TRIES; i++) {
    const wrong = spoil(state, operations, rng);
    if (wrong !== undefined && isOther(state, wrong, right)) return wrong;
  }
  return undefined;
}

function spoil(state: JsonObject, operations: readonly Operation[], rng: Rng): readonly Operation[] | undefined {
  const kind = rng.uniform();
  if (operations.length === 0 || kind > 0.85) return invented(state, operations, rng);
  const at = rng.int(operations.length);
  if (kind < 0.45) return operations.filter((_, i) => i !== at);
  const operation = operations[at];
  if (operation.op !== 'add' && operation.op !== 'replace') return undefined;
  const value = wrongValue(operation.value, valuesAlike(state, operation.path), rng);
  return operations.map((other, i) => (i === at ? { ...operation, value } : other));
}

/** Another entity of a collection that changes is changed as well. */
function invented(state: JsonObject, operations: readonly Operation[], rng: Rng): readonly Operation[] | undefined {
  const changed = operations.map(({ path }) => path.split('/')[1]);
  const collection = pick(changed.length > 0 ? changed : Object.keys(state), rng);
  const entities = Object.entries(asObject(state[collection])).filter(([, value]) => typeof value === 'object');
  if (entities.length === 0) return undefined;
  const [key, entity] = pick(entities, rng);
  const fields = Object.entries(asObject(entity)).filter(([, value]) => typeof value !== 'object');
  if (fields.length === 0) return undefined;
  const [field, value] = pick(fields, rng);
  const path = `/${[collection, key, field].map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
  return [...operations, { op: 'replace', path, value: wrongValue(value, valuesAlike(state, path), rng) }];
}

/** What stands at the same place of other entities. */
function valuesAlike(state: JsonObject, path: string): Json[] {
  const [collection, , ...rest] = path.split('/').slice(1);
  const found = Object.values(asObject(state[collection])).map((entity) =>
    rest.reduce<Json | undefined>((part, key) => asObject(part)[key], entity),
  );
  return found.filter((value) => value !== undefined);
}

function isOther(state: JsonObject, operations: readonly Operation[], right: string): boolean {
  try {
    return stateHash(applyOperations(state, operations)) !== right;
  } catch {
    return false;
  }
}
