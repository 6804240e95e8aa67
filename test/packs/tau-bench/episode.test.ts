// The rules as the real environment of an episode: reset, calls, verdict.

import { expect, test } from 'vitest';
import { loadTauDomain } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { ToolsAction } from '../../../src/env/tools/tools-family.js';
import { taskRecord, tauFolder } from './fixture.js';

const TASKS = JSON.stringify([
  taskRecord('0', [['cancel_reservation', { reservation_id: 'R00001' }]], { communicate_info: ['1090'] }),
]);

function calls(name: string, args: JsonObject): ToolsAction {
  return { content: null, toolCalls: [{ id: `call ${name}`, name, arguments: args }] };
}

async function play(release: TauRelease, actions: readonly ToolsAction[]) {
  const folder = tauFolder('airline', { 'tasks.json': TASKS });
  const domain = await loadTauDomain({ domain: 'airline', folder, release });
  const environment = new ToolsEpisodeEnvironment({
    id: domain.id,
    domain,
    responder: rulesResponder(domain),
    user: new ScriptedUser(),
  });
  await environment.reset({ task: '0', seed: 1 });
  let last: Awaited<ReturnType<typeof environment.step>> | undefined;
  for (const action of actions) last = await environment.step(action);
  return { ended: last?.terminated, reward: last?.reward, environment };
}

const cancel = calls('cancel_reservation', { reservation_id: 'R00001' });
const goodbye: ToolsAction[] = [{ content: 'Anything else?' }, { content: 'Goodbye.' }];

test('what the reference does, told as the user must be told, is rewarded', async () => {
  const { ended, reward, environment } = await play('tau2', [
    cancel,
    { content: 'That is $1,090 back.' },
    ...goodbye.slice(1),
  ]);
  expect({ ended, reward }).toEqual({ ended: true, reward: 1 });
  expect(environment.messages.find(({ role }) => role === 'tool')?.content).toContain('"status": "cancelled"');
});

test.each<[string, ToolsAction[]]>([
  ['nothing is done', [{ content: '1090' }, ...goodbye]],
  ['the user is not told', [cancel, ...goodbye]],
  [
    'more is done',
    [cancel, calls('send_certificate', { user_id: 'ann_lee_1', amount: 50 }), { content: '1090' }, goodbye[1]],
  ],
])('%s: no reward', async (_what, actions) => {
  const { environment } = await play('tau2', []);
  let reward = 1;
  for (const action of actions) {
    const step = await environment.step(action);
    reward = step.reward;
    if (step.terminated) break;
  }
  expect(reward).toBe(0);
});

test('handing over ends the episode in the first release only', async () => {
  const handOver = [calls('transfer_to_human_agents', { summary: 'x' })];
  expect((await play('tau1', handOver)).ended).toBe(true);
  expect((await play('tau2', handOver)).ended).toBe(false);
});
