// The scripted agent in the real service desk and inn: many ways, each of them right.

import { describe, expect, it } from 'vitest';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { ScriptedAgent } from '../../../src/synth/episodes/agents/scripted-agent.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { LIVED } from '../../env/tools/library.js';

const SETTINGS = { ...LIVED, source: 'synthetic' } as const;

async function lived(name: string, rows: number): Promise<EpisodeRecord[]> {
  const domain = await makeDomain({ id: name });
  const agent = new ScriptedAgent({ domain, detours: 0.6, failures: 0 });
  const tasks = domain.tasks.filter(({ split }) => split === 'train');
  const episodes: EpisodeRecord[] = [];
  for (let row = 0; row < rows; row++) {
    const environment = new ToolsEpisodeEnvironment({
      id: name,
      domain,
      responder: rulesResponder(domain),
      user: new ScriptedUser(true),
      maxSteps: SETTINGS.maxSteps,
    });
    const plan = planRow(row, { seed: SETTINGS.seed, groupSize: 1, branchAt: 0 });
    episodes.push(await runEpisode(environment, agent, tasks[row % tasks.length], plan, SETTINGS));
  }
  return episodes;
}

const callsOf = ({ steps }: EpisodeRecord) =>
  JSON.stringify(steps.flatMap(({ action }) => (action.toolCalls ?? []).map((call) => [call.name, call.arguments])));

describe.each(['helpdesk', 'cellar'])('the scripted agent in %s', (name) => {
  it('solves what it takes up, in ways that differ, and the same again', async () => {
    const episodes = await lived(name, 14);
    const failed = episodes.filter(({ verdict }) => verdict.reward !== 1).map(({ task, row }) => `${row} ${task}`);
    expect(failed).toEqual([]);
    expect(new Set(episodes.map(callsOf)).size / episodes.length).toBeGreaterThan(0.6);
    expect(await lived(name, 2)).toEqual(episodes.slice(0, 2));
  });
});
