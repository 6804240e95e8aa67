// MiniWoB++'s pages in jsdom, from its Python package; and what is said where something of it is missing. Skipped without
// the package.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { pythonEnvironment } from '../../scripts/python-environments.mjs';
import type { JsonObject } from '../../src/core/canonical-json.js';
import { NO_SCREEN } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec, ToolOutcome, ToolsDomain } from '../../src/env/tools/domain.js';
import { makeDomain } from '../../src/env/tools/domains.js';
import { answerHere } from '../e2e/reverie.js';
import { temporaryFolder } from '../temporary-folder.js';

const made = await pythonEnvironment('miniwob');
if (typeof made === 'string') console.warn(`Tests of MiniWoB++'s pages are skipped: ${made}`);
const python = typeof made === 'string' ? '' : made.python;

const folder = temporaryFolder('miniwob');
const open: ToolsDomain[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const domain of open.splice(0)) domain.close();
});

async function domainOf(settings: object): Promise<ToolsDomain> {
  vi.stubEnv('MINIWOB_PATH', undefined);
  vi.stubEnv('REVERIE_PYTHON', python);
  const domain = await makeDomain({ id: 'miniwob', ...settings }, { folder });
  open.push(domain);
  return domain;
}

describe.skipIf(python === '')('MiniWoB++', () => {
  it('is done by those who know how', async () => {
    const screens = ['choose-list', 'enter-date', 'login-user'];
    const { tasks } = await domainOf({ screens, seeds: 1 });
    const unsolved = tasks.filter(({ split, reference }) => split === 'test' && reference === undefined);
    expect(tasks).toHaveLength(9);
    expect(unsolved.map(({ id }) => id)).toEqual([]);
  }, 120_000);

  it('does not take a part of the task for the task', async () => {
    const { tasks, rules } = await domainOf({ screens: ['click-checkboxes'], seeds: 5 });
    const task = tasks.find(({ reference }) => (reference?.calls.length ?? 0) > 4)!;
    const verdictAfter = (calls: readonly CallSpec[]) => {
      let state = applyOperations(NO_SCREEN as never, task.initialOperations!) as JsonObject;
      for (const call of calls) {
        const { operations } = rules!.execute(state, { id: '', ...call }) as ToolOutcome;
        state = applyOperations(state, operations) as JsonObject;
      }
      return {
        paid: (state as { reward: number }).reward,
        passed: rules!.check('goal', { finalState: state } as never).passed,
      };
    };
    const { calls } = task.reference!;
    expect(verdictAfter(calls)).toEqual({ paid: 1, passed: true });
    const { paid, passed } = verdictAfter(calls.slice(1));
    expect(paid).toBeGreaterThan(0);
    expect(passed).toBe(false);
  }, 60_000);

  it('is done where the tenth word is asked for', async () => {
    const { tasks } = await domainOf({ screens: ['find-word'], seeds: 8 });
    const task = tasks.find(({ id }) => id === 'find-word.7')!;
    expect(task.user.goal).toContain('10th word');
    expect(task.reference).toBeDefined();
  }, 60_000);

  it('sets the task that its page sets with the same seed', async () => {
    const { tasks } = await domainOf({ screens: ['login-user', 'click-checkboxes'], seeds: 1 });
    const goals = tasks.filter(({ split }) => split === 'train').map(({ user }) => user.goal);
    expect(goals).toEqual([
      'Enter the username "karrie" and the password "AU" into the text fields and press login.',
      'Select HF2 and click Submit.',
    ]);
  }, 60_000);

  it('is evaluated and collected by the command line', async () => {
    vi.stubEnv('REVERIE_PYTHON', python);
    const out = join(folder, 'eval');
    const judged = await answerHere('eval', 'miniwob', '--profile', 'smoke', '--out', out);
    expect(judged).toMatchObject({ success: { value: 1, of: 4 } });
    expect(existsSync(join(out, 'logs', 'episodes.jsonl'))).toBe(true);
  }, 120_000);

  it('names what it does not have', async () => {
    await expect(domainOf({ screens: ['click-buton'] })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      hint: expect.stringContaining('"click-button"'),
    });
  });
});

it('pages that are not there are told with the place they were looked for', async () => {
  await expect(domainOf({ pages: 'nowhere' })).rejects.toMatchObject({
    code: 'ENV_UNUSABLE',
    message: expect.stringContaining(join(folder, 'nowhere')),
  });
});
