// The contract of language models, ring 1: the test server in each of its dialects, always.

import { afterAll } from 'vitest';
import { type LlmServer, type LlmServerOptions, startLlmServer } from '../llm-server/llm-server.js';
import { describeContract } from './contract.js';
import { answerFitting } from './fitting-answer.js';

const servers: LlmServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

const VARIANTS: readonly { name: string; server?: Partial<LlmServerOptions>; config?: object }[] = [
  { name: 'a server like OpenAI’s' },
  { name: 'a server like vLLM', server: { dialect: 'vllm' } },
  {
    name: 'a server like llama.cpp',
    server: { dialect: 'llamacpp' },
  },
  { name: 'a server without schemas', server: { structured: 'none', dialect: 'sglang' } },
  {
    name: 'a server that knows few keys',
    server: { structured: 'json_object', unknownKeys: ['max_tokens', 'temperature'] },
    config: { dialect: 'ollama' },
  },
];

for (const { name, server: options, config } of VARIANTS) {
  describeContract({
    name,
    deterministic: true,
    givesLogprobs: true,
    config: async () => {
      const server = await startLlmServer({ answer: answerFitting, ...options });
      servers.push(server);
      return { provider: 'openai-compatible', url: server.url, model: 'test-model', ...config } as const;
    },
  });
}
