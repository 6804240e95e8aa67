// Rollouts that go to disk as they are simulated: the files that rollouts in memory make, byte for byte, for any number of workers.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { SavedTransitions } from '../../src/replay/snapshot.js';
import { exportParquet } from '../../src/synth/export/transitions.js';
import { drawnStarts, drawStarts, type RolloutResult } from '../../src/synth/rollout/plan.js';
import { RolloutPool } from '../../src/synth/rollout/pool.js';
import {
  type DrawnSynthesisRequest,
  type SynthesisRequest,
  saveRollouts,
  synthesize,
  synthesizeToJournal,
} from '../../src/synth/synthesize.js';
import { temporaryFolder } from '../temporary-folder.js';
import { ACTION_DIM, MODEL_LOADER, OBS_DIM, requestOf } from './fixtures.js';

let folder: string;
const open: RolloutPool[] = [];

beforeEach(() => {
  folder = temporaryFolder('saved-rollouts');
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});

function poolOf(workers: number): RolloutPool {
  const pool = new RolloutPool({ workers, modelLoader: MODEL_LOADER });
  open.push(pool);
  return pool;
}

const dims = { obsDim: OBS_DIM, actionDim: ACTION_DIM };
async function exported(saved: SavedTransitions, name: string): Promise<Record<string, string>> {
  const root = join(folder, name);
  await exportParquet(saved, { path: join(root, 'rows.parquet') });
  return hashes(root);
}

/** Path below a folder to the hash of its file. */
function hashes(root: string): Record<string, string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  const hash = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
  return Object.fromEntries(paths.map((path) => [path.slice(root.length), hash(path)]));
}

async function bufferOf({ batch, provenance }: RolloutResult): Promise<ReplayBuffer> {
  const buffer = new ReplayBuffer({ capacity: Math.max(1, batch.rows), ...dims, source: 'synthetic' });
  if (batch.rows > 0) buffer.append(batch, provenance);
  return buffer;
}

describe('rollouts on disk', () => {
  it('are the buffer and the datasets of rollouts in memory, by workers', async () => {
    const request = requestOf(9400, { disagreementLimit: 0.8, chunkSize: 512, scenario: 'toy' });
    const truth = await bufferOf(await poolOf(0).branchedRollouts(request));
    expect(truth.size).toBeGreaterThan(32_768);
    await truth.save(join(folder, 'truth'));
    const savedTruth = await SavedTransitions.open(join(folder, 'truth'));
    const datasets = await exported(savedTruth, 'truth-datasets');
    await savedTruth.close();
    const pool = poolOf(2);
    const rollouts = await synthesizeToJournal({ ...request, pool, journal: join(folder, 'journal') });
    const told: number[] = [];
    const saved = await saveRollouts(rollouts, {
      ...{ folder: join(folder, 'data'), ...dims },
      onRows: (rows) => told.push(rows),
    });
    expect(rollouts.counts.rows).toBe(truth.size);
    expect(told.at(-1)).toBe(truth.size);
    expect(hashes(join(folder, 'data'))).toEqual(hashes(join(folder, 'truth')));
    expect(await exported(saved, 'datasets')).toEqual(datasets);
    await saved.close();
  });

  it('may be none', async () => {
    const pool = poolOf(0);
    const rollouts = await synthesizeToJournal({ ...requestOf(0), pool, journal: join(folder, 'journal') });
    const saved = await saveRollouts(rollouts, { folder: join(folder, 'data'), ...dims });
    await (await bufferOf(await pool.branchedRollouts(requestOf(0)))).save(join(folder, 'truth'));
    expect(hashes(join(folder, 'data'))).toEqual(hashes(join(folder, 'truth')));
    await saved.close();
  });

  it('end with the reason of their signal, and leave no file in its place', async () => {
    const pool = poolOf(1);
    const rollouts = await synthesizeToJournal({ ...requestOf(64), pool, journal: join(folder, 'journal') });
    const signal = AbortSignal.abort(new Error('enough'));
    const data = join(folder, 'data');
    await expect(saveRollouts(rollouts, { folder: data, ...dims, signal })).rejects.toThrow('enough');
    const saved = await saveRollouts(rollouts, { folder: data, ...dims });
    const path = join(folder, 'rows.parquet');
    await expect(exportParquet(saved, { path, signal })).rejects.toThrow('enough');
    expect(readdirSync(data)).toEqual(['transitions.bin']);
    expect(readdirSync(folder).sort()).toEqual(['data', 'journal']);
    await saved.close();
  });
});

it('start states drawn as they are needed are those drawn at once: the same journal, and each of the two goes on with the other', async () => {
  const pool = poolOf(0);
  const real = await bufferOf(await pool.branchedRollouts(requestOf(40)));
  const { starts: _, startIds: __, ...rest } = requestOf(1, { chunkSize: 16 });
  const rng = () => Rng.fromSeed(5).split('starts');
  const atOnce: SynthesisRequest = { ...rest, ...drawStarts(real, 100, rng()), pool, journal: join(folder, 'a') };
  const later: DrawnSynthesisRequest = {
    ...{ ...rest, pool, journal: join(folder, 'b') },
    starts: drawnStarts(real, 100, rng()),
  };
  const { batch } = await synthesize(atOnce);
  const { counts } = await synthesizeToJournal(later);
  expect(counts.rows).toBe(batch.rows);
  expect(hashes(join(folder, 'b'))).toEqual(hashes(join(folder, 'a')));
  await synthesizeToJournal({ ...later, journal: join(folder, 'a') });
});
