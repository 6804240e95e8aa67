// Servers and networks fail; calls come back all the same, with the same answers, or end in one clear error in time.

import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ServedModel } from '../../src/llm/served-model.js';
import type { Answer } from '../llm-server/llm-server.js';
import { modelOf, question, serve } from './helpers.js';

const echo: Answer = (body) => ({ text: `echo ${body.messages.at(-1)!.content}` });

async function askAll(model: ServedModel, count: number): Promise<string[]> {
  const replies = Array.from({ length: count }, (_, i) => model.chat(question(`number ${i}`)));
  return (await Promise.all(replies)).map(({ text }) => text);
}

const expected = (count: number): string[] => Array.from({ length: count }, (_, i) => `echo number ${i}`);

describe('failures of servers', () => {
  it('are retried until the answer is there, the same as without them', async () => {
    const faults = { seed: 5, rate429: 0.15, rate500: 0.1, malformed: 0.05, dropStream: 0.1 };
    const server = await serve(echo, { faults });
    const model = await modelOf(server, { retries: 8 });
    expect(await askAll(model, 80)).toEqual(expected(80));
    const { requests, retries } = model.stats();
    expect(requests).toBe(server.requests.length);
    expect(requests).toBe(80 + retries);
    expect(retries).toBeGreaterThan(15);
  });

  it('say what they were', async () => {
    const model = await modelOf(await serve(echo, { faults: { seed: 1, dropStream: 1 } }), { retries: 0 });
    await expect(model.chat(question('x'))).rejects.toMatchObject({
      code: 'LLM_UNREACHABLE',
      message: expect.stringMatching(/connection ended before the reply did/),
      values: { retryable: true },
    });
  });

  it('are waited for as long as the server asks, up to a minute', async () => {
    const times: number[] = [];
    const before = (response: ServerResponse) => {
      times.push(performance.now());
      if (times.length === 1) response.writeHead(429, { 'retry-after': '0.3' }).end();
      return times.length === 1;
    };
    const model = await modelOf(await serve('at last', { before }));
    expect(await model.chat(question('x'))).toMatchObject({ text: 'at last' });
    expect(times[1] - times[0]).toBeGreaterThan(290);
  });

  it('end at the deadline, retries or not', async () => {
    const server = await serve(echo, { faults: { seed: 1, hang: 1 } });
    const model = await modelOf(server, { retries: 100, timeoutSeconds: 0.1, deadlineSeconds: 0.5 });
    const start = performance.now();
    await expect(model.chat(question('x'))).rejects.toMatchObject({ code: 'LLM_TIMEOUT' });
    expect(performance.now() - start).toBeLessThan(1500);
  });
});

it('a server that is away is named, with what happened', async () => {
  const socket = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => socket.once('listening', resolve));
  const { port } = socket.address() as { port: number };
  await new Promise((resolve) => socket.close(resolve));
  const model = await modelOf({ url: `http://127.0.0.1:${port}/v1` } as never, { retries: 1 });
  const message = expect.stringMatching(new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`));
  await expect(model.chat(question('x'))).rejects.toMatchObject({ code: 'LLM_UNREACHABLE', message });
});

it('the limit on what is in flight is halved where the server asks for less, and keeps its bounds', async () => {
  const slow: Answer = async (body) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return echo(body, { seed: 0, requestIndex: 0, retry: 0 });
  };
  const well = await serve(slow);
  const model = await modelOf(well, { concurrency: 24 });
  expect(await askAll(model, 200)).toEqual(expected(200));
  expect(well.peakInFlight()).toBeLessThanOrEqual(24);
  expect(model.stats().limit).toBe(24);
  const busy = await serve(slow, { faults: { seed: 4, rate429: 0.5 } });
  const careful = await modelOf(busy, { concurrency: 24, retries: 50 });
  expect(await askAll(careful, 100)).toEqual(expected(100));
  expect(careful.stats().limit).toBeLessThan(12);
});

it('calling off ends calls in flight, in the queue and between retries, hundreds by one signal', async () => {
  const server = await serve(echo, { faults: { seed: 1, hang: 0.5, rate500: 0.5 } });
  const model = await modelOf(server, { concurrency: 20, retryDelaySeconds: 100 });
  const controller = new AbortController();
  const calls = Array.from({ length: 300 }, (_, i) => model.chat(question(`${i}`), { signal: controller.signal }));
  setTimeout(() => controller.abort(), 50);
  const outcomes = await Promise.allSettled(calls);
  const names = new Set(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.name));
  expect([...names]).toEqual(['AbortError']);
  expect(model.stats().inFlight).toBe(0);
  await expect(model.chat(question('x'), { signal: controller.signal })).rejects.toMatchObject({
    name: 'AbortError',
  });
});
