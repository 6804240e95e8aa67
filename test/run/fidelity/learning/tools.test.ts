// What dreamt episodes are worth to learners of tools: nothing is lost in exact rules, and the more the more often a dream is wrong.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/core/canonical-json.js';
import { Rng } from '../../../../src/core/rng.js';
import type { ToolsDomain } from '../../../../src/env/tools/domain.js';
import { makeDomain } from '../../../../src/env/tools/domains.js';
import type { Operation, Prediction } from '../../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../../src/env/tools/scripted-user.js';
import { referenceStateOf } from '../../../../src/env/tools/situation.js';
import type { Responder } from '../../../../src/env/tools/tools-family.js';
import type { Finding } from '../../../../src/fidelity/instrument.js';
import type { LearningRow } from '../../../../src/fidelity/learning/learning.js';
import type { FidelitySetup } from '../../../../src/fidelity/setup.js';
import { toolsLearningInstrument } from '../../../../src/fidelity/tools/learning.js';
import { loadToolsScenario, type ToolsScenario } from '../../../../src/run/scenario.js';

let domain: ToolsDomain;
let setup: FidelitySetup<ToolsScenario>;
beforeAll(async () => {
  const set = ['demonstrations=120', 'seeds=4', 'ratios=[0,1]', 'episodes=8'].map((key) => `fidelity.learning.${key}`);
  const scenario = await loadToolsScenario('cellar', { set });
  setup = { scenario, seed: 3, inputs: {}, out: '' };
  domain = await makeDomain(scenario.config.domain, { folder: scenario.folder });
});
afterAll(() => domain.close());

async function learned(dream: Responder, world = domain): Promise<{ rows: LearningRow[]; finding: Finding }> {
  const instrument = toolsLearningInstrument(setup, { domain: world, user: new ScriptedUser() }, dream);
  const rows: Json[] = [];
  for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
  return { rows: rows as LearningRow[], finding: instrument.conclude(rows) };
}

function estimate({ section }: Finding, key: string) {
  return section.metrics.find((metric) => metric.key === key)!.estimate;
}

/** Rules that are wrong in a share of episodes or calls, in the way that is said. */
function wrongRules(
  share: number,
  wrong: (query: Parameters<Responder['answer']>[0], right: Prediction) => Prediction,
) {
  const real = rulesResponder(domain, 'rules');
  return (perCall: boolean): Responder => ({
    ...real,
    version: `wrong ${share}`,
    answer: async (query) => {
      const right = await real.answer(query);
      const draw = Rng.fromSeed(query.seed).split('wrong', perCall ? query.step : 'episode');
      return draw.uniform() < share ? wrong(query, right) : right;
    },
  });
}

/** Whatever is called, the wish is fulfilled: every episode with a call is rewarded. */
function flattering(share: number): Responder {
  return wrongRules(share, ({ task, state }, right) => {
    const wished = referenceStateOf(domain, task)!;
    const operations = Object.keys(state).map(
      (key): Operation => ({ op: 'replace', path: `/${key}`, value: wished[key] }),
    );
    return { ...right, operations };
  })(false);
}

/** Says the same, and nothing is done. */
function lazy(share: number): Responder {
  return wrongRules(share, (_, right) => ({ ...right, operations: [] }))(true);
}

describe('learners of tools', () => {
  it('rise above the floor on real episodes, and learn the same in exact rules', async () => {
    const { rows, finding } = await learned(rulesResponder(domain, 'rules'));
    const [real, dreamt] = [0, 1].map((ratio) => rows.filter((row) => row.ratio === ratio));
    expect(dreamt.map(({ returns }) => returns)).toEqual(real.map(({ returns }) => returns));
    expect(estimate(finding, 'transfer-gap')).toMatchObject({ value: 0 });
    expect(estimate(finding, 'harmful-ratio').value).toBeNull();
    expect(estimate(finding, 'real-return').low).toBeGreaterThan(estimate(finding, 'untrained-return').high!);
    expect(finding.section.notes.join()).not.toMatch(/did not take learners clearly above/);
  });

  it('learn the less, the more often a dream rewards what is wrong', async () => {
    const gaps = [];
    for (const share of [0.3, 1]) gaps.push(estimate((await learned(flattering(share))).finding, 'transfer-gap'));
    expect(gaps[1].value).toBeLessThan(gaps[0].value! - 0.05);
    expect(gaps[1].high).toBeLessThan(0);
  });

  it('learn less in a dream that mostly does not do what it says', async () => {
    expect(estimate((await learned(lazy(0.9))).finding, 'transfer-gap').high).toBeLessThan(0);
  });

  it('are not there without rules, and the section says so', async () => {
    const { rules: _, ...without } = domain;
    const { rows, finding } = await learned(rulesResponder(domain), without);
    expect(rows).toEqual([]);
    expect(finding.section.notes.join()).toMatch(/no exact rules/);
  });
});
