// `auto` in a scenario: numbers of a fidelity report take its place, if it judges exactly that model, and nothing else does.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FidelityReport } from '../../../../src/fidelity/report.js';
import { writeFidelityReport } from '../../../../src/fidelity/report.js';
import type { JobResult } from '../../../../src/run/job.js';
import { type LaunchOptions, launch } from '../../../../src/run/launch.js';
import { readMetrics } from '../../../../src/run/metrics.js';
import { readManifest } from '../../../../src/worldmodel/model-folder.js';
import { recordingStream } from '../../streams.js';

let folder: string;
let version: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-auto-'));
  await run('collect', { set: ['collect.steps=300'], out: at('seen') });
  await run('fit', { inputs: { data: at('seen') }, out: at('fitted') });
  version = String((await readManifest(at('fitted', 'model'))).modelVersion);
});
afterAll(() => rmSync(folder, { recursive: true }));

const at = (...path: string[]) => join(folder, ...path);
const SMALL = ['train.realSteps=400', 'rollout.startsPerRound=64', 'train.updatesPerRound=10', 'train.evalEpisodes=1'];

function run(job: 'collect' | 'fit' | 'synth' | 'train', options: Partial<LaunchOptions>): Promise<JobResult> {
  const given = {
    scenario: 'pendulum',
    profile: 'smoke',
    seed: 1,
    stream: recordingStream(),
    command: `reverie ${job}`,
  };
  return launch<JobResult>(job, { ...given, quiet: true, ...options });
}

async function report(
  name: string,
  steps: number | null,
  of: Partial<FidelityReport> & { version?: string } = {},
): Promise<string> {
  const value = { value: steps, low: steps, high: steps, n: 10, method: 'exact' } as const;
  const metric = {
    key: 'trusted-steps',
    label: '',
    estimate: value,
    better: 'higher',
    unit: 'steps',
    meaning: '',
  } as const;
  const { version: own = version, ...rest } = of;
  const path = at(`${name}.json`);
  await writeFidelityReport(path, {
    format: 'reverie-fidelity/1',
    scenario: 'pendulum',
    family: 'vector',
    truth: { kind: 'environment', description: '', version: '', transitions: 1, episodes: 1 },
    subjects: [
      {
        ...{ name: 'fitted', kind: 'ensemble', version: own, samples: {} },
        sections: [
          { id: 'horizon', title: '', summary: '', metrics: [metric], charts: [], tables: [], worst: [], notes: [] },
        ],
      },
    ],
    ...{ comparisons: [], gates: [], provenance: {} },
    ...rest,
  });
  return path;
}

describe('auto horizons', () => {
  const AUTO = [...SMALL, 'rollout.horizon=auto', 'replay.realRatio=auto'];

  it('train dreams as many steps as are trusted, with the real rows that go with them', async () => {
    const inputs = { model: at('fitted'), fidelity: await report('four', 4) };
    const stream = recordingStream();
    await run('train', { inputs, set: AUTO, out: at('trained'), stream, quiet: false });
    const dreams = readMetrics(at('trained', 'metrics.jsonl')).filter(({ kind }) => kind === 'dream');
    expect(dreams.length).toBeGreaterThan(0);
    for (const dream of dreams) expect(dream.horizon).toBe(4);
    expect(stream.text()).toMatch(/Trusted by the report on fitted: 4 simulated steps, 20 % real rows/);
  });

  it('synth branches as far as is trusted', async () => {
    const inputs = { model: at('fitted'), data: at('seen'), fidelity: await report('three', 3) };
    const set = ['rollout.horizon=auto', 'synth.starts=20', 'synth.export=[]'];
    expect(await run('synth', { inputs, set, out: at('simulated') })).toMatchObject({ transitions: 60 });
  });

  it.each([
    ['another scenario', { scenario: 'cartpole' }, /judges scenario "cartpole"/],
    ['another model', { version: 'f00' }, /judges fitted \(f00\), and not the model of this run/],
  ])('refuses a report of %s', async (_, of, problem) => {
    const inputs = { model: at('fitted'), data: at('seen'), fidelity: await report('other', 3, of) };
    const failed = run('synth', { inputs, set: ['rollout.horizon=auto'], out: at('refused') });
    await expect(failed).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringMatching(problem) });
  });

  it('refuses to dream where no step is trusted, or none was measured', async () => {
    for (const steps of [0, null]) {
      const inputs = { model: at('fitted'), data: at('seen'), fidelity: await report('none', steps) };
      const failed = run('synth', { inputs, set: ['rollout.horizon=auto'], out: at('refused') });
      await expect(failed).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    }
  });

  it('are found out on the records without a report', async () => {
    const stream = recordingStream();
    const inputs = { model: at('fitted'), data: at('seen') };
    const set = ['rollout.horizon=auto', 'synth.starts=20', 'synth.export=[]'];
    await run('synth', { inputs, set, out: at('tried'), stream, quiet: false });
    expect(stream.text()).toMatch(/\d+ simulated steps \(.*real.*\), a limit of disagreement of /);
  });

  it('ask for the model that a report judges', async () => {
    const modelless = run('train', { inputs: { fidelity: await report('four', 4) }, set: AUTO, out: at('refused') });
    await expect(modelless).rejects.toMatchObject({ code: 'INPUT_NEEDED' });
  });

  it('refuses a report that nothing goes by', async () => {
    const inputs = { model: at('fitted'), data: at('seen'), fidelity: await report('four', 4) };
    const failed = run('synth', { inputs, set: ['rollout.horizon=2'], out: at('refused') });
    await expect(failed).rejects.toMatchObject({ code: 'FLAG_INVALID' });
    const real = run('train', {
      inputs: { fidelity: inputs.fidelity },
      set: [...AUTO, 'train.mode=real'],
      out: at('refused'),
    });
    await expect(real).rejects.toMatchObject({ code: 'FLAG_INVALID' });
  });
});
