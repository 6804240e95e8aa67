// What tests of language models start from: a server that answers what it is told, and a model that asks it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import type { LlmConfigInput } from '../../src/llm/config.js';
import type { ChatRequest } from '../../src/llm/language-model.js';
import { type LanguageModelOptions, makeLanguageModel, type ServedModel } from '../../src/llm/served-model.js';
import { type Answer, type LlmServer, type LlmServerOptions, startLlmServer } from '../llm-server/llm-server.js';

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Ended after the test, as is everything made here. */
export async function serve(
  answer: Answer | string,
  options: Omit<LlmServerOptions, 'answer'> = {},
): Promise<LlmServer> {
  const text = typeof answer === 'string' ? answer : '';
  const server = await startLlmServer({ answer: typeof answer === 'string' ? () => ({ text }) : answer, ...options });
  cleanups.push(() => server.close());
  return server;
}

export async function modelOf(
  { url }: LlmServer,
  config: Partial<LlmConfigInput> = {},
  options: LanguageModelOptions = {},
): Promise<ServedModel> {
  const base = { url, model: 'test-model', retryDelaySeconds: 0.01 } as const;
  const model = await makeLanguageModel({ ...base, ...config }, options);
  cleanups.push(() => model.close().catch(() => undefined));
  return model;
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-llm-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function question(text: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { messages: [{ role: 'user', content: text }], ...more };
}

export const POINT_SCHEMA = {
  name: 'point',
  schema: {
    type: 'object',
    properties: { x: { type: 'integer' }, label: { type: 'string' } },
    required: ['x'],
    additionalProperties: false,
  },
};
