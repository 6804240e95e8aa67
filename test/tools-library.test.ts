// The public API of tools worlds as a program of one's own uses it: a domain, a model that answers, an agent, episodes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import * as tools from '../src/tools.js';
import { startControlledModel } from './controlled/controlled-model.js';
import { nativeDomain, scenarioFolder } from './controlled/native-domain.js';
import { temporaryFolder } from './temporary-folder.js';

const { ExperienceStore, LlmAgent, LlmUser, makeDomain, makeLanguageModel, makeRouter, parseToolsModelConfig } = tools;

const folder = temporaryFolder('library');
const server = await startControlledModel({ domain: await nativeDomain('helpdesk'), seed: 1 });
afterAll(() => server.close());

describe('the public API of tools worlds', () => {
  it('has at most 40 values', () => {
    expect(Object.keys(tools).length).toBeLessThanOrEqual(40);
  });

  it('takes a program from a folder of files to a dataset simulated by a language model', async () => {
    const domain = await makeDomain({ id: 'helpdesk' });
    const index = await ExperienceStore.open();
    const { steps } = await tools.readEpisodeLogs(join(scenarioFolder('helpdesk'), 'logs'), { domain });
    await index.add(steps);
    const model = await makeLanguageModel({ provider: 'openai-compatible', url: server.url, model: 'controlled' });
    const config = parseToolsModelConfig({ kind: 'tools', backends: ['llm'] });
    const responder = await makeRouter(config, { domain, index, model });
    const user = new LlmUser({ model });
    const environment = new tools.ToolsEpisodeEnvironment({ id: 'desk', domain, responder, user });

    const episodes: tools.EpisodeRecord[] = [];
    for (const [row, task] of domain.tasks.slice(0, 4).entries()) {
      const plan = tools.planRow(row, { seed: 7, groupSize: 1, branchAt: 0 });
      const agent = new LlmAgent({ model, temperature: 0 });
      const settings = {
        scenario: 'desk',
        scenarioHash: domain.version,
        seed: 7,
        source: 'synthetic' as const,
        responderVersion: responder.version,
        userVersion: user.version,
        maxSteps: 20,
        weigh: () => 1,
      };
      episodes.push(await tools.runEpisode(environment, agent, task, plan, settings));
    }
    expect(episodes.map((episode) => episode.return)).toEqual([1, 1, 1, 1]);
    const backends = episodes.flatMap(({ steps: lived }) => lived.flatMap(({ predictions }) => predictions));
    expect(new Set(backends.map(({ backend }) => backend))).toEqual(new Set(['llm']));

    const made = join(folder, 'dataset');
    const card = { name: 'desk', license: 'mit' };
    await tools.exportEpisodes(episodes, { format: 'openai', folder: made, domain, card });
    const rows = readFileSync(join(made, 'data', 'train-00000-of-00001.jsonl'), 'utf8')
      .trim()
      .split('\n');
    expect(rows).toHaveLength(4);
    expect(JSON.parse(rows[0]).messages[0]).toMatchObject({ role: 'system', content: domain.policy });
    await model.close();
    await index.close();
    domain.close();
  });
});
