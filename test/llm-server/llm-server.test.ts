// The test server answers as asked, and its faults depend on seed and body alone.

import { afterEach, describe, expect, it } from 'vitest';
import { type LlmServer, type LlmServerOptions, startLlmServer } from './llm-server.js';

let server: LlmServer;
afterEach(() => server.close());

async function ask(text: string, more: object = {}): Promise<{ status: number; body: string }> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }], ...more });
  const response = await fetch(`${server.url}/chat/completions`, { method: 'POST', body });
  return { status: response.status, body: await response.text() };
}

async function start(options: Partial<LlmServerOptions> = {}): Promise<void> {
  const answer = (body: { messages: readonly { content: string | null }[] }) => ({
    text: `echo ${body.messages[0].content}`,
  });
  server = await startLlmServer({ answer, ...options });
}

describe('the test server', () => {
  it('draws faults from seed and body, not from order', async () => {
    const faults = { seed: 3, rate429: 0.2, rate500: 0.2, malformed: 0.1, lyingUsage: 0.3 };
    const texts = Array.from({ length: 30 }, (_, i) => `question ${i}`);
    const statuses = async (order: readonly string[]) => {
      await start({ faults });
      const found = new Map<string, string>();
      for (const text of order) found.set(text, JSON.stringify(withoutIds(await ask(text))));
      await server.close();
      return texts.map((text) => found.get(text));
    };
    const forwards = await statuses(texts);
    expect(await statuses([...texts].reverse())).toEqual(forwards);
    expect(new Set(forwards.map((text) => JSON.parse(text!).status))).toEqual(new Set([200, 429, 500]));
    await start({ faults });
  });

  it('refuses what its dialect does not know', async () => {
    await start({ structured: 'json_object', unknownKeys: ['seed'], apiKey: 'secret' });
    expect((await ask('x')).status).toBe(401);
    await server.close();
    await start({ structured: 'json_object', unknownKeys: ['seed'] });
    expect((await ask('x', { seed: 1 })).status).toBe(400);
    expect((await ask('x', { response_format: { type: 'json_schema' } })).status).toBe(400);
    expect((await ask('x', { response_format: { type: 'json_object' } })).status).toBe(200);
  });
});

function withoutIds({ status, body }: { status: number; body: string }): object {
  return { status, body: body.replaceAll(/chatcmpl-\d+/g, '') };
}
