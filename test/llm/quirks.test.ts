// Each listed behaviour of a real server gives the right answer, or an error that names the problem.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeLanguageModel } from '../../src/llm/served-model.js';
import { loadQuirks, tryQuirk } from '../llm-server/quirks.js';

const quirks = await loadQuirks(fileURLToPath(new URL('../../benchmarks/trust/quirks.yaml', import.meta.url)));

describe('a server', () => {
  it.each(quirks.map((quirk) => [quirk.does, quirk] as const))('%s', async (_, quirk) => {
    expect(await tryQuirk(quirk)).toBeUndefined();
  });
});

describe('the way to a server', () => {
  const text = (content: string) => JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] });
  async function listening(answer: (url: string) => string) {
    const server = createServer((request, response) => response.end(text(answer(request.url ?? '')))).listen(
      0,
      '127.0.0.1',
    );
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const asked = (session: string) => ({ messages: [{ role: 'user', content: 'a' }] as const, session });

  it('is a proxy where the environment names one, and never for this machine', async () => {
    const proxy = await listening((url) => `by proxy: ${url}`);
    const local = await listening(() => 'directly');
    vi.stubEnv('HTTP_PROXY', proxy);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const [url, said] of [
      ['http://models.example/v1', 'by proxy: http://models.example/v1/chat/completions'],
      [`${local}/v1`, 'directly'],
    ]) {
      const model = await makeLanguageModel({ url, model: 'm', retries: 0 });
      expect((await model.chat(asked('e'))).text).toBe(said);
      await model.close();
    }
  });

  it('is there for tasks whose names are of any script', async () => {
    const model = await makeLanguageModel({ url: `${await listening(() => 'heard')}/v1`, model: 'm', retries: 0 });
    for (const session of ['größe 1', 'タスク 5', '🙂\n'])
      expect((await model.chat(asked(session))).text, session).toBe('heard');
    await model.close();
  });

  it('is the same for all requests of an episode, of several servers', async () => {
    const url = [`${await listening(() => 'one')}/v1`, `${await listening(() => 'two')}/v1`];
    const model = await makeLanguageModel({ url, model: 'm' });
    const sessions = Array.from({ length: 8 }, (_, i) => `episode ${i}`);
    const first = await Promise.all(sessions.map((session) => model.chat(asked(session))));
    const second = await Promise.all(sessions.map((session) => model.chat(asked(session))));
    expect(second.map((reply) => reply.text)).toEqual(first.map((reply) => reply.text));
    expect(new Set(first.map((reply) => reply.text)).size).toBe(2);
    expect(model.stats().requests).toBe(16);
    await model.close();
  });
});
