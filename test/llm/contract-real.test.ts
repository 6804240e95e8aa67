// The contract of language models, rings 2 and 3: a real llama.cpp server, where
// REVERIE_LLAMA_PYTHON (a Python that has xllamacpp) and REVERIE_GGUF (file) say so; and your own endpoint, if
// REVERIE_LLM_URL, REVERIE_LLM_MODEL and REVERIE_LLM_KEY name one.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { freePort } from '../free-port.js';
import { describeContract } from './contract.js';

const {
  REVERIE_LLAMA_PYTHON: python,
  REVERIE_GGUF: gguf,
  REVERIE_LLM_URL: url,
  REVERIE_LLM_MODEL,
  REVERIE_LLM_KEY,
} = process.env;

const processes: ChildProcess[] = [];
afterAll(() => {
  for (const child of processes) child.kill('SIGKILL');
});

describeContract({
  name: 'a real llama.cpp server',
  skip: python && gguf ? undefined : 'set REVERIE_LLAMA_PYTHON and REVERIE_GGUF to run it',
  deterministic: true,
  givesLogprobs: true,
  config: async () => ({
    provider: 'openai-compatible',
    url: await startLlamaServer(),
    model: 'local',
    // Its slots keep earlier prompts, and what was computed with them may differ in the last bit.
    parameters: { cache_prompt: false },
  }),
});

if (url) {
  describeContract({
    name: 'the endpoint of REVERIE_LLM_URL',
    deterministic: false,
    givesLogprobs: false,
    config: async () => ({
      provider: 'openai-compatible',
      url,
      model: REVERIE_LLM_MODEL ?? 'default',
      ...(REVERIE_LLM_KEY === undefined ? undefined : { apiKeyEnv: 'REVERIE_LLM_KEY' }),
    }),
  });
}

const SERVER = fileURLToPath(new URL('../llm-server/llama_server.py', import.meta.url));

async function startLlamaServer(): Promise<string> {
  const port = await freePort();
  const child = spawn(python!, [SERVER, gguf!, String(port)], { stdio: 'ignore' });
  processes.push(child);
  for (let tries = 0; tries < 100; tries++) {
    const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    if (health?.ok) return `http://127.0.0.1:${port}/v1`;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  throw new Error('the llama.cpp server did not come up within 30 s');
}
