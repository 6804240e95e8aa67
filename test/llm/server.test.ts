// Servers differ: what one refuses is learnt once, and no key is ever shown.

import { afterEach, describe, expect, it } from 'vitest';
import type { LlmServerOptions } from '../llm-server/llm-server.js';
import { answerFitting } from './fitting-answer.js';
import { modelOf, POINT_SCHEMA, question, serve } from './helpers.js';

const SCHEMA = {
  name: 'colour of it',
  schema: {
    type: 'object',
    properties: { colour: { type: 'string', enum: ['red', 'blue'] }, size: { type: 'integer', enum: [1, 2] } },
    required: ['colour'],
    additionalProperties: false,
  },
};

describe('JSON', () => {
  const levels: readonly [LlmServerOptions['structured'], string][] = [
    ['json_schema', 'json_schema'],
    ['json_object', 'json_object'],
    ['none', 'prompt'],
  ];

  it.each(levels)(
    'is asked for as strictly as the server takes it, which is learnt once: %s',
    async (structured, level) => {
      const server = await serve(answerFitting, { structured });
      const model = await modelOf(server);
      const replies = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((seed) => model.chat(question('?', { seed, schema: SCHEMA }))),
      );
      expect(replies.every(({ json }) => ['red', 'blue'].includes((json as { colour: string }).colour))).toBe(true);
      expect(model.stats().structured).toBe(level);
      const { requests } = model.stats();
      await model.chat(question('again', { schema: SCHEMA }));
      expect(model.stats().requests).toBe(requests + 1);
    },
  );

  it('is asked for in strict form: all keys required, optional ones may be null, and nulls taken out again', async () => {
    const server = await serve('{"colour": "red", "size": null}');
    const { json } = await (await modelOf(server)).chat(question('?', { schema: SCHEMA }));
    expect(json).toEqual({ colour: 'red' });
    expect(server.requests[0].body.response_format).toEqual({
      type: 'json_schema',
      json_schema: {
        name: 'colour_of_it',
        strict: true,
        schema: {
          type: 'object',
          properties: {
            colour: { type: 'string', enum: ['red', 'blue'] },
            size: { anyOf: [{ type: 'integer', enum: [1, 2] }, { type: 'null' }] },
          },
          required: ['colour', 'size'],
          additionalProperties: false,
        },
      },
    });
  });

  it('is told to the server in the prompt where it must be, after the rules', async () => {
    const server = await serve('{"x": 1}');
    const model = await modelOf(server, { structured: 'prompt' });
    const messages = [
      { role: 'system', content: 'Rules.' },
      { role: 'user', content: 'Where?' },
    ] as const;
    await model.chat({ messages, schema: POINT_SCHEMA });
    const [system, user] = server.requests[0].body.messages;
    expect(system.content).toMatch(/^Rules\.\n\nAnswer with one JSON object.*\n\{"type":"object"/);
    expect(user.content).toBe('Where?');
    expect(server.requests[0].body.response_format).toBeUndefined();
  });
});

describe('keys of a request', () => {
  it('that a server refuses are left out from then on, and said', async () => {
    const server = await serve('x', { unknownKeys: ['seed', 'max_tokens', 'logprobs'] });
    const model = await modelOf(server);
    const request = question('a', { seed: 1, logprobs: true, maxTokens: 9 });
    const replies = await Promise.all([1, 2, 3].map((i) => model.chat({ ...request, seed: i })));
    expect(replies.map(({ text }) => text)).toEqual(['x', 'x', 'x']);
    expect(server.requests[0].body).toMatchObject({ max_completion_tokens: 9 });
    expect([...model.stats().omitted].sort()).toEqual(['logprobs', 'max_tokens', 'seed']);
  });

  it('are kept where a refusal quotes a whole request whose fault is another, for all later ones', async () => {
    const server = await serve('x', {
      before: (response, body) => {
        if (body.messages[0].content !== 'bad') return false;
        const detail = [{ type: 'value_error', msg: 'Value error, roles must alternate', input: body }];
        response.writeHead(400).end(JSON.stringify({ detail }));
        return true;
      },
    });
    const model = await modelOf(server);
    const asked = (text: string) => model.chat(question(text, { seed: 3, stop: ['.'], temperature: 0 }));
    await expect(asked('bad')).rejects.toMatchObject({ code: 'LLM_REFUSED', message: /roles must alternate/ });
    await asked('good');
    expect(server.requests.at(-1)?.body).toMatchObject({ seed: 3, stop: ['.'], temperature: 0, max_tokens: 4096 });
    expect(model.stats().omitted).toEqual([]);
  });

  it('are those of every server: messages, tools, stops, parameters of the user’s', async () => {
    const server = await serve('x');
    const model = await modelOf(server, { parameters: { top_k: 4 }, topP: 0.5 });
    const call = { id: 'c1', name: 'find', arguments: '{"q":1}' };
    await model.chat({
      messages: [
        { role: 'user', content: 'u' },
        { role: 'assistant', content: null, toolCalls: [call] },
        { role: 'tool', toolCallId: 'c1', content: 'found' },
      ],
      tools: [{ name: 'find', description: 'finds', parameters: { type: 'object' } }],
      stop: ['END'],
      temperature: 0.3,
      seed: -5,
    });
    expect(server.requests[0].body).toEqual({
      model: 'test-model',
      messages: [
        { role: 'user', content: 'u' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'found' },
      ],
      tools: [{ type: 'function', function: { name: 'find', description: 'finds', parameters: { type: 'object' } } }],
      stop: ['END'],
      temperature: 0.3,
      top_p: 0.5,
      top_k: 4,
      max_tokens: 4096,
      seed: 2 ** 31 - 5,
    });
  });
});

describe('the API key', () => {
  const KEY = 'sk-very-secret-0123456789';
  afterEach(() => {
    delete process.env.REVERIE_TEST_KEY;
  });

  it('is sent, and shown nowhere', async () => {
    process.env.REVERIE_TEST_KEY = `${KEY}\n`;
    const server = await serve('x', { apiKey: KEY });
    const model = await modelOf(server, { apiKeyEnv: 'REVERIE_TEST_KEY' });
    expect((await model.chat(question('a'))).text).toBe('x');
    const wrong = await modelOf(await serve('x', { apiKey: 'another' }), { apiKeyEnv: 'REVERIE_TEST_KEY' });
    const error = await wrong.chat(question('a')).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'LLM_REFUSED', values: { retryable: false } });
    expect(error.message).toMatch(/401 Incorrect API key provided: Bearer \[key\]/);
    const everything = JSON.stringify([
      error,
      error.message,
      error.hint,
      error.stack,
      error.cause?.message,
      model.stats(),
      model.version,
    ]);
    expect(everything).not.toContain(KEY);
  });

  it('is missed by the name of its variable', async () => {
    const server = await serve('x');
    const missing = modelOf(server, { apiKeyEnv: 'REVERIE_TEST_KEY' });
    await expect(missing).rejects.toMatchObject({
      code: 'SETTING_INVALID',
      message: expect.stringMatching(/REVERIE_TEST_KEY .* is not set/),
    });
    process.env.REVERIE_TEST_KEY = 'two words';
    const error = await modelOf(server, { apiKeyEnv: 'REVERIE_TEST_KEY' }).catch((reason) => reason);
    expect(error.message).toMatch(/holds characters that no API key has/);
    expect(error.message).not.toContain('two words');
  });
});
