// Models held against their real environment, from the scenario to the findings: with and without threads, broken off, and on
// records of the user's.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MeasureOptions, measureWithinBudget } from '../../../../src/fidelity/measure.js';
import type { Section, SectionId, SubjectReport } from '../../../../src/fidelity/report.js';
import type { FidelitySetup as Setup } from '../../../../src/fidelity/section.js';
import { openVectorSubjects } from '../../../../src/fidelity/vector/opening.js';
import type { Scenario } from '../../../../src/kinds/vector.js';
import type { JobInputs } from '../../../../src/run/job.js';
import { launch } from '../../../../src/run/launch.js';
import { collectJob } from '../../../../src/run/pipeline/collect.js';
import { vectorHost } from '../../../../src/run/pipeline/fidelity/vector.js';
import { fitJob } from '../../../../src/run/pipeline/fit.js';
import { loadScenario } from '../../../../src/run/scenario.js';
import { recordingStream } from '../../streams.js';

const OWN = ['one-step', 'k-steps', 'reward-end', 'calibration'];
const SMALL = [
  'fidelity.transitions=800',
  'fidelity.starts=40',
  'fidelity.horizon=8',
  `fidelity.sections=[${OWN.join()}]`,
];

let folder: string;
let fitted: string;
let records: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-fidelity-vector-'));
  [fitted, records] = [join(folder, 'fitted'), join(folder, 'records')];
  const options = { scenario: 'pendulum', seed: 1, stream: recordingStream(), command: 'reverie', quiet: true };
  const collect = { ...options, set: ['collect.steps=1500'], out: records };
  await launch('collect', { jobs: { vector: async () => collectJob }, ...collect });
  const set = ['model.hidden=[24]', 'model.members=3', 'model.elites=2', 'model.maxEpochs=40'];
  await launch('fit', {
    jobs: { vector: async () => fitJob },
    ...options,
    set,
    inputs: { data: records },
    out: fitted,
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

async function setupOf(
  out: string,
  inputs: JobInputs = { model: fitted },
  scenario = 'pendulum',
): Promise<FidelitySetup> {
  return { scenario: await loadScenario(scenario, { set: SMALL }), seed: 5, inputs, out: join(folder, out) };
}

type FidelitySetup = Setup<Scenario>;
type Options = Partial<Pick<MeasureOptions, 'signal' | 'onChunk' | 'measureChunk' | 'concurrency'>>;

async function judged(setup: FidelitySetup, options: Options = {}): Promise<readonly SubjectReport[]> {
  const opened = await openVectorSubjects(setup, vectorHost);
  try {
    const { identity, subjects } = opened;
    const folder = join(setup.out, 'chunks');
    return (await measureWithinBudget(subjects, { folder, identity, concurrency: 1, ...options })).subjects;
  } finally {
    await opened.close();
  }
}

const sectionOf = ({ sections }: SubjectReport, id: SectionId): Section => sections.find((one) => one.id === id)!;
const found = (report: SubjectReport, id: SectionId, key: string) =>
  sectionOf(report, id).metrics.find((metric) => metric.key === key)!.estimate.value;

/** All that was kept and found. */
function remains(setup: FidelitySetup, reports: readonly SubjectReport[]): unknown {
  const files = readdirSync(join(setup.out, 'chunks'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.json'),
  );
  const chunks = files.sort().map((file) => [file, readFileSync(join(setup.out, 'chunks', file), 'utf8')]);
  return [chunks, reports];
}

describe('a fitted ensemble', () => {
  let report: SubjectReport;

  beforeAll(async () => {
    const setup = await setupOf('reference');
    const reports = await judged(setup);
    report = reports[0];
  });

  it('is measured in every section', () => {
    expect([report.name, report.kind]).toEqual(['fitted', 'ensemble']);
    expect(report.sections.map(({ id }) => id)).toEqual(OWN);
    for (const { metrics } of report.sections) {
      for (const { estimate } of metrics) {
        const { value, low, high } = estimate;
        if (value === null || low === null || high === null) continue;
        expect([low <= value, value <= high]).toEqual([true, true]);
      }
    }
    expect(found(report, 'one-step', 'skill-persistence')).toBeGreaterThan(0.2);
    expect(found(report, 'calibration', 'coverage-90')).toBeGreaterThan(0.5);
    // A pendulum never ends.
    expect(found(report, 'reward-end', 'end-recall')).toBeNull();
    expect(sectionOf(report, 'reward-end').notes.join()).toMatch(/No recorded transition ends/);
  });

  it('shows what costs nothing beside it, by element', () => {
    const [{ series }] = sectionOf(report, 'one-step').charts;
    expect(series.map(({ name }) => name)).toEqual(['model', 'persistence']);
    expect(series[0].points.map(({ label }) => label)).toEqual(['obs[0]', 'obs[1]', 'obs[2]']);
    const [drift] = sectionOf(report, 'k-steps').charts;
    expect(drift.series.map(({ points }) => points.length)).toEqual([8, 8, 8]);
  });
});

describe('truth that the user brings', () => {
  it('is told from what the model was made from', async () => {
    const [report] = await judged(await setupOf('brought', { model: fitted, data: records }));
    expect(sectionOf(report, 'one-step').notes.join()).toMatch(/800 of these transitions are among those/);
    const held = await setupOf('held', { model: fitted, heldOut: records });
    await expect(openVectorSubjects(held, vectorHost)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

describe('a model', () => {
  it('has to be there, and of the same environment', async () => {
    await expect(openVectorSubjects(await setupOf('none', {}), vectorHost)).rejects.toMatchObject({
      code: 'INPUT_NEEDED',
    });
    const other = await setupOf('other', { model: fitted }, 'cartpole');
    await expect(openVectorSubjects(other, vectorHost)).rejects.toMatchObject({ code: 'INPUT_UNFIT' });
  });
});
