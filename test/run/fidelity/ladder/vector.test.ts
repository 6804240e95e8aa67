// Ladders of policies for environments of numbers: paired episodes, exact simulations that rank perfectly, broken ones that do not.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/core/canonical-json.js';
import { Rng } from '../../../../src/core/rng.js';
import { makeEnvironment } from '../../../../src/env/environments.js';
import type { RankRow } from '../../../../src/fidelity/rank.js';
import type { Finding } from '../../../../src/fidelity/section.js';
import type { VectorHost, VectorSetup, VectorSubjectModel } from '../../../../src/fidelity/vector/ground.js';
import { openVectorLadder } from '../../../../src/fidelity/vector/ladder.js';
import { saveLearner } from '../../../../src/rl/checkpoint.js';
import { makePets } from '../../../../src/rl/icem.js';
import type { PlanningLearner } from '../../../../src/rl/learner.js';
import { makePpo } from '../../../../src/rl/ppo.js';
import { vectorHost } from '../../../../src/run/pipeline/fidelity-vector.js';
import { loadScenario } from '../../../../src/run/scenario.js';
import { temporaryFolder } from '../../../temporary-folder.js';
import { pendulumModel } from '../pendulum-model.js';

const folder = temporaryFolder('ladder');

async function setup(name: string, out: string): Promise<VectorSetup> {
  const set = ['fidelity.rank.episodes=6', 'fidelity.rank.policies=10', 'env.maxEpisodeSteps=60'];
  return { scenario: await loadScenario(name, { set }), seed: 3, inputs: {}, out: join(folder, out), host: vectorHost };
}

async function ranked(
  given: VectorSetup,
  world: Pick<VectorSubjectModel, 'model'>,
): Promise<{ rows: readonly RankRow[]; finding: Finding }> {
  const { rank, close } = await openVectorLadder(given);
  const instrument = rank(world);
  try {
    const rows: Json[] = [];
    for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
    return { rows: rows as RankRow[], finding: instrument.conclude(rows) };
  } finally {
    await close();
  }
}

async function rank(given: VectorSetup, world: Pick<VectorSubjectModel, 'model'>): Promise<Finding> {
  return (await ranked(given, world)).finding;
}

function value({ section }: Finding, key: string): number | null {
  return section.metrics.find((metric) => metric.key === key)!.estimate.value;
}

const LEARNED_FROM = {
  ...{ scenario: '', seed: 0, realSteps: 100, syntheticSteps: 0, gradientSteps: 0 },
  worldModelVersions: [],
};

describe('a ladder of policies', () => {
  it('ranks perfectly in an exact model, asked for many rows at once', async () => {
    const finding = await rank(await setup('pendulum', 'exact'), { model: pendulumModel() });
    expect(value(finding, 'spearman')).toBeCloseTo(1, 12);
    expect(value(finding, 'mmrv')).toBe(0);
    // Observations are float32 and the environment's state is not: the same to what that rounds.
    expect(Math.abs(value(finding, 'optimism')!)).toBeLessThan(0.5);
    const [{ rows }] = finding.section.tables;
    expect(rows).toHaveLength(10);
  });

  it('finds a simulation that pulls the other way worthless, and one that pays too much optimistic', async () => {
    const mirrored = await rank(await setup('pendulum', 'mirrored'), {
      model: pendulumModel({ torque: -1 }),
    });
    expect(value(mirrored, 'spearman')).toBeLessThan(0.8);
    const kind = await rank(await setup('pendulum', 'kind'), {
      model: pendulumModel({ bonus: 0.5 }),
    });
    expect(value(kind, 'spearman')).toBeCloseTo(1, 12);
    expect(value(kind, 'optimism')).toBeCloseTo(0.5 * 60, 0);
  });

  it('leaves out episodes in which the model answers with no number, and keeps the others as they were', async () => {
    const sound = await ranked(await setup('pendulum', 'sound'), { model: pendulumModel() });
    const model = pendulumModel({ breaksAbove: 7.5 });
    const broken = await ranked(await setup('pendulum', 'broken'), { model });
    const kept = broken.rows.flatMap(({ simulated }, i) =>
      simulated === null ? [] : [[simulated, sound.rows[i].simulated]],
    );
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.length).toBeLessThan(60);
    for (const [one, other] of kept) expect(one).toEqual(other);
    expect(broken.finding.section.notes[0]).toMatch(/episodes are left out/);
  });

  it('has the planner of a learner that plans, beside the policy that it taught', async () => {
    const given = await setup('pendulum', 'planned');
    const env = await makeEnvironment(given.scenario.config.env);
    const run = join(folder, 'planned-run');
    const pets = await makePets({ hidden: [8], horizon: 12 }, env, Rng.fromSeed(0));
    await saveLearner(join(run, 'checkpoint/learner'), pets, LEARNED_FROM);
    await pets.close();
    await env.close();
    const planner: VectorHost['planner'] = async (learner) => ({
      policy: (learner as PlanningLearner).planner(pendulumModel()),
      close: async () => {},
    });
    const host = { ...vectorHost, planner };
    const dream = { model: pendulumModel() };
    const { section } = await rank({ ...given, host, inputs: { checkpoint: run } }, dream);
    const [{ rows }] = section.tables;
    const returnOf = (wanted: string) => Number.parseFloat(rows.find(([name]) => name === wanted)![1]);
    expect(returnOf('planner')).toBeGreaterThan(returnOf('checkpoint'));
    expect(returnOf('planner')).toBeGreaterThan(returnOf('random'));
    expect(section.notes.join(' ')).toContain('what planning takes advantage of');
  });

  it('has no planner where the model of a planning run is gone', async () => {
    const run = join(folder, 'planned-run');
    const { rank: rankOf, close } = await openVectorLadder({
      ...(await setup('pendulum', 'unplanned')),
      inputs: { checkpoint: run },
    });
    const { section } = rankOf({ model: pendulumModel() }).conclude([]);
    expect(section.notes.join(' ')).not.toContain('The planner');
    await close();
  });

  it('has a rung for each policy that a training run kept on the way', async () => {
    const given = await setup('pendulum', 'trained');
    const env = await makeEnvironment(given.scenario.config.env);
    const run = join(folder, 'run');
    for (const [i, name] of ['policies/000000100', 'policies/000000200', 'checkpoint/learner'].entries()) {
      const ppo = await makePpo({ hidden: [8] }, env, Rng.fromSeed(i));
      await saveLearner(join(run, name), ppo, LEARNED_FROM);
      await ppo.close();
    }
    const finding = await rank({ ...given, inputs: { checkpoint: run } }, { model: pendulumModel() });
    const [{ rows }] = finding.section.tables;
    expect(rows.map(([name]) => name)).toEqual(
      expect.arrayContaining(['checkpoint', 'after 100 steps', 'after 200 steps', 'random']),
    );
    expect(rows).toHaveLength(10);
    expect(Math.abs(value(finding, 'optimism')!)).toBeLessThan(0.5);
    const returnOf = (wanted: string) => rows.find(([name]) => name === wanted)![1];
    expect(returnOf('after 100 steps')).not.toBe(returnOf('after 200 steps'));
    await env.close();
  });
});
