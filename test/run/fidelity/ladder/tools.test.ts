// Ladders of agents: a simulation by exact rules ranks them perfectly; one that helps along is found optimistic.

import { afterAll, describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/core/canonical-json.js';
import { Rng } from '../../../../src/core/rng.js';
import { makeDomain } from '../../../../src/env/tools/domains.js';
import { rulesResponder } from '../../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../../src/env/tools/scripted-user.js';
import type { CallQuery, Responder } from '../../../../src/env/tools/tools-family.js';
import type { RankRow } from '../../../../src/fidelity/rank.js';
import type { Finding } from '../../../../src/fidelity/section.js';
import { runFidelityEpisode } from '../../../../src/fidelity/tools/episodes.js';
import { agentLadder, toolsRank } from '../../../../src/fidelity/tools/rank.js';
import { loadToolsScenario } from '../../../../src/run/scenario.js';

const scenario = await loadToolsScenario('helpdesk', { set: ['fidelity.rank.episodes=8'] });
const setup = { scenario, seed: 5, inputs: {}, out: '' };
const domain = await makeDomain(scenario.config.domain, { folder: scenario.folder });
afterAll(() => domain.close());

async function rank(responder: Responder, world = domain): Promise<{ rows: RankRow[]; finding: Finding }> {
  const { scenario, seed } = setup;
  const user = new ScriptedUser();
  const stage = { scenario, seed, user, domain: world, responder };
  const instrument = toolsRank({ setup, domain: world, user }, (cast, signal) =>
    runFidelityEpisode(stage, { ...cast, source: 'synthetic' }, signal),
  );
  const rows: Json[] = [];
  for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
  return { rows: rows as RankRow[], finding: instrument.conclude(rows) };
}

function value({ section }: Finding, key: string): number {
  return section.metrics.find((metric) => metric.key === key)!.estimate.value!;
}

/** Rules that, with a probability for each call, do nothing and say the same. */
function lazyRules(share: number): Responder {
  const real = rulesResponder(domain, 'rules');
  return {
    ...real,
    version: `lazy ${share}`,
    answer: async (query: CallQuery) => {
      const answer = await real.answer(query);
      const isLazy = Rng.fromSeed(query.seed).split('lazy', query.step).uniform() < share;
      return isLazy ? { ...answer, operations: [] } : answer;
    },
  };
}

describe('a ladder of agents', () => {
  it('has the rungs that were asked for, from the whole solution to nothing', () => {
    expect(agentLadder(10).map(({ name }) => name)).toEqual([
      'reference',
      ...[10, 20, 30, 50, 70, 90, 100].map((share) => `reference, ${share} % wrong`),
      'random calls',
      'does nothing',
    ]);
    expect(agentLadder(8)).toHaveLength(8);
    expect(new Set(agentLadder(30).map(({ name }) => name)).size).toBe(30);
  });

  it('ranks perfectly in a simulation by exact rules, episode by episode', async () => {
    const { rows, finding } = await rank(rulesResponder(domain, 'rules'));
    for (const { real, simulated } of rows) expect(simulated).toEqual(real);
    expect(value(finding, 'spearman')).toBeCloseTo(1, 12);
    expect(value(finding, 'mmrv')).toBe(0);
    expect(value(finding, 'optimism')).toBe(0);
    const [{ rows: told }] = finding.section.tables;
    expect(told).toHaveLength(10);
    expect(told[0][0]).toBe('reference');
    expect(Number.parseFloat(told[0][1])).toBeGreaterThan(0.9);
  });

  it('finds a simulation pessimistic that forgets to carry calls out, the more the more it forgets', async () => {
    const optimism = [];
    for (const share of [0.2, 0.8]) optimism.push(value((await rank(lazyRules(share))).finding, 'optimism'));
    expect(optimism[0]).toBeLessThan(-0.02);
    expect(optimism[1]).toBeLessThan(optimism[0]);
  });

  it('says why nothing is ranked where there are no rules', async () => {
    const { rules: _, ...without } = domain;
    const { rows, finding } = await rank(rulesResponder(domain), without);
    expect(rows).toEqual([]);
    expect(finding.section.metrics.every(({ estimate }) => estimate.value === null)).toBe(true);
    expect(finding.section.notes.join()).toMatch(/no exact rules/);
  });
});
