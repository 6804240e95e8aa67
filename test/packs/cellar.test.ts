// The inn played by text: what every scenario of ours is tested for, and its commands.

import { beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../src/env/tools/scripted-user.js';
import { textEnvironment } from '../../src/env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../src/env/tools/tools-environment.js';
import { nativeDomain } from '../controlled/native-domain.js';
import { playCalls } from './own-scenario.js';
import { describeOwnScenario } from './own-scenario-suite.js';

describeOwnScenario('cellar');

describe('the inn', () => {
  let domain: ToolsDomain;
  beforeAll(async () => {
    domain = await nativeDomain('cellar');
  });

  const said = (...texts: string[]) => {
    const { messages } = playCalls(domain, undefined, {
      calls: texts.map((text) => ({ name: 'act', arguments: { text } })),
    });
    return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  };

  it('carries out commands in any case and spacing', () => {
    expect(said('  GO to   bar 1', 'take MUG 1 from bar 1', 'inventory', 'examine mug 1')).toEqual([
      'You arrive at the bar 1. On the bar 1, you see a lamp 1, and a mug 1.',
      'You pick up the mug 1 from the bar 1.',
      'You are carrying: a mug 1.',
      'The mug 1 is dirty and at room temperature.',
    ]);
  });

  it('answers everything else with "Nothing happens."', () => {
    const commands = [
      '',
      'sing',
      'go to moon 1',
      'take mug 1 from table 1',
      'open bar 1',
      'put mug 1 in/on bar 1',
      'use mug 1',
    ];
    expect(new Set(said(...commands))).toEqual(new Set(['Nothing happens.']));
    expect(said('go to constructor', 'examine __proto__', 'take toString from bar 1')).toEqual(
      Array.from({ length: 3 }, () => 'Nothing happens.'),
    );
  });

  it('is a text environment that ends with the step that fulfils the wish', async () => {
    const [responder, user] = [rulesResponder(domain), new ScriptedUser()];
    const env = textEnvironment(new ToolsEpisodeEnvironment({ id: 'cellar', domain, responder, user }));
    for (const { id, reference } of domain.tasks) {
      const { observation } = await env.reset({ seed: 1, task: id });
      expect(observation).toMatch(/^You are in the taproom\..* The innkeeper says: /);
      const rewards: [number, boolean][] = [];
      for (const { arguments: given } of reference!.calls) {
        const { reward, terminated } = await env.step(given.text as string);
        rewards.push([reward, terminated]);
      }
      expect(rewards, id).toEqual(rewards.map((_, i) => (i === rewards.length - 1 ? [1, true] : [0, false])));
    }
    await env.close();
  });
});
