// A fitted ensemble held against its real environment, from the scenario to the findings.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureSubjects, type SubjectReport } from '../../../src/fidelity/index.js';
import { launch } from '../../../src/run/launch.js';
import { collectJob } from '../../../src/run/pipeline/collect.js';
import type { FidelitySetup } from '../../../src/run/pipeline/fidelity/setup.js';
import { openVectorSubjects } from '../../../src/run/pipeline/fidelity/vector-subjects.js';
import { fitJob } from '../../../src/run/pipeline/fit.js';
import { loadScenario } from '../../../src/run/scenario.js';
import { recordingStream } from '../streams.js';

let folder: string;

const SET = ['fidelity.transitions=1500', 'fidelity.starts=64', 'fidelity.horizon=10'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-fidelity-vector-'));
  const options = { scenario: 'pendulum', seed: 1, stream: recordingStream(), command: 'reverie', quiet: true };
  const records = { ...options, set: ['collect.steps=1500'], out: join(folder, 'records') };
  await launch('collect', { vector: async () => collectJob }, records);
  const set = ['model.hidden=[24]', 'model.members=3', 'model.elites=2', 'model.maxEpochs=60'];
  const fit = { ...options, set, inputs: { data: join(folder, 'records') }, out: join(folder, 'fitted') };
  await launch('fit', { vector: async () => fitJob }, fit as never);
});
afterAll(() => rmSync(folder, { recursive: true }));

function setupOf(out: string): FidelitySetup {
  const scenario = loadScenario('pendulum', { set: SET });
  return { scenario, seed: 5, inputs: { model: join(folder, 'fitted') }, out: join(folder, out) };
}

async function judge(out: string): Promise<SubjectReport> {
  const opened = await openVectorSubjects(setupOf(out));
  try {
    const options = { folder: join(folder, out, 'chunks'), identity: opened.identity, concurrency: 1 };
    return (await measureSubjects(opened.subjects, options))[0];
  } finally {
    await opened.close();
  }
}

describe('a fitted ensemble', () => {
  it('is told apart from what costs nothing', async () => {
    const report = await judge('judged');
    expect(report.kind).toBe('ensemble');
  });
});
