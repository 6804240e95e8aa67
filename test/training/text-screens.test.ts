// A policy of text on screens: it is shown what can be done there, in words, and what it chooses is done; as an agent of a job it is
// shown the same.

import { afterAll, expect, it } from 'vitest';
import { actionLine } from '../../src/env/screens/screen-actions.js';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import type { CallSpec } from '../../src/env/tools/domain.js';
import { admissibleIn } from '../../src/env/tools/text-environment.js';
import { viewOf } from '../../src/kinds/registry.js';
import type { TextPolicy, TextSituation } from '../../src/rl/text/text-policy.js';
import { RandomAgent } from '../../src/synth/episodes/agents/baseline-agents.js';
import { playTexts, TextPolicyAgent, whoAnswered } from '../../src/training/text-play.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { pagesDomain } from '../screens/fixture.js';

const domain = pagesDomain('order');
afterAll(() => domain.close());

const make = () => rulesEnvironment(domain, { maxSteps: 12 });

/** Does first what its list says first, by what it reads. */
function buyer(shown: TextSituation[]): TextPolicy {
  const wanted = (goal: string) => {
    const [, cake] = /Order "(\w+)"/.exec(goal)!;
    return [
      /^click checkbox unchecked/,
      new RegExp(`^select_option ${cake} `),
      /^fill O'Neil textbox /,
      /^click button/,
    ];
  };
  return {
    version: 'buyer',
    decide: async (situations) =>
      situations.map((situation) => {
        shown.push(situation);
        const form = wanted(situation.goal)[situation.turns.length];
        const choice = situation.readings!.findIndex((reading) => form.test(reading));
        return { choice, logProb: 0, entropy: 0 };
      }),
  };
}

it('does by a chosen line what the line says, and is paid by the page', async () => {
  const shown: TextSituation[] = [];
  const environments = [viewOf(domain, make)() as never];
  const [played] = await playTexts(buyer(shown), [{ task: 'order.1', seed: 1 }], { environments });
  expect(played.reward).toBe(1);
  expect(played.steps.map(whoAnswered)).toEqual(Array(4).fill('real'));
  expect(shown.every(({ admissible, readings }) => readings!.length === admissible.length)).toBe(true);

  const asked: TextSituation[] = [];
  const agent = new TextPolicyAgent(buyer(asked), (call: CallSpec) => actionLine(call));
  const environment = make();
  await environment.reset({ task: 'order.1', seed: 1 });
  for (let step = 0; step < 4; step++) {
    const { messages, task, state } = environment;
    const admissible = () => admissibleIn(domain, state);
    const { action } = await agent.act({ messages, tools: domain.tools, task, seed: 1, step, admissible });
    await environment.step(action);
  }
  expect(environment.state as ScreenState).toMatchObject({ done: true, reward: 1 });
  expect(asked).toEqual(shown);
}, 60_000);

it('is offered to an agent of chance, who may choose among it', async () => {
  const environment = make();
  await environment.reset({ task: 'order.3', seed: 1 });
  const offered = admissibleIn(domain, environment.state)!;
  const { messages, task } = environment;
  const said = [0, 1, 2, 3, 4].map((seed) => {
    const query = { messages, tools: domain.tools, task, seed, step: 0, admissible: () => offered };
    const [call] = new RandomAgent(6, true).act(query).action.toolCalls!;
    return actionLine(call);
  });
  expect(said.every((line) => offered.lines.includes(line))).toBe(true);
  expect(new Set(said).size).toBeGreaterThan(1);
}, 60_000);
