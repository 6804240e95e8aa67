// Our decoder against PyTorch with the same weights, one thread each: tokens/s of greedy decoding with a cache and of training,
// at several batches. Both sides decode the same tokens, or the measurement is refused.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reverieError } from '../src/core/errors.js';
import { Rng } from '../src/core/rng.js';
import { Decoder } from '../src/nn/decoder/decoder.js';
import { saveDecoder } from '../src/nn/decoder/folder.js';
import type { Tokenizer } from '../src/nn/decoder/tokenizer.js';
import { trainTokenizer } from '../src/nn/decoder/train-tokenizer.js';
import { DecoderTrainer, packAll } from '../src/nn/decoder/trainer.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, measurePaired, median, type PairedRates } from './measure.js';
import { PythonPeer } from './python-peer.js';

const BATCHES = [1, 16, 64, 256];
const DECODED = 128;
const LENGTH = 64;
const RATE = 1e-4;
const REQUIREMENTS = ['torch==2.15.0', 'numpy==2.4.6'];

/** 0.9 M parameters, as small world models have. */
const CONFIG = {
  hiddenSize: 128,
  intermediateSize: 384,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  contextLength: 256,
};

type Rates = Readonly<Record<string, PairedRates>>;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const batches = quick ? [1, 16] : BATCHES;
  const rounds = quick ? 2 : 7;
  const tokenizer = fullTokenizer();
  const decoder = Decoder.create({ ...CONFIG, vocabSize: tokenizer.size }, Rng.fromSeed(0));
  const folder = await mkdtemp(join(tmpdir(), 'reverie-sequence-'));
  const environment = { OMP_NUM_THREADS: '1' };
  const peer = await PythonPeer.start({
    ...{ name: 'torch-decoder', requirements: REQUIREMENTS, script: 'torch_decoder.py', root, environment, log },
  });
  try {
    await saveDecoder(folder, decoder, tokenizer);
    const versions = await peer.call<Record<string, string>>('setup', { folder });
    const rates: Record<string, PairedRates> = {};
    for (const batch of batches) {
      log(`batch ${batch}`);
      rates[`decode.${batch}`] = await measureDecoding(decoder, peer, batch, rounds, log);
      rates[`train.${batch}`] = await measureTraining(decoder, peer, batch, rounds, log);
    }
    return { ...overall(rates), n: rounds, raw: rawOf(rates), versions };
  } finally {
    await Promise.all([peer.close(), decoder.sessions.release(), rm(folder, { recursive: true })]);
  }
}

/** Of 608 tokens: what they stand for does not matter to the time they take. */
function fullTokenizer(): Tokenizer {
  const rng = Rng.fromSeed(1);
  const word = () => Array.from({ length: 6 }, () => String.fromCharCode(97 + rng.int(26))).join('');
  const text = Array.from({ length: 200 }, word).join(' ');
  return trainTokenizer([text, text], { size: 608 });
}

async function measureDecoding(
  decoder: Decoder,
  peer: PythonPeer,
  batch: number,
  rounds: number,
  log: (line: string) => void,
): Promise<PairedRates> {
  // The first token is the prompt; rows differ in nothing, which neither side makes use of.
  const requests = Array.from({ length: batch }, (_, i) => ({ prompt: [1], rng: Rng.fromSeed(i) }));
  let ours: readonly number[] = [];
  let theirs: readonly number[] = [];
  const rates = await measurePaired({
    rounds,
    ours: async () => {
      const start = performance.now();
      const [first] = await decoder.generate(requests, { maxTokens: DECODED, temperature: 0 });
      ours = first.tokens;
      return (batch * DECODED) / ((performance.now() - start) / 1000);
    },
    baseline: async () => {
      const answer = await peer.call<{ seconds: number; tokens: number[] }>('decode', { batch, tokens: DECODED });
      theirs = answer.tokens;
      return (batch * DECODED) / answer.seconds;
    },
    log,
  });
  if (String(ours) === String(theirs)) return rates;
  const problem = 'it decoded other tokens than we did';
  throw reverieError('BENCHMARK_FAILED', {
    problem: `The peer "torch-decoder" cannot take part: ${problem}`,
    hint: `It needs python3 (3.10 or newer) with venv, and pip able to install ${REQUIREMENTS.join(' ')}.`,
  });
}

async function measureTraining(
  decoder: Decoder,
  peer: PythonPeer,
  batch: number,
  rounds: number,
  log: (line: string) => void,
): Promise<PairedRates> {
  const steps = Math.max(1, Math.round(64 / batch));
  const trainer = await DecoderTrainer.create({
    ...{ config: decoder.config, start: { theta: decoder.theta }, sessions: decoder.sessions },
    training: { rows: batch, length: LENGTH, steps: 1, warmupSteps: 0, learningRate: RATE, finalShare: 1 },
  });
  const rng = Rng.fromSeed(batch);
  const documents = Array.from({ length: batch }, () => ({
    tokens: Array.from({ length: LENGTH + 1 }, () => rng.int(decoder.config.vocabSize)),
  }));
  const input = packAll(documents, trainer.shape);
  const rateOf = (seconds: number) => (steps * batch * LENGTH) / seconds;
  try {
    return await measurePaired({
      rounds,
      ours: async () => {
        const start = performance.now();
        await trainer.train(new Array(steps).fill(input));
        return rateOf((performance.now() - start) / 1000);
      },
      baseline: async () => {
        const parameters = { batch, length: LENGTH, steps, lr: RATE };
        return rateOf((await peer.call<{ seconds: number }>('train', parameters)).seconds);
      },
      log,
    });
  } finally {
    await trainer.release();
  }
}

/** Geometric mean over all cases of ours ÷ theirs, round by round; the median of the rounds. */
function overall(rates: Rates) {
  const cases = Object.values(rates);
  const rounds = cases[0].ours.map((_, round) => {
    const logs = cases.map(({ ours, baseline }) => Math.log(ours[round] / baseline[round]));
    return Math.exp(logs.reduce((sum, x) => sum + x, 0) / logs.length);
  });
  return bootstrap(rounds, median);
}

function rawOf(rates: Rates): Record<string, unknown> {
  const entries = Object.entries(rates).flatMap(([name, { ours, baseline }]) => [
    [`${name}.oursTokensPerSecond`, ours],
    [`${name}.torchTokensPerSecond`, baseline],
  ]);
  return Object.fromEntries(entries);
}
