import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { unboundedSpace } from '../../../src/env/space-values.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { episodeOverlap, refuseSeenEpisodes } from '../../../src/fidelity/tools/truth.js';
import { openTruth, seenRows } from '../../../src/fidelity/vector/truth.js';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import { allocateBatch } from '../../../src/replay/columns.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { readEpisodeLogs } from '../../../src/replay/experience/logs/read-episode-logs.js';
import { openToolsSubjects } from '../../../src/run/pipeline/fidelity.js';
import { trainingFolders } from '../../../src/run/pipeline/fidelity-vector.js';
import { makeProgress } from '../../../src/run/progress.js';
import { loadToolsScenario } from '../../../src/run/scenario.js';
import { temporaryFolder } from '../../temporary-folder.js';

const services = {
  signal: new AbortController().signal,
  progress: makeProgress({ stream: process.stderr, quiet: true }),
  log: () => {},
};

const folder = () => temporaryFolder('held-out');

function episode(family: string, id: string, ...said: string[]): EpisodeRecord {
  const messages = said.map((content) => ({ role: 'user' as const, content }));
  return { id, family, task: family, messages } as unknown as EpisodeRecord;
}

describe('held-out episodes', () => {
  it('may not be of a family that the model answers from, nor be one of its episodes', () => {
    expect(episodeOverlap([episode('unlock', 'a'), episode('refund', 'b')], [episode('unlock', 'c')])).toBe(
      'families of tasks: unlock',
    );
    expect(episodeOverlap([episode('', 'a')], [episode('', 'a')])).toBe('1 of the same episodes');
    expect(episodeOverlap([episode('refund', 'a')], [episode('unlock', 'b')])).toBeUndefined();
  });

  it('are refused where the scenario answers from them', async () => {
    const scenario = await loadToolsScenario('helpdesk', { set: [] });
    const domain = await makeDomain(scenario.config.domain, { folder: scenario.folder });
    try {
      const path = join(scenario.folder, 'logs');
      const { episodes } = await readEpisodeLogs(path, { domain, tolerant: true });
      const own = {
        ...scenario,
        config: { ...scenario.config, experience: { ...scenario.config.experience, logs: ['logs'] } },
      };
      await expect(refuseSeenEpisodes(path, episodes, own, domain)).rejects.toThrow(
        /is not held out.*families of tasks/,
      );
      const none = { ...own, config: { ...own.config, experience: { ...own.config.experience, logs: [] } } };
      await refuseSeenEpisodes(path, episodes, none, domain);
    } finally {
      domain.close();
    }
  });

  it('take the place of the truth that the scenario names', async () => {
    const logs = fileURLToPath(new URL('../../../packs/helpdesk/logs', import.meta.url));
    const open = async (set: readonly string[]) => {
      const scenario = await loadToolsScenario('helpdesk', { set: ['fidelity.sections=[one-step]', ...set] });
      return openToolsSubjects({ scenario, seed: 1, inputs: { heldOut: logs }, out: folder() }, services);
    };
    await expect(open([])).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    const opened = await open(['experience.logs=[]']);
    expect(opened.truth).toMatchObject({ kind: 'recorded', episodes: 116 });
    await opened.close();
  });
});

function recorded(rows: number, seed: number): ReplayBuffer {
  const buffer = new ReplayBuffer({ capacity: 2 * rows, obsDim: 2, actionDim: 1, source: 'real' });
  const batch = allocateBatch(rows, 2, 1);
  const rng = Rng.fromSeed(seed);
  for (const values of [batch.obs, batch.action, batch.nextObs])
    for (let i = 0; i < values.length; i++) values[i] = rng.normal();
  // Each state is the one that the step before led to.
  batch.obs.set(batch.nextObs.subarray(0, 2 * (rows - 1)), 2);
  const from = { source: 'real', backend: 'real', modelVersion: '', scenario: 'p', policyVersion: 'p', seed } as const;
  buffer.append(batch, { ...from, episode: new Float64Array(rows), step: Uint32Array.from(batch.reward, (_, i) => i) });
  return buffer;
}

async function transitions(path: string, seed: number): Promise<void> {
  await recorded(20, seed).save(path);
}

function run(path: string, inputs: object): void {
  mkdirSync(path, { recursive: true });
  const record = { job: 'fit', status: 'finished', seed: 0, inputs, command: '', versions: {}, startedAt: '' };
  writeFileSync(join(path, 'run.json'), JSON.stringify(record));
}

describe('held-out transitions', () => {
  it('are looked for beside the model, where its run found its own, and behind the model it goes on from', async () => {
    const root = folder();
    const [collected, earlier, fitted] = ['collected', 'earlier', 'fitted'].map((name) => join(root, name));
    run(collected, {});
    await transitions(join(collected, 'data'), 1);
    run(earlier, {});
    await transitions(join(earlier, 'data'), 2);
    run(fitted, { data: collected, model: earlier });
    mkdirSync(join(fitted, 'model'));
    const expected = [join(collected, 'data'), join(earlier, 'data')];
    expect(trainingFolders(fitted).sort()).toEqual(expected);
    expect(trainingFolders(join(fitted, 'model')).sort()).toEqual(expected);
    // A training keeps its model two folders below its own.
    mkdirSync(join(fitted, 'checkpoint', 'model'), { recursive: true });
    for (const within of ['checkpoint', 'checkpoint/model'])
      expect(trainingFolders(join(fitted, within)).sort()).toEqual(expected);
    run(earlier, { model: fitted });
    expect(trainingFolders(fitted).sort()).toEqual(expected);
    expect(trainingFolders(join(root, 'gone'))).toEqual([]);
  });

  it('are counted row by row', async () => {
    const root = folder();
    await transitions(join(root, 'a'), 1);
    await transitions(join(root, 'b'), 2);
    const rows = (await ReplayBuffer.load(join(root, 'a'))).rows();
    expect(await seenRows(rows, [join(root, 'b')])).toBe(0);
    expect(await seenRows(rows, [join(root, 'b'), join(root, 'a')])).toBe(20);
    rows.nextObs[1] += 1e-3;
    expect(await seenRows(rows, [join(root, 'a')])).toBe(19);
  });
});

it('recorded transitions are taken in whole episodes, also in one of more rows than a call takes arguments', async () => {
  const rows = 200_000;
  const host = { find: () => 'records', records: async () => recorded(rows, 1), trainingFolders: () => [] };
  const scenario = { config: { fidelity: { transitions: rows - 1, starts: 3 } } };
  const spaces = { observationSpace: unboundedSpace(2), actionSpace: unboundedSpace(1) };
  const setup = { host, scenario, inputs: { data: 'records' }, seed: 0 };
  const { truth } = await openTruth(setup as never, spaces as never, undefined as never);
  expect(truth.episodes).toEqual([{ first: 0, rows: rows - 1 }]);
});
