// The step that lost an episode, on episodes run in the real service desk that were made to be lost.

import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import type { CallSpec } from '../../../src/env/tools/domain.js';
import type { ToolsAction } from '../../../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { lostStep } from '../../../src/synth/signals/deficits.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { LIVED, rulesEnvironment } from '../../env/tools/library.js';

const domain = await nativeDomain('helpdesk');
const task = domain.tasks.find(({ id }) => id === 'unlock-after-holiday')!;
const solution = task.reference!.calls;

/** Lives the turns, then says good-bye; truncated after `maxSteps`. */
function lived(turns: readonly (CallSpec | string)[], maxSteps = 30): Promise<EpisodeRecord> {
  const environment = rulesEnvironment(domain);
  const act = ({ step }: { readonly step: number }) => ({
    action: actionOf(turns[step] ?? 'Good-bye.', step),
    cost: NO_COST,
  });
  const plan = planRow(0, { seed: 1, groupSize: 1, branchAt: 0 });
  const settings = { ...LIVED, seed: 1, source: 'synthetic', maxSteps } as const;
  return runEpisode(environment, { version: 'told', act }, task, plan, settings);
}

function actionOf(turn: CallSpec | string, step: number): ToolsAction {
  if (typeof turn === 'string') return { content: turn };
  return { content: null, toolCalls: [{ id: `call_${step}`, ...turn }] };
}

describe('the step that lost an episode', () => {
  it('is the one after which the solution no longer helps', async () => {
    // Access before identity: whatever follows, that order stays.
    const order = [solution[1], solution[2], solution[0], solution[3]];
    const record = await lived(order);
    expect(record.return).toBe(0);
    expect(lostStep(domain, task, record)).toBe(1);
    const later = await lived([solution[0], solution[1], { name: 'hand_over', arguments: handOver() }]);
    expect(later.return).toBe(0);
    expect(lostStep(domain, task, later)).toBe(2);
  });

  it('is none where it was only cut off, and the farewell where it left too early', async () => {
    const cut = await lived(solution, 2);
    expect(cut).toMatchObject({ return: 0, truncated: true });
    expect(lostStep(domain, task, cut)).toBe(2);
    const left = await lived(solution.slice(0, 2));
    expect(left).toMatchObject({ return: 0, terminated: true });
    expect(lostStep(domain, task, left)).toBe(left.steps.length - 1);
  });

  it('is not known of what did not fail, without rules, or where the solution does not help from the start', async () => {
    const good = await lived(solution);
    expect(lostStep(domain, task, good)).toBeUndefined();
    const bad = await lived(solution.slice(0, 2));
    const { rules: _, ...specified } = domain;
    expect(lostStep(specified, task, bad)).toBeUndefined();
    expect(lostStep(domain, { ...task, verifier: { communicate: ['xyzzy'] } }, bad)).toBeUndefined();
  });
});

function handOver(): CallSpec['arguments'] {
  const calls = domain.tasks.flatMap(({ reference }) => reference?.calls ?? []);
  return calls.find(({ name }) => name === 'hand_over')!.arguments;
}
