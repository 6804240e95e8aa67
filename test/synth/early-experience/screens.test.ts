// Early experience on a screen: what else is tried is what the screen offers, and each try is answered by the page.

import { afterAll, expect, it } from 'vitest';
import { actionLine } from '../../../src/env/screens/screen-actions.js';
import type { CallSpec } from '../../../src/env/tools/domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { admissibleIn } from '../../../src/env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { UserSimulator } from '../../../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { type EarlyExperienceRow, earlyExperience } from '../../../src/synth/early-experience/early-experience.js';
import { pagesDomain } from '../../screens/fixture.js';

const domain = pagesDomain('order');
afterAll(() => domain.close());

const environment = (user: UserSimulator) =>
  new ToolsEpisodeEnvironment({ id: 'pages', domain, responder: rulesResponder(domain), user });

it('tries what the screen lists, each once, and never what the expert did', async () => {
  const lived = environment(new ScriptedUser());
  await lived.reset({ task: 'order.1', seed: 1 });
  const offered: string[][] = [];
  const steps: EpisodeRecord['steps'][number][] = [];
  for (const form of [/^click\(/, /^fill\(/]) {
    const { lines, callOf } = admissibleIn(domain, lived.state)!;
    offered.push([...lines]);
    const call = callOf(lines.find((line) => form.test(line))!);
    const action = { content: null, toolCalls: [{ id: `c${steps.length}`, ...call }] };
    const { length: message } = lived.messages;
    const { info } = await lived.step(action);
    const { predictions, stateHash } = info as never as EpisodeRecord['steps'][number];
    steps.push({ message, action, predictions, reward: 0, stateHash });
  }
  const { messages } = lived;
  const known = { id: 'expert', task: 'order.1', family: 'order', split: 'train', seed: 1, source: 'real' };
  const record = { ...known, userVersion: 'u', messages, steps, terminated: false } as unknown as EpisodeRecord;

  const rows: EarlyExperienceRow[] = [];
  for await (const row of earlyExperience({ episodes: [record], environment, seed: 1, alternatives: 4 }))
    rows.push(row);
  expect(rows).toHaveLength(10);
  for (const step of [0, 1]) {
    const mine = rows.flatMap((row) => (row.kind === 'world-model' && row.step === step ? [row] : []));
    const lines = mine.map(({ action }) => actionLine(action.toolCalls![0] as CallSpec));
    expect(new Set(lines).size).toBe(5);
    expect(lines.every((line) => offered[step].includes(line))).toBe(true);
    expect(mine.every(({ source, next }) => source === 'real' && !next[0].content!.startsWith('Error'))).toBe(true);
  }
}, 60_000);
