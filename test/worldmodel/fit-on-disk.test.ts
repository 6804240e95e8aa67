// Rows that lie on disk are fitted to the same bytes as rows in memory, and leave nothing behind.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { type Provenance, ReplayBuffer } from '../../src/replay/index.js';
import { dynamicsKinds, type ModelSection } from '../../src/worldmodel/index.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-fit-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Episodes of 25 steps in a ring that went round; some of them end by the task, with another reward. */
function recorded(onDisk: boolean, capacity = 2500): ReplayBuffer {
  const rows = 3000;
  const batch = linearTransitions(rows, Rng.fromSeed(1));
  for (let i = 24; i < rows; i += 75) {
    batch.terminated[i] = 1;
    batch.reward[i] -= 20;
  }
  const provenance: Provenance = {
    ...{ source: 'real', backend: 'real', modelVersion: '', scenario: 's', policyVersion: 'p', seed: 0 },
    episode: Float64Array.from({ length: rows }, (_, i) => Math.floor(i / 25)),
    step: Uint32Array.from({ length: rows }, (_, i) => i % 25),
  };
  const buffer = new ReplayBuffer({
    ...{ capacity, source: 'real', obsDim: batch.obs.length / rows, actionDim: batch.action.length / rows },
    folder: onDisk ? join(folder, 'rows') : undefined,
  });
  buffer.append(batch, provenance);
  return buffer;
}

async function fitted(section: ModelSection, onDisk: boolean, workers = 0) {
  const data = recorded(onDisk);
  const kind = await dynamicsKinds.get(section.kind).make();
  const { model, report, heldOut } = await kind.fit!({
    ...{ section, data, spaces: linearSpaces, rng: Rng.fromSeed(5), workers },
    scratch: onDisk ? join(folder, 'scratch') : undefined,
  });
  const result = { version: model.modelVersion, report, heldOut: heldOut?.() };
  await model.close();
  data.close();
  return result;
}

const ensemble = { kind: 'ensemble', ...smallConfig, learnTermination: true, maxEpochs: 2 };
const latent = { kind: 'latent', members: 1, latent: 8, hidden: [8], window: 10, context: 3, maxSteps: 20 };

it.each([
  ['an ensemble', ensemble, 0],
  ['an ensemble, by worker threads', ensemble, 2],
  ['a recurrent model', { ...latent, stepsPerEvaluation: 10, learnTermination: true }, 0],
])('%s is the same, from disk and from memory', async (_, section, workers) => {
  const parsed = dynamicsKinds.get(section.kind).schema!.parse(section) as ModelSection;
  const [memory, disk] = [await fitted(parsed, false), await fitted(parsed, true, workers)];
  expect(disk).toEqual(memory);
  expect(existsSync(join(folder, 'scratch', section.kind))).toBe(false);
  expect(readdirSync(folder)).toContain('rows');
});
