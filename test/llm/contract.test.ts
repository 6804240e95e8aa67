// The contract of language models, ring 1: the test server, as strict as servers are, always.

import { afterAll } from 'vitest';
import { type LlmServer, type LlmServerOptions, startLlmServer } from '../llm-server/llm-server.js';
import { describeContract } from './contract.js';
import { answerFitting } from './fitting-answer.js';

const servers: LlmServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

const VARIANTS: readonly { name: string; server?: Partial<LlmServerOptions> }[] = [
  { name: 'a server that takes all' },
  { name: 'a server without schemas', server: { structured: 'none' } },
  {
    name: 'a server that knows few keys',
    server: { structured: 'json_object', unknownKeys: ['max_tokens', 'temperature'] },
  },
];

for (const { name, server: options } of VARIANTS) {
  describeContract({
    name,
    deterministic: true,
    givesLogprobs: true,
    config: async () => {
      const server = await startLlmServer({ answer: answerFitting, ...options });
      servers.push(server);
      return { url: server.url, model: 'test-model' };
    },
  });
}
