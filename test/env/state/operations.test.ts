// Changing a typed state: JSON Patch that shares what it does not touch, and hashes that do not depend on key order.

import { describe, expect, it } from 'vitest';
import { applyOperations, recordOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';

const state = { users: { ann: { age: 30, tags: ['a'] }, bob: { age: 40, tags: [] } }, tickets: {} };

describe('operations', () => {
  it('apply all or none, and share what they do not touch', () => {
    const after = applyOperations(state, [{ op: 'replace', path: '/users/ann/age', value: 31 }]);
    expect(after).toEqual({ ...state, users: { ...state.users, ann: { age: 31, tags: ['a'] } } });
    expect((after.users as typeof state.users).bob).toBe(state.users.bob);
    expect(state.users.ann.age).toBe(30);
  });

  it.each(['/__proto__/polluted', '/users/constructor/prototype/x', ''])('refuse the path "%s"', (path) => {
    expect(() => applyOperations(state, [{ op: 'add', path, value: 1 }])).toThrow('does not apply');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('are recorded from a change', () => {
    const recorded = recordOperations(state, (draft) => {
      draft.users.ann.tags.push('b');
      delete draft.users.bob;
      return 'done';
    });
    expect(recorded.result).toBe('done');
    expect(applyOperations(state, recorded.operations)).toEqual(recorded.state);
  });
});

it('the hash of a state does not depend on the order of keys, and does on every value', () => {
  const turned = { tickets: {}, users: { bob: { tags: [], age: 40 }, ann: { tags: ['a'], age: 30 } } };
  expect(stateHash(turned)).toBe(stateHash(state));
  const changed = applyOperations(state, [{ op: 'add', path: '/users/ann/tags/0', value: 'z' }]);
  expect(stateHash(changed)).not.toBe(stateHash(state));
  expect(stateHash(applyOperations(changed, [{ op: 'remove', path: '/users/ann/tags/0' }]))).toBe(stateHash(state));
});
