import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { inspectFolder, inspectionText } from '../../src/run/inspect.js';
import { launch } from '../../src/run/launch.js';
import type { EvalResult } from '../../src/run/pipeline/collect.js';
import { recordingStream } from './streams.js';

async function replayIn(folder: string, rows: number): Promise<void> {
  const buffer = new ReplayBuffer({ capacity: 100, obsDim: 2, actionDim: 1, source: 'real' });
  buffer.append(allocateBatch(rows, 2, 1), {
    source: 'real',
    backend: 'real',
    modelVersion: '',
    scenario: 'pendulum',
    policyVersion: 'p1',
    seed: 0,
    episode: new Float64Array(rows),
    step: new Uint32Array(rows),
  });
  await buffer.save(folder);
}

describe('inspecting', () => {
  it('a run tells what it ran, how it went, and what lies in it', async () => {
    const out = join(mkdtempSync(join(tmpdir(), 'reverie-inspect-')), 'run');
    const result = { job: 'eval', wallSeconds: 2, meanReturn: 5 } as EvalResult;
    const options = { scenario: 'pendulum', out, stream: recordingStream(), command: 'reverie eval pendulum' };
    await launch('eval', { jobs: { vector: async () => async () => result }, ...options });
    await replayIn(join(out, 'data'), 7);
    mkdirSync(join(out, 'other'));
    const inspection = await inspectFolder(out);
    expect(inspection).toMatchObject({
      kind: 'run',
      folder: out,
      facts: { status: 'finished', scenario: 'pendulum', meanReturn: 5 },
    });
    expect(inspection.parts.map(({ kind, facts }) => [kind, facts.rows])).toEqual([['replay', 7]]);
    expect(inspectionText(inspection)).toMatch(/^run: .*\n.*\n {2}status +finished\n/);
    expect(inspectionText(inspection)).toMatch(/\n {2}replay: data\n(.*\n)* {4}rows +7\n/);
  });

  it('an ensemble tells what it was fitted to', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reverie-inspect-'));
    const description = { config: { members: 7, elites: 5, hidden: [8] }, report: { rows: 500, holdoutError: 0.5 } };
    writeFileSync(
      join(folder, 'manifest.json'),
      JSON.stringify({ format: 'reverie-ensemble', modelVersion: 'v1', description }),
    );
    const { kind, facts } = await inspectFolder(folder);
    expect(kind).toBe('world model');
    expect(facts).toMatchObject({ modelVersion: 'v1', members: 7, rows: 500, holdoutError: 0.5 });
  });

  it('refuses a folder with nothing of ours, and names a damaged file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reverie-inspect-'));
    await expect(inspectFolder(folder)).rejects.toMatchObject({ code: 'INPUT_NEEDED' });
    writeFileSync(join(folder, 'manifest.json'), '{"format": "reverie-');
    await expect(inspectFolder(folder)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
  });
});
