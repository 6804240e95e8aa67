// The Python that tests of Gymnasium's environments run in, and why there is none where there is none.

import { fileURLToPath } from 'node:url';
import { beforeAll } from 'vitest';
import { pythonEnvironment } from '../../../scripts/python-environments.mjs';
import { type GymnasiumEnvironment, openGymnasium } from '../../../src/env/gymnasium/gymnasium-environment.js';
import type { GymnasiumSpec } from '../../../src/env/gymnasium/python-process.js';

const made = await pythonEnvironment('gymnasium');
if (typeof made === 'string') console.warn(`Tests of Gymnasium's environments are skipped: ${made}`);

/** Whether these tests cannot run; the reason was said. */
export const noGymnasium: boolean = typeof made === 'string';

export const gymnasiumPython: string = typeof made === 'string' ? '' : made.python;

/** Names the interpreter as a user would, and where the module `rooms` lies. */
export function useGymnasium(): void {
  beforeAll(() => {
    process.env.REVERIE_PYTHON = gymnasiumPython;
    process.env.PYTHONPATH = fileURLToPath(new URL('./fixtures', import.meta.url));
  });
}

/** One of the environments of `fixtures/rooms.py`. */
export function room(name: string, more: Partial<GymnasiumSpec> = {}): Promise<GymnasiumEnvironment> {
  return openGymnasium({ id: `rooms/${name}-v0`, import: 'rooms', kwargs: {}, timeoutSeconds: 60, ...more });
}
