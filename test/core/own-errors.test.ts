// Errors of a pack's or plugin's own catalogue are as whole as ours, also on the other side of a thread.

import { expect, it } from 'vitest';
import { errorsOf, nameAside, nameHint, packError, ReverieError, unpackError } from '../../src/core/errors.js';

const gardenError = errorsOf({
  NO_SEED: { status: 404, message: 'No seed is called "{name}".', hint: 'Sow {known}.' },
});

it('have a code, a filled sentence and hint, and an HTTP status', () => {
  const error = gardenError('NO_SEED', { name: 'kale', known: 'leek' }, new Error('below'));
  expect(error).toBeInstanceOf(ReverieError);
  expect(error).toMatchObject({ code: 'NO_SEED', status: 404, hint: 'Sow leek.', cause: { message: 'below' } });
  expect(error.message).toBe('No seed is called "kale".');
});

it('cross a thread that does not know their catalogue', () => {
  const error = gardenError('NO_SEED', { name: 'kale', known: 'leek' });
  const crossed = unpackError(structuredClone(packError(error))) as ReverieError;
  const { code, status, hint, message } = crossed;
  expect(crossed).toBeInstanceOf(ReverieError);
  expect({ code, status, hint, message }).toEqual({
    code: 'NO_SEED',
    status: 404,
    hint: 'Sow leek.',
    message: 'No seed is called "kale".',
  });
});

it.each([
  ['trun', ['turn', 'tilt'], 'Did you mean "env.turn"?'],
  ['gama', ['beta', 'gamma'], 'Did you mean "env.gamma"?'],
  ['GAMMA', ['gamma'], 'Did you mean "env.gamma"?'],
  ['lt', ['lr'], 'Did you mean "env.lr"?'],
  ['foo', ['env', 'rl'], 'Known: env, rl.'],
  ['drawn', ['lr', 'tau'], 'Known: lr, tau.'],
  ['key', ['qpos', 'qvel'], 'Known: qpos, qvel.'],
  ['x', ['y'], 'Known: y.'],
  ['a', [], 'Known: none.'],
])('an unknown name is taken for one that is close alone: %s', (word, known, hint) => {
  expect(nameHint(word, known, 'env.')).toBe(hint);
  expect(nameAside(word, known).toLowerCase()).toBe(` (${hint.replace('env.', '').replace(/\.$/, '')})`.toLowerCase());
});
