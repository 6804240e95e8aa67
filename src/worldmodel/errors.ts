// Errors of world models that several files throw.

import { reverieError } from '../core/errors.js';

export function settingInvalid(problem: string): Error {
  const hint = 'See docs/settings.md for every setting, its meaning and its default.';
  return reverieError('SETTING_INVALID', { problem: `Settings of the world model: ${problem}`, hint });
}
