// The service desk: what every scenario of ours is tested for, and what is special to it.

import { beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { readProbes } from '../../src/worldmodel/must-fail/probes.js';
import { nativeDomain, scenarioFolder } from '../controlled/native-domain.js';
import { playCalls, readEpisodes, replayFiled } from './own-scenario.js';
import { describeOwnScenario } from './own-scenario-suite.js';

describeOwnScenario('helpdesk');

describe('the service desk', () => {
  let domain: ToolsDomain;
  beforeAll(async () => {
    domain = await nativeDomain('helpdesk');
  });

  it('has tasks, probes and records of every kind, in number', async () => {
    const tagged = (tag: string) => domain.tasks.filter(({ tags }) => tags!.includes(tag)).length;
    expect(domain.tasks.length).toBeGreaterThanOrEqual(40);
    expect(
      Math.min(...['single-write', 'multi-write', 'refuse', 'hand-over', 'info'].map(tagged)),
    ).toBeGreaterThanOrEqual(5);
    const probes = await readProbes(`${scenarioFolder('helpdesk')}/must-fail.yaml`, domain);
    expect(probes.length).toBeGreaterThanOrEqual(25);
    expect(new Set(probes.map(({ kind }) => kind)).size).toBe(5);
    expect(readEpisodes('helpdesk', 'logs/seed.jsonl').length).toBeGreaterThanOrEqual(60);
  });

  it('has labelled episodes for the audit of judges: balanced, with verdicts that the exact checks share', () => {
    const episodes = readEpisodes('helpdesk', 'labelled/judge-audit.jsonl');
    const successes = episodes.filter(({ success }) => success).length;
    expect(episodes.length).toBeGreaterThanOrEqual(40);
    expect(Math.abs(successes / episodes.length - 0.5)).toBeLessThan(0.1);
    for (const episode of episodes) {
      const { differences, reward } = replayFiled(domain, episode);
      expect(differences).toEqual([]);
      expect(reward, `${episode.id}: ${episode.reason}`).toBe(episode.success ? 1 : 0);
    }
  });

  it('has right end states that are wrong all the same, for the way they came about', () => {
    const task = domain.tasks.find(({ id }) => id === 'unlock-inspector')!;
    const [verify, unlock] = task.reference!.calls;
    const late = playCalls(domain, task, { calls: [unlock, verify], say: task.reference!.say });
    expect(domain.rules!.check('policy_followed', late)).toMatchObject({ passed: false });
    expect(domain.rules!.check('identity_first', playCalls(domain, task, task.reference!))).toMatchObject({
      passed: true,
    });
  });
});
