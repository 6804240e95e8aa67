// What others make of a saved decoder: `transformers` and llama.cpp open it, cut texts into the same tokens and compute the same.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonEnvironment } from '../../../scripts/python-environments.mjs';
import { Rng } from '../../../src/core/rng.js';
import * as nn from '../../../src/nn/index.js';
import { HARD_TEXTS, householdTexts, randomTokens, TINY } from './fixture.js';

/** Of log-probabilities in float32, computed in another order. */
const TOLERANCE = 1e-4;

const texts = householdTexts(200);
const tokenizer = nn.trainTokenizer(texts, { size: 320 });
const config = { ...TINY, vocabSize: tokenizer.size };
const VARIANTS = {
  tied: nn.Decoder.create(config, Rng.fromSeed(1)),
  'with an output layer of its own': nn.Decoder.create(
    { ...config, kvHeads: 1, headDim: 16, tieEmbeddings: false, ropeTheta: 500_000, normEpsilon: 1e-6 },
    Rng.fromSeed(2),
  ),
};
const prompts = [1, 7, 40].map((size) => randomTokens(Rng.fromSeed(size), size, tokenizer.size));
const asked = [...HARD_TEXTS.filter((text) => !text.includes('<|')), ...texts.slice(0, 5)];

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reverie-readers-'));
  for (const [name, decoder] of Object.entries(VARIANTS)) await nn.saveDecoder(join(folder, name), decoder, tokenizer);
});
afterAll(async () => {
  for (const decoder of Object.values(VARIANTS)) await decoder.sessions.release();
  await rm(folder, { recursive: true });
});

/** Log-probabilities of every token after a prompt. */
async function nextLogProbs(decoder: nn.Decoder, prompt: readonly number[]): Promise<number[]> {
  const scores = await decoder.score(Array.from({ length: tokenizer.size }, (_, id) => [...prompt, id]));
  return scores.map((logProbs) => logProbs.at(-1)!);
}

async function ask<T>(python: string, script: string, input: object): Promise<T> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const env = { ...process.env, HF_HUB_OFFLINE: '1', TOKENIZERS_PARALLELISM: 'false', PYTHONNOUSERSITE: '1' };
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(python, [path], { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr.slice(-2000)}`));
    });
    child.stdin!.end(JSON.stringify(input));
  });
  return JSON.parse(output.slice(output.lastIndexOf('\nRESULT ') + '\nRESULT '.length));
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  const furthest = Math.max(...actual.map((value, i) => Math.abs(value - expected[i])));
  expect(furthest).toBeLessThan(TOLERANCE);
}

interface TransformersAnswer {
  architecture: string;
  parameters: number;
  ids: number[][];
  texts: string[];
  special: number[];
  log_probs: number[][][];
}

// One process for all, as its imports take longest.
test('transformers opens them', async ({ skip }) => {
  const made = await pythonEnvironment('trainers');
  if (typeof made === 'string') return skip(made);
  const folders = Object.keys(VARIANTS).map((name) => join(folder, name));
  const input = { folders, texts: asked, prompts };
  const answers = await ask<TransformersAnswer[]>(made.python, './read_transformers.py', input);
  const { begin, end, pad } = tokenizer.special;
  for (const [at, decoder] of Object.values(VARIANTS).entries()) {
    const answer = answers[at];
    expect(answer.architecture).toBe('LlamaForCausalLM');
    expect(answer.parameters).toBe(decoder.theta.length);
    expect(answer.special).toEqual([begin, end, pad]);
    expect(answer.ids).toEqual(asked.map((text) => tokenizer.encode(text)));
    expect(answer.texts).toEqual(asked);
    for (const [i, prompt] of prompts.entries()) {
      expectClose(answer.log_probs[i].at(-1)!, await nextLogProbs(decoder, prompt));
      if (prompt.length === 1) continue;
      const [scores] = await decoder.score([prompt]);
      const theirs = prompt.slice(1).map((token, place) => answer.log_probs[i][place][token]);
      expectClose(theirs, Array.from(scores));
    }
  }
}, 600_000);

describe.each(Object.entries(VARIANTS))('a decoder, %s', (name, decoder) => {
  test('is opened by llama.cpp', async ({ skip }) => {
    const made = await pythonEnvironment('llama');
    if (typeof made === 'string') return skip(made);
    const file = join(folder, name, 'model.gguf');
    const input = {
      file,
      port: await freePort(),
      texts: asked.filter(Boolean),
      prompts,
      tokens: tokenizer.size,
      letter: tokenizer.idOf('a'),
    };
    const answer = await ask<{ ids: number[][]; log_probs: Record<string, number>[] }>(
      made.python,
      './read_llama_cpp.py',
      input,
    );
    expect(answer.ids).toEqual(input.texts.map((text) => tokenizer.encode(text)));
    for (const [i, prompt] of prompts.entries()) {
      const ours = await nextLogProbs(decoder, prompt);
      expectClose(
        ours.map((_, id) => answer.log_probs[i][id]),
        ours,
      );
    }
  }, 600_000);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
