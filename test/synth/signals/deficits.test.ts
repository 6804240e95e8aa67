// What an agent cannot do yet: named from the step that lost an episode.

import { describe, expect, it } from 'vitest';
import type { CallSpec, ToolsTask } from '../../../src/env/tools/domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { verifyEpisode } from '../../../src/env/tools/verify-episode.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { DeficitLedger, deficitOf, lostStep } from '../../../src/synth/signals/deficits.js';
import { playCalls } from '../../../src/synth/tasks/task-checks.js';
import { CANCEL, CREDIT, shop } from '../tasks/shop.js';

const domain = shop();
const credit = (amount: number, customer_id = 'cus_107'): CallSpec => ({
  name: 'give_credit',
  arguments: { customer_id, amount },
});

/** An episode of these calls, ended by what is said. */
async function lived(task: ToolsTask, calls: readonly CallSpec[], say = 'Good-bye.'): Promise<EpisodeRecord> {
  const isOver = calls.at(-1)?.name === 'hand_over';
  const said = isOver ? undefined : say;
  const { end, answers } = await playCalls({ domain, task, responder: rulesResponder(domain) }, calls, said);
  const places = end.messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
  const steps = places.map((message, i) => ({
    message,
    action: end.messages[message] as EpisodeRecord['steps'][number]['action'],
    predictions: answers[i] === undefined ? [] : [answers[i].prediction],
    reward: 0,
    stateHash: '',
  }));
  const verdict = verifyEpisode(domain, task, end);
  const record = { task: task.id, messages: end.messages, steps, verdict, return: verdict.reward, terminated: true };
  const whole = record as unknown as EpisodeRecord;
  const lost = lostStep(domain, task, whole);
  const found = { ...whole, ...(lost !== undefined && { lostStep: lost }) };
  const lostBy = deficitOf(domain, task, found);
  return { ...found, ...(lostBy !== undefined && { lostBy }) };
}

describe('what lost an episode', () => {
  it('is named by tool and argument, from what the solution would have done there', async () => {
    const by = async (task: ToolsTask, calls: readonly CallSpec[], say?: string) =>
      (await lived(task, calls, say)).lostBy;
    expect(await by(CREDIT, [])).toBe('left-out give_credit');
    expect(await by(CREDIT, [credit(51)])).toBe('wrong-argument give_credit.amount');
    expect(await by(CREDIT, [{ name: 'hand_over', arguments: { summary: 'x' } }])).toBe('unwanted hand_over');
    expect(await by(CANCEL, CANCEL.reference!.calls)).toBe('untold');
    expect(await by(CREDIT, [credit(15)])).toBeUndefined();
  });

  it('is told from the failed check where no step is known', async () => {
    const episode = await lived(CREDIT, []);
    const { lostStep: _, ...unknown } = episode;
    const checks = [{ name: 'check: policy_followed', passed: false, reason: 'x' }];
    expect(deficitOf(domain, CREDIT, { ...unknown, verdict: { reward: 0, checks } })).toBe('rule policy_followed');
    expect(deficitOf(domain, CREDIT, { ...episode, lostStep: episode.steps.length })).toBe('cut-off');
  });

  it('is counted by task', async () => {
    const ledger = new DeficitLedger();
    for (const calls of [[], [credit(15)], []]) ledger.add(await lived(CREDIT, calls));
    expect(ledger.report()).toEqual([{ name: 'left-out give_credit', lost: 2, tasks: ['credit'] }]);
  });
});
