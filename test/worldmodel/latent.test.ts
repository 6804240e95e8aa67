// The recurrent latent model: it remembers what observations hide, its carries are forks, and the same seed gives the same bytes.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { boxSpace } from '../../src/env/index.js';
import { allocateBatch } from '../../src/replay/index.js';
import { loadWorldModel, type StoredDynamics } from '../../src/worldmodel/index.js';
import type { EpisodeRows } from '../../src/worldmodel/latent/dataset.js';
import { fitLatent } from '../../src/worldmodel/latent/fit.js';
import type { LatentModel } from '../../src/worldmodel/latent/latent-model.js';

const spaces = { observationSpace: boxSpace([-50], [50]), actionSpace: boxSpace([-1], [1]) };
const SETTINGS = { members: 2, latent: 12, hidden: [16], window: 8, context: 3, maxSteps: 400, lr: 5e-3 };
const LENGTH = 12;

/** A point that moves by a speed of its own, drawn once an episode and never shown, plus the action. */
function drift(seed: number, episodes: number): EpisodeRows {
  const rng = Rng.fromSeed(seed);
  const batch = allocateBatch(episodes * LENGTH, 1, 1);
  const episode = new Float64Array(batch.rows);
  const step = new Uint32Array(batch.rows);
  for (let row = 0, x = 0, speed = 0; row < batch.rows; row++) {
    episode[row] = Math.floor(row / LENGTH);
    step[row] = row % LENGTH;
    if (step[row] === 0) [x, speed] = [0, rng.uniform() < 0.5 ? -1 : 1];
    batch.obs[row] = x;
    batch.action[row] = 2 * rng.uniform() - 1;
    x += speed + 0.5 * batch.action[row];
    batch.nextObs[row] = x;
    batch.reward[row] = -Math.abs(x);
  }
  return { batch, episode, step };
}

const data = drift(1, 60);
let model: LatentModel;

beforeAll(async () => {
  ({ model } = await fitLatent(data, spaces, SETTINGS, { rng: Rng.fromSeed(3) }));
});
afterAll(() => model.close());

const deterministic = { deterministic: true, propagation: 'mean' } as const;

describe('a memory', () => {
  it('tells what the observation hides', async () => {
    const { batch } = drift(2, 20);
    const at = (t: number) => Float32Array.from({ length: 20 }, (_, e) => batch.obs[e * LENGTH + t]);
    const acted = (t: number) => Float32Array.from({ length: 20 }, (_, e) => batch.action[e * LENGTH + t]);
    let carry = model.begin(at(0));
    const [first] = [await model.imagine(carry, acted(0), Rng.fromSeed(0), deterministic)];
    for (let t = 0; t < 4; t++) carry = await model.follow(carry, acted(t), at(t + 1));
    const later = await model.imagine(carry, acted(4), Rng.fromSeed(0), deterministic);
    const error = (seen: Float32Array, real: Float32Array) =>
      Math.sqrt(seen.reduce((sum, value, i) => sum + (value - real[i]) ** 2, 0) / seen.length);
    // Without a past the speed is anyone's guess; with one it is known.
    expect(error(first.observation, at(1))).toBeGreaterThan(0.7);
    expect(error(later.observation, at(5))).toBeLessThan(0.4);
  });

  it('may be forked: rows taken twice go on alike, and apart with other actions', async () => {
    const carry = await model.follow(
      model.begin(Float32Array.of(0, 0)),
      Float32Array.of(1, 0),
      Float32Array.of(1.5, -1),
    );
    const forked = model.pick(carry, Uint32Array.of(1, 1, 0));
    const { observation } = await model.imagine(forked, Float32Array.of(1, 1, 1), Rng.fromSeed(0), deterministic);
    expect(observation[0]).toBe(observation[1]);
    expect(observation[0]).not.toBe(observation[2]);
    expect(carry.obs).toEqual(Float32Array.of(1.5, -1));
  });

  it('is put away and brought back to the byte', async () => {
    const carry = await model.follow(
      model.begin(Float32Array.of(0, 3)),
      Float32Array.of(1, 0),
      Float32Array.of(1.5, -0),
    );
    const revived = model.revive(JSON.parse(JSON.stringify(model.freeze(carry))));
    expect(revived).toEqual(carry);
    expect(() => model.revive({ ...model.freeze(carry), version: 'other' })).toThrow(
      expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }),
    );
  });
});

describe('randomness', () => {
  it('is that of the streams alone: a row beside others is as if it were alone', async () => {
    const carry = model.begin(Float32Array.of(0, 1, 2));
    const action = Float32Array.of(0.1, 0.2, 0.3);
    const streams = () => [0, 1, 2].map((r) => Rng.fromSeed(7).split('row', r));
    const together = await model.imagine(carry, action, streams(), { disagreement: true });
    for (let r = 0; r < 3; r++) {
      const alone = await model.imagine(model.pick(carry, Uint32Array.of(r)), action.slice(r, r + 1), [streams()[r]], {
        disagreement: true,
      });
      expect(alone.observation[0]).toBe(together.observation[r]);
      expect(alone.reward[0]).toBe(together.reward[r]);
      expect(alone.disagreement![0]).toBe(together.disagreement![r]);
    }
  });

  it('of a fit is that of its stream: the same model to the byte', async () => {
    const settings = { ...SETTINGS, maxSteps: 50 };
    const [a, b] = await Promise.all(
      [5, 5].map((seed) => fitLatent(data, spaces, settings, { rng: Rng.fromSeed(seed) })),
    );
    expect(a.model.modelVersion).toBe(b.model.modelVersion);
    await Promise.all([a.model.close(), b.model.close()]);
  });
});

describe('a folder', () => {
  it('holds the model: it answers the same', async () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'latent-')), 'model');
    await model.save(folder);
    const loaded = await loadWorldModel(folder);
    const ask = async (of: StoredDynamics) => {
      const carry = await of.begin(Float32Array.of(1), Rng.fromSeed(0));
      return (await of.imagine(carry, Float32Array.of(0.5), Rng.fromSeed(1))).observation;
    };
    expect(await ask(loaded)).toEqual(await ask(model));
    expect(loaded.modelVersion).toBe(model.modelVersion);
    await loaded.close();
  });
});

describe('refusals', () => {
  it('names a context that is no shorter than the window', async () => {
    const fitting = fitLatent(data, spaces, { window: 8, context: 8 }, { rng: Rng.fromSeed(1) });
    await expect(fitting).rejects.toMatchObject({ code: 'MODEL_CONFIG_INVALID' });
  });

  it('names an end that nobody knows and nobody is to learn', async () => {
    const ended = { ...data, batch: { ...data.batch, terminated: new Uint8Array(data.batch.rows).fill(1) } };
    const fitting = fitLatent(ended, spaces, {}, { rng: Rng.fromSeed(1) });
    await expect(fitting).rejects.toMatchObject({ code: 'MODEL_CONFIG_INVALID' });
  });
});
