// What holds for every learner: one suite, run by each of them.

import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSealed, sealedText } from '../../src/core/files.js';
import { Rng } from '../../src/core/rng.js';
import { InferenceSession } from '../../src/nn/runtime.js';
import type { TrainingDevice } from '../../src/nn/trainer.js';
import { loadLearner, saveLearner } from '../../src/rl/checkpoint.js';
import type { Learner } from '../../src/rl/learner.js';
import { loadPolicy } from '../../src/rl/policy-net.js';
import { temporaryFolder } from '../temporary-folder.js';

export interface LearnerCase {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly noiseDim: number;
  /** Bounds every action must keep. */
  readonly low: number;
  readonly high: number;
  make(rng: Rng): Promise<Learner>;
  /** What it trains on; the processor unless given. */
  readonly device?: TrainingDevice;
  /** One update, all of whose data and randomness come from `rng`. */
  train(learner: Learner, rng: Rng): Promise<unknown>;
}

const LEARNED_FROM = {
  scenario: 'contract',
  seed: 3,
  realSteps: 10,
  syntheticSteps: 20,
  worldModelVersions: ['abc'],
  gradientSteps: 2,
};

export function learnerContract(name: string, c: LearnerCase): void {
  describe(`${name} keeps the learner's contract`, () => {
    const folder = temporaryFolder('learner');
    let learner: Learner;
    const obs = (rows: number) => Rng.fromSeed(1).fillNormal(new Float32Array(rows * c.obsDim));
    const trained = async (updates: number) => {
      const made = await c.make(Rng.fromSeed(1));
      for (let i = 0; i < updates; i++) await c.train(made, Rng.fromSeed(100 + i));
      return made;
    };
    beforeAll(async () => {
      learner = await trained(2);
    });
    afterAll(() => learner.close());

    it('acts within its space, in the shapes declared, the same for the same stream', async () => {
      for (const rows of [1, 33]) {
        const one = await learner.policy().act(obs(rows), rows, Rng.fromSeed(2));
        const two = await learner.policy().act(obs(rows), rows, Rng.fromSeed(2));
        expect(one).toEqual(two);
        expect([one.action.length, one.logProb!.length]).toEqual([rows * c.actionDim, rows]);
        expect(one.action.every((a) => a >= c.low && a <= c.high)).toBe(true);
      }
      const sampled = await learner.policy().act(obs(33), 33, Rng.fromSeed(2));
      const other = await learner.policy().act(obs(33), 33, Rng.fromSeed(3));
      expect(other.action).not.toEqual(sampled.action);
    });

    it('acts by its mode without touching the stream when deterministic', async () => {
      const rng = Rng.fromSeed(2);
      const { action, logProb } = await learner.policy().act(obs(5), 5, rng, { deterministic: true });
      const again = await learner.policy().act(obs(5), 5, Rng.fromSeed(9), { deterministic: true });
      expect(again.action).toEqual(action);
      expect(logProb).toBeUndefined();
      expect(rng.state()).toEqual(Rng.fromSeed(2).state());
    });

    it('refuses observations of another width', async () => {
      await expect(learner.policy().act(new Float32Array(c.obsDim + 1), 1, Rng.fromSeed(0))).rejects.toMatchObject({
        code: 'DATA_MISMATCH',
      });
    });

    it('learns the same bytes from the same seed, and changes its version when it learns', async () => {
      const twin = await trained(2);
      expect(twin.state()).toEqual(learner.state());
      const { version } = twin.policy();
      expect(version).toBe(learner.policy().version);
      await c.train(twin, Rng.fromSeed(7));
      expect(twin.policy().version).not.toBe(version);
      expect(twin.gradientSteps).toBeGreaterThan(learner.gradientSteps);
      await twin.close();
    });

    it('sends a snapshot that acts byte for byte as itself, also through a structured clone', async () => {
      const snapshot = structuredClone(learner.policySnapshot());
      expect(snapshot.version).toBe(learner.policy().version);
      expect(snapshot.loader).toMatch(/dist\/rl\/policy-net\.js$/);
      const revived = await loadPolicy(snapshot.payload);
      expect(revived.version).toBe(snapshot.version);
      for (const rows of [1, 40]) {
        const own = await learner.policy().act(obs(rows), rows, Rng.fromSeed(5));
        expect(await revived.act(obs(rows), rows, Rng.fromSeed(5))).toEqual(own);
      }
    });

    it('keeps a snapshot frozen while the learner goes on', async () => {
      const twin = await trained(1);
      const frozen = await loadPolicy(twin.policySnapshot().payload);
      const before = await frozen.act(obs(4), 4, Rng.fromSeed(5));
      await c.train(twin, Rng.fromSeed(7));
      expect(await frozen.act(obs(4), 4, Rng.fromSeed(5))).toEqual(before);
      expect((await twin.policy().act(obs(4), 4, Rng.fromSeed(5))).logProb).not.toEqual(before.logProb);
      await twin.close();
    });

    it('goes on from a checkpoint exactly as if it had never stopped', async () => {
      const whole = await trained(4);
      const half = await trained(2);
      await saveLearner(join(folder, 'half'), half, LEARNED_FROM);
      const { learner: resumed, manifest } = await loadLearner(join(folder, 'half'), c.device);
      expect(manifest.learnedFrom).toEqual(LEARNED_FROM);
      expect(manifest.gradientSteps).toBe(half.gradientSteps);
      for (const i of [2, 3]) await c.train(resumed, Rng.fromSeed(100 + i));
      expect(resumed.state()).toEqual(whole.state());
      await Promise.all([whole, half, resumed].map((each) => each.close()));
    });

    it('refuses a checkpoint that is cut short, altered or half missing', async () => {
      const path = join(folder, 'damaged');
      const damage = async (what: (file: string) => Promise<unknown>, file: string) => {
        await saveLearner(path, learner, LEARNED_FROM);
        await what(join(path, file));
        await expect(loadLearner(path)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
      };
      await damage((file) => truncate(file, 100), 'learner.safetensors');
      await damage((file) => truncate(file, 60), 'manifest.json');
      await damage((file) => rm(file), 'manifest.json');
      await damage(async (file) => {
        const bytes = await readFile(file);
        bytes[bytes.length - 5] ^= 1;
        await writeFile(file, bytes);
      }, 'learner.safetensors');
      await damage(async (file) => {
        const manifest = openSealed(await readFile(file, 'utf8'));
        const learnedFrom = { ...LEARNED_FROM, realSteps: -1, seed: 'none' };
        await writeFile(file, sealedText({ ...manifest, learnedFrom }));
        const message = /learnedFrom\.seed: [^\n]*; learnedFrom\.realSteps: [^\n]*$/;
        await expect(loadLearner(path)).rejects.toThrow(message);
      }, 'manifest.json');
      await damage(async (file) => {
        const text = await readFile(file, 'utf8');
        await writeFile(file, text.replace(/"gradientSteps": \d+/, '"gradientSteps": 999999'));
      }, 'manifest.json');
    });

    it('refuses a state that does not fit, and stays as it was', async () => {
      const state = learner.state();
      const short = { ...state, arrays: { ...state.arrays, theta: state.arrays.theta.slice(1) } };
      expect(() => learner.restore(short)).toThrowError(expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }));
      const foreign = { ...state, meta: { ...state.meta, kind: state.meta.kind === 'sac' ? 'ppo' : 'sac' } as const };
      expect(() => learner.restore(foreign)).toThrowError(expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }));
      expect(learner.state()).toEqual(state);
    });

    it('exports a policy.onnx that stands alone and answers as the policy does', async () => {
      const session = await InferenceSession.fromBytes(learner.policyModel!()!);
      expect(session.inputs.map(({ name, shape }) => [name, shape[1]])).toEqual([
        ['obs', c.obsDim],
        ['noise', c.noiseDim],
      ]);
      expect(session.outputs.map(({ name }) => name)).toEqual(['action', 'mean', 'logProb']);
      expect(session.metadata['reverie.version']).toBe(learner.policy().version);
      const rows = 9;
      const noise = new Float32Array(rows * c.noiseDim).fill(0.5);
      const feeds = {
        obs: { dtype: 'float32' as const, dims: [rows, c.obsDim], data: obs(rows) },
        noise: { dtype: 'float32' as const, dims: [rows, c.noiseDim], data: noise },
      };
      const { mean } = await session.run(feeds);
      const { action } = await learner.policy().act(obs(rows), rows, Rng.fromSeed(0), { deterministic: true });
      (mean.data as Float32Array).forEach((value, i) => {
        expect(value).toBeCloseTo(action[i], 5);
      });
      await session.release();
    });
  });
}
