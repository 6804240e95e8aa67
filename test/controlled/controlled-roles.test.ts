// The controlled model in each of its roles behind the product's own code: agent, user, world model, author of
// trajectories and of task variants.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { ToolsEpisodeEnvironment } from '../../src/env/tools/tools-environment.js';
import type { Responder } from '../../src/env/tools/tools-family.js';
import type { LanguageModel } from '../../src/llm/language-model.js';
import { makeLanguageModel } from '../../src/llm/served-model.js';
import { LlmAgent } from '../../src/synth/episodes/agents/llm-agent.js';
import { amplifyTrajectory } from '../../src/worldmodel/llm/amplify.js';
import { LlmUser } from '../../src/worldmodel/llm/llm-user.js';
import { makeRouter } from '../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../src/worldmodel/tools/tools-model-schema.js';
import { type ControlledModel, startControlledModel } from './controlled-model.js';
import type { ControlledOptions } from './controlled-options.js';
import { nativeDomain } from './native-domain.js';

let domain: ToolsDomain;
let tasks: readonly ToolsTask[];
let model: ControlledModel;
let client: LanguageModel;
beforeAll(async () => {
  domain = await nativeDomain('helpdesk');
  tasks = domain.tasks.filter((_, i) => i % 8 === 0);
});
afterEach(async () => {
  await client.close();
  await model.close();
});
afterAll(() => domain.close());

async function start(options: Partial<ControlledOptions> = {}): Promise<void> {
  model = await startControlledModel({ domain, seed: 2, ...options });
  client = await makeLanguageModel({ provider: 'openai-compatible', url: model.url, model: 'controlled' });
}

/** Lives the task with the model as agent and user; the answers to calls come from `responder`. */
async function live(
  task: ToolsTask,
  responder: Responder,
): Promise<{ reward: number | null; messages: readonly object[] }> {
  const agent = new LlmAgent({ model: client, temperature: 0 });
  const env = new ToolsEpisodeEnvironment({ id: 'e', domain, responder, user: new LlmUser({ model: client }) });
  await env.reset({ seed: 4, task: task.id });
  for (let step = 0; step < 30; step++) {
    const { action } = await agent.act({ messages: env.messages, tools: domain.tools, task, seed: 4, step });
    const { terminated, truncated, info } = await env.step(action);
    const { verdict } = info as { verdict?: { reward: number | null } };
    if (terminated || truncated) return { reward: verdict!.reward, messages: env.messages };
  }
  throw new Error(`${task.id} does not end`);
}

async function rewards(responder: Responder): Promise<(number | null)[]> {
  return Promise.all(tasks.map(async (task) => (await live(task, responder)).reward));
}

const typed = () => makeRouter(parseToolsModelConfig({ kind: 'tools', backends: ['llm'] }), { domain, model: client });

describe('a controlled agent and user', () => {
  it('solve every task in the real environment', async () => {
    await start();
    expect(await rewards(rulesResponder(domain))).toEqual(tasks.map(() => 1));
    expect([...model.asked.keys()].sort()).toEqual(['agent', 'user_turn']);
  });
});

describe('a controlled world model', () => {
  it('is as good as the real environment where it does not err', async () => {
    await start();
    expect(await rewards(await typed())).toEqual(tasks.map(() => 1));
    expect(model.asked.get('prediction')).toBeGreaterThan(tasks.length);
  });
});

describe('a controlled author', () => {
  const amplified = () => Promise.all(tasks.map((task) => amplifyTrajectory({ domain, task, model: client, seed: 1 })));

  it('writes trajectories that hold', async () => {
    await start();
    expect((await amplified()).flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('writes trajectories that are cut where they do not hold', async () => {
    await start({ transitionError: 0.5 });
    const cut = (await amplified()).filter(({ truncated }) => truncated).length;
    expect(cut).toBeGreaterThan(tasks.length / 2);
  });
});
