// Decoders on a device, by the emulation of its kernels: the tokens of ONNX Runtime from the same random words, log-probabilities and
// logits to a tolerance, and the same ends, choices and errors.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import * as nn from '../../../src/nn/index.js';
import { lacksCompiler, make } from '../../native/native-build.js';
import { randomTokens, TINY } from './fixture.js';

const isSkipped = lacksCompiler('device.test.ts');
const END = 9;
const EMULATED = { kind: 'emulated', precision: 'fp32' } as const;
const CONFIG: nn.DecoderConfigInput = { ...TINY, headDim: 16, contextLength: 40 };
const rng = Rng.fromSeed(8);
const decoder = nn.Decoder.create(CONFIG, rng.split('weights'));
const prompts = [3, 3, 18, 1, 7, 30].map((size, i) => randomTokens(rng.split('prompt', i % 5), size));

/** Each with a stream that was drawn from before. */
function requests(own: readonly number[][] = prompts): nn.GenerateRequest[] {
  return own.map((prompt, i) => {
    const stream = rng.split('row', i);
    stream.skip(i);
    return { prompt, rng: stream };
  });
}

const furthest = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce(
    (worst, value, i) => Math.max(worst, Math.abs(value - b[i])),
    a.length === b.length ? 0 : Infinity,
  );

describe.skipIf(isSkipped)('a decoder on a device', () => {
  let device: nn.DeviceDecoder;
  beforeAll(async () => {
    make('addon');
    device = await nn.DeviceDecoder.open(EMULATED, decoder, 4);
  }, 480_000);
  afterAll(async () => {
    await device.close();
    await decoder.sessions.release();
  });

  async function expectSame(asked: () => nn.GenerateRequest[], options: nn.GenerateOptions) {
    const [here, there] = [asked(), asked()];
    const expected = await decoder.generate(here, options);
    const generated = await device.generate(there, options);
    expect(generated.map(({ logProbs: _, ...rest }) => rest)).toEqual(expected.map(({ logProbs: _, ...rest }) => rest));
    generated.forEach(({ logProbs }, i) => {
      expect(furthest(logProbs, expected[i].logProbs)).toBeLessThan(2e-5);
    });
    expect(there.map((one) => one.rng.state())).toEqual(here.map((one) => one.rng.state()));
    return generated;
  }

  test('has places for some sequences, in memory that is told', () => {
    expect(device.sequences).toBe(4);
    expect(device.bytes).toBeGreaterThan(4 * decoder.theta.length);
  });

  test.each<[string, Partial<nn.GenerateOptions>]>([
    ['greedily', { temperature: 0 }],
    ['as the model says', {}],
    ['at a temperature', { temperature: 0.7, stop: [END, 11] }],
    ['among the most likely', { topK: 5 }],
    ['among those that make up a share', { topP: 0.8, temperature: 1.5 }],
    ['among the most likely of those', { topK: 6, topP: 0.5 }],
  ])('says what ONNX Runtime says: %s', async (_, options) => {
    const ends = await expectSame(requests, { maxTokens: 14, ...options });
    expect(new Set(ends.map(({ tokens }) => tokens.length)).size).toBeGreaterThan(1);
  });

  test('what a row says depends on no other', async () => {
    const all = await device.generate(requests(), { maxTokens: 6 });
    for (const i of [0, 5]) expect(await device.generate([requests()[i]], { maxTokens: 6 })).toEqual([all[i]]);
  });

  test('keeps to a constraint, and tells its choices', async () => {
    const trie = new nn.TokenTrie([[1, 2, 3], [1, 2], [4], [1, 5, 6], [...prompts[0]]], END);
    const held = () => requests(prompts.slice(0, 5)).map((one) => ({ ...one, constraint: trie.constraint() }));
    await expectSame(held, { maxTokens: 3, temperature: 1.3, stop: [END] });
    await expectSame(held, { maxTokens: 10, temperature: 1.3, choices: 8, stop: [END] });
  });

  test.each([
    ['fp32', 1e-5],
    ['bf16', 2e-2],
  ] as const)('%s: logits are off by no more than %d of the largest', async (precision, tolerance) => {
    const own = await nn.DeviceDecoder.open({ kind: 'emulated', precision }, decoder, 4);
    const logits = await own.logits(prompts);
    const following = { temperature: 1, size: 0, choicesOf: () => undefined };
    const expected = await decoder.prefill(prompts, following);
    logits.forEach((row, i) => {
      const peak = Math.max(...row);
      const mass = row.reduce((sum, logit) => sum + Math.exp(logit - peak), 0);
      const logProbs = row.map((logit) => logit - peak - Math.log(mass));
      expect(furthest(logProbs, expected[i].logProbs)).toBeLessThan(tolerance * Math.max(1, ...row.map(Math.abs)));
    });
    await own.close();
  });

  test('ends where it must, and goes on beside one whose context is full', async () => {
    const asked = () => requests([Array(40).fill(3), Array(39).fill(3), [0, 8]]);
    const generated = await expectSame(asked, { maxTokens: 20, temperature: 0 });
    expect(generated.map(({ tokens, end }) => [tokens.length, end])).toEqual([
      [1, 'length'],
      [2, 'length'],
      [20, 'length'],
    ]);
  });

  test('refuses what ONNX Runtime refuses, and frees its places', async () => {
    const of = (prompt: number[], options: Partial<nn.GenerateOptions> = {}) =>
      device.generate([{ prompt, rng }], { maxTokens: 5, ...options });
    await expect(of(Array(41).fill(3))).rejects.toMatchObject({ code: 'CONTEXT_TOO_LONG' });
    await expect(of([])).rejects.toThrow(/0 tokens/);
    await expect(of([53])).rejects.toThrow(/token 53/);
    await expect(of([1], { choices: 3 })).rejects.toThrow(/without any/);
    await expect(of([1], { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    await expect(of([1], { stop: [99] })).rejects.toMatchObject({ code: 'DEVICE_UNSUPPORTED' });
    expect(await device.generate(requests(), { maxTokens: 1 })).toHaveLength(prompts.length);
  });

  test('broken weights are an error', async () => {
    const theta = decoder.theta.slice();
    theta[3] = Number.NaN;
    const broken = await nn.DeviceDecoder.open(EMULATED, { config: decoder.config, theta }, 2);
    const asked = { prompt: [0, 1], rng, constraint: new nn.TokenTrie([[1]], END).constraint() };
    for (const request of [{ prompt: [0, 1], rng }, asked]) {
      await expect(broken.generate([request], { maxTokens: 5 })).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
    }
    await broken.close();
    await expect(broken.generate(requests(), { maxTokens: 1 })).rejects.toMatchObject({ code: 'SESSION_RELEASED' });
  });

  test('one that no device runs, or has no room for, is an error', async () => {
    const open = (change: Partial<nn.DecoderConfigInput>, kind: 'emulated' | 'native' = 'emulated') => {
      const own = nn.Decoder.create({ ...CONFIG, ...change }, rng);
      return nn.DeviceDecoder.open({ kind, precision: 'fp32' }, own);
    };
    await expect(open({ headDim: 12 })).rejects.toMatchObject({ code: 'DEVICE_UNSUPPORTED', message: /headDim/ });
    await expect(open({ hiddenSize: 4096 })).rejects.toMatchObject({ code: 'DEVICE_UNSUPPORTED', message: /too wide/ });
    await expect(open({}, 'native')).rejects.toMatchObject({ code: 'DEVICE_UNSUPPORTED', message: /vector code/ });
    const long = { contextLength: 70_000, layers: 8, heads: 4, kvHeads: 4, headDim: 64 };
    await expect(open(long)).rejects.toMatchObject({ code: 'CUDA_OUT_OF_MEMORY' });
    const fit = await nn.decoderFit({ kind: 'emulated', precision: 'tf32' }, decoder.config);
    expect(fit).toEqual({ precision: 'fp32', reason: expect.stringContaining('bf16') });
  });
});
