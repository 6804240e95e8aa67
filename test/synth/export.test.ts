// Exporters, read back: Parquet by hyparquet, Minari also by minari itself where there is a Python that has it.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parquetReadObjects } from 'hyparquet';
import { beforeEach, describe, expect, it } from 'vitest';
import type { VectorSpace } from '../../src/core/environment.js';
import { boxSpace } from '../../src/env/space-values.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { SavedTransitions } from '../../src/replay/snapshot.js';
import { exportMinari, type MinariOptions } from '../../src/synth/export/minari.js';
import { exportParquet, TRANSITION_COLUMNS } from '../../src/synth/export/transitions.js';
import type { RolloutResult } from '../../src/synth/rollout/plan.js';
import { temporaryFolder } from '../temporary-folder.js';
import { ACTION_DIM, branchedRollouts, OBS_DIM, requestOf, revive, rowsOf } from './fixtures.js';

const observationSpace: VectorSpace = {
  type: 'box',
  shape: [OBS_DIM],
  low: [null, null, -5],
  high: [null, 7.5, null],
};
const actionSpace = boxSpace(new Array(ACTION_DIM).fill(-1), new Array(ACTION_DIM).fill(1));

let folder: string;
let result: RolloutResult;

beforeEach(async () => {
  folder = temporaryFolder('export');
  const request = requestOf(24, { disagreementLimit: 1e9, scenario: 'toy', seed: 2 ** 40 });
  result = await branchedRollouts(await revive(request));
});

/** Rows as they lie on disk; `capacity`: of a buffer that went round. */
async function savedRows({ batch, provenance }: RolloutResult, capacity = Math.max(1, batch.rows)) {
  const [obsDim, actionDim] = [OBS_DIM, batch.rows === 0 ? ACTION_DIM : batch.action.length / batch.rows];
  const buffer = new ReplayBuffer({ capacity, obsDim, actionDim, source: 'synthetic' });
  if (batch.rows > 0) buffer.append(batch, provenance);
  const home = temporaryFolder('rows');
  await buffer.save(home);
  return SavedTransitions.open(home);
}

async function withSaved<T>(rows: RolloutResult, use: (saved: SavedTransitions) => Promise<T>): Promise<T> {
  const saved = await savedRows(rows);
  return use(saved).finally(() => saved.close());
}

const toParquet = (rows: RolloutResult, path: string) => withSaved(rows, (saved) => exportParquet(saved, { path }));
const toMinari = (rows: RolloutResult, options: MinariOptions) =>
  withSaved(rows, (saved) => exportMinari(saved, options));

const readParquet = async (path: string): Promise<Record<string, unknown>[]> => {
  const bytes = readFileSync(path);
  return parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) });
};

/** What each exported row must be, from the result itself. */
function expectedRows() {
  const { policyVersion, modelVersion } = result.provenance;
  return rowsOf(result).map((row, i) => ({
    obs: row.obs,
    action: row.action,
    reward: row.reward,
    terminated: row.terminated === 1,
    truncated: row.truncated === 1,
    next_obs: row.nextObs,
    source: 'synthetic',
    backend: 'analytic',
    model_version: modelVersion,
    scenario: 'toy',
    task: null,
    policy_version: policyVersion,
    seed: 2 ** 40,
    row_id: i,
    episode: row.episode,
    step: row.step,
    group: null,
    parent: row.parent,
    log_prob: row.logProb,
    confidence: row.confidence,
    state_hash: null,
  }));
}

const withNumbers = (rows: Record<string, unknown>[]) =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [key, typeof value === 'bigint' ? Number(value) : value]),
    ),
  );

describe('transitions', () => {
  it('are a Parquet file with all provenance, read back exactly', async () => {
    const path = join(folder, 'deep', 'rows.parquet');
    await toParquet(result, path);
    expect(withNumbers(await readParquet(path))).toEqual(expectedRows());
  });

  it('of a ring that went round come oldest first, with their row ids', async () => {
    const capacity = result.batch.rows - 5;
    const path = join(folder, 'ring.parquet');
    await exportParquet(await savedRows(result, capacity), { path });
    expect(withNumbers(await readParquet(path))).toEqual(expectedRows().slice(5));
  });

  it('spill into further row groups', async () => {
    const large = await branchedRollouts(await revive(requestOf(7000, { chunkSize: 512 })));
    expect(large.batch.rows).toBeGreaterThan(32_768);
    await toParquet(large, join(folder, 'large.parquet'));
    const rows = await readParquet(join(folder, 'large.parquet'));
    expect(rows.length).toBe(large.batch.rows);
    expect(rows.map((row) => row.reward)).toEqual([...large.batch.reward]);
    expect(rows.at(-1)!.next_obs).toEqual([...large.batch.nextObs.slice(-OBS_DIM)]);
  });

  it('replace nothing that is there', async () => {
    const path = join(folder, 'precious');
    writeFileSync(path, 'mine');
    await expect(toParquet(result, path)).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(Object.keys(expectedRows()[0])).toEqual(Object.keys(TRANSITION_COLUMNS));
  });
});

describe('a Minari dataset', () => {
  const options = () => ({ root: folder, datasetId: 'reverie/toy-v0', observationSpace, actionSpace });

  it('has a folder an episode, T + 1 rows each, and its provenance', async () => {
    const done = await toMinari(result, { ...options(), metadata: { author: 'someone' } });
    expect(done).toMatchObject({ episodes: 24 });
    const data = join(folder, 'reverie', 'toy-v0', 'data');
    const metadata = JSON.parse(readFileSync(join(data, 'metadata.json'), 'utf8'));
    expect(metadata).toMatchObject({
      dataset_id: 'reverie/toy-v0',
      total_episodes: 24,
      author: 'someone',
      data_format: 'parquet',
    });
    expect(metadata.observation_space).toContain(
      '"low": [-Infinity, -Infinity, -5], "high": [Infinity, 7.5, Infinity]',
    );
    const rows = rowsOf(result).filter((row) => row.episode === 3);
    const episode = await readParquet(join(data, '3', 'part-0.parquet'));
    expect(episode.map((row) => row.observations)).toEqual([...rows.map((row) => row.obs), rows.at(-1)!.nextObs]);
    expect(episode.map((row) => row.actions)).toEqual([...rows.map((row) => row.action), [0, 0]]);
    expect(episode.map((row) => row.rewards)).toEqual([...rows.map((row) => row.reward), 0]);
    expect(episode.map((row) => row.truncations)).toEqual([...rows.map((row) => row.truncated === 1), false]);
    expect(JSON.parse(readFileSync(join(data, '3', 'metadata.json'), 'utf8'))).toMatchObject({
      id: 3,
      total_steps: rows.length,
      reverie: {
        source: 'synthetic',
        model_version: result.provenance.modelVersion,
        group: null,
        parent: 1009,
        episode: 3,
      },
    });
  });

  it('refuses bad names and what exists, and leaves nothing', async () => {
    for (const datasetId of ['../escape-v0', 'no version', 'a/../b-v0', '-v']) {
      await expect(toMinari(result, { ...options(), datasetId })).rejects.toMatchObject({ code: 'SCENARIO_UNFIT' });
    }
    expect(readdirSync(folder)).toEqual([]);
    await toMinari(result, options());
    await expect(toMinari(result, options())).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
  });

  it('keeps discrete actions as integers', async () => {
    const { rows } = result.batch;
    const batch = { ...result.batch, action: Float32Array.from({ length: rows }, (_, row) => 2 + (row % 3)) };
    const discrete: VectorSpace = { type: 'discrete', n: 3, start: 2 };
    await toMinari({ ...result, batch }, { ...options(), actionSpace: discrete });
    const episode = await readParquet(join(folder, 'reverie', 'toy-v0', 'data', '0', 'part-0.parquet'));
    expect(episode.slice(0, -1).map((row) => row.actions)).toEqual(
      [2n, 3n, 4n, 2n, 3n, 4n].slice(0, episode.length - 1),
    );
  });

  const python = process.env['REVERIE_PYTHON'];
  const reason = 'REVERIE_PYTHON names no Python that has minari, pyarrow and pandas';
  it.skipIf(!python)(`is read by minari and pandas (${python ? 'REVERIE_PYTHON' : `skipped: ${reason}`})`, async () => {
    expect(existsSync(python!)).toBe(true);
    await toMinari(result, options());
    await toParquet(result, join(folder, 'rows.parquet'));
    const run = spawnSync(python!, [fileURLToPath(new URL('read-minari.py', import.meta.url))], {
      env: { ...process.env, MINARI_DATASETS_PATH: folder },
      encoding: 'utf8',
    });
    expect(run.stderr).toBe('');
    const read = JSON.parse(run.stdout);
    const rows = rowsOf(result);
    expect(read.steps).toBe(rows.length);
    expect(read.low).toEqual(['-inf', '-inf', '-5.0']);
    expect(read.episodes.length).toBe(24);
    for (const [id, episode] of read.episodes.entries()) {
      const lived = rows.filter((row) => row.episode === id);
      expect(episode.observations).toEqual([...lived.map((row) => row.obs), lived.at(-1)!.nextObs]);
      expect(episode.actions).toEqual(lived.map((row) => row.action));
      expect(episode.rewards).toEqual(lived.map((row) => row.reward));
      expect(episode.ends).toEqual(lived.map((row) => [row.terminated === 1, row.truncated === 1]));
    }
    expect(read.pandas).toEqual({
      rows: rows.length,
      next_obs: rows[5].nextObs,
      sources: ['synthetic'],
    });
  });
});
