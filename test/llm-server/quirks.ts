// Behaviours of real servers, as data (benchmarks/trust/quirks.yaml): each is played by a small HTTP server, asked as world, agent or for
// JSON, and what comes of it held against what is expected: the right answer, or an error that names what is wrong.

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import { ReverieError } from '../../src/core/errors.js';
import type { Message } from '../../src/env/tools/message.js';
import type { ToolsPolicyQuery } from '../../src/env/tools/tools-family.js';
import { makeLanguageModel } from '../../src/llm/served-model.js';
import { LlmAgent } from '../../src/synth/episodes/agents/llm-agent.js';
import { makeRouter } from '../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../src/worldmodel/tools/tools-model-schema.js';
import { deskQuery } from '../worldmodel/tools/desk.js';

/** What the server does: the first entry whose `when` holds and that is not used up (`times`). */
interface Act {
  readonly when?: {
    readonly has?: string;
    readonly lacks?: string;
    readonly matches?: string;
    readonly misses?: string;
  };
  readonly times?: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is, or JSON. */
  readonly body?: Json;
  /** Message of a completion around it; a text is its content. */
  readonly message?: Json;
  readonly finish?: Json;
  /** Further keys of the choice and of the completion. */
  readonly choice?: JsonObject;
  readonly more?: JsonObject;
  /** Events of a stream: chunks, or texts as they are. */
  readonly events?: readonly Json[];
  /** Ends the connection in the middle, or never answers. */
  readonly fails?: 'cut' | 'hang';
}

export interface Quirk {
  readonly does: string;
  readonly source: string;
  /** `json`: an object with x (integer) and perhaps label. Default: `text`. */
  readonly ask?: 'text' | 'json' | 'world' | 'agent' | 'chain';
  readonly tools?: readonly string[];
  readonly config?: JsonObject;
  /** Number of identical requests, each with another seed. */
  readonly asks?: number;
  readonly serve: readonly Act[];
  readonly expect: {
    readonly text?: string;
    readonly reasoning?: string;
    readonly json?: Json;
    readonly calls?: readonly { readonly name: string; readonly arguments: Json }[];
    readonly observation?: string;
    readonly operations?: Json;
    readonly error?: string;
    /** A regular expression for the error's message and hint. */
    readonly says?: string;
    /** Whether the model caused the error: the episode fails, and the job continues. */
    readonly ofModel?: boolean;
    /** Requests sent in all. */
    readonly requests?: number;
  };
}

export async function loadQuirks(path: string): Promise<readonly Quirk[]> {
  return parse(await readFile(path, 'utf8')) as Quirk[];
}

const POINT = {
  name: 'point',
  schema: {
    ...{ type: 'object', required: ['x'], additionalProperties: false },
    properties: { x: { type: 'integer' }, label: { type: 'string' } },
  },
};

/** The difference from the expectation, in a sentence; undefined if there is none. */
export async function tryQuirk(quirk: Quirk): Promise<string | undefined> {
  const server = await startActor(quirk.serve);
  const fast = { retries: 2, retryDelaySeconds: 0.005, timeoutSeconds: 0.4, deadlineSeconds: 1.5 };
  const model = await makeLanguageModel({ url: server.url, model: 'alias', ...fast, ...quirk.config });
  try {
    let found: Record<string, unknown> = {};
    for (let i = 0; i < (quirk.asks ?? 1); i++) found = await outcome(quirk, model, i).catch(failure);
    return difference({ ...found, requests: server.requests() }, quirk.expect);
  } finally {
    await model.close();
    await server.close();
  }
}

function failure(error: unknown): Record<string, unknown> {
  if (!(error instanceof ReverieError)) throw error;
  return { error: error.code, says: `${error.message} ${error.hint}`, ofModel: error.values.ofModel === true };
}

async function outcome(
  { ask = 'text', tools = [] }: Quirk,
  model: Awaited<ReturnType<typeof makeLanguageModel>>,
  seed: number,
): Promise<Record<string, unknown>> {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Where is it?' },
  ] as const;
  if (ask === 'text' || ask === 'json') {
    const { text, reasoning, json } = await model.chat({ messages, seed, ...(ask === 'json' && { schema: POINT }) });
    return { text, reasoning, json };
  }
  const desk = deskQuery('close_ticket', { ticket_id: 'T1001' });
  if (ask === 'world') {
    const config = parseToolsModelConfig({ kind: 'tools', backends: ['llm'] });
    const router = await makeRouter(config, { domain: desk.domain, model });
    const { operations, observation, refused } = await router.answer({ ...desk, seed });
    return refused === undefined ? { operations, observation } : { error: 'refused', says: refused.join(' ') };
  }
  const more = tools.map((name) => ({ ...desk.domain.tools[0], name }));
  const turn = await new LlmAgent({ model, temperature: 0 }).act({
    ...{ task: desk.task, tools: [...desk.domain.tools, ...more], seed, step: 0 },
    messages: ask === 'chain' ? CHAIN : messages,
  } as unknown as ToolsPolicyQuery);
  const { content, reasoning, toolCalls = [] } = turn.action;
  const calls = toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given }));
  return { text: content ?? '', reasoning, calls };
}

/** In the middle of a chain of calls, with thoughts. */
const CHAIN: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Close T1001.' },
  {
    ...{ role: 'assistant', content: null, reasoning: 'Look first.' },
    toolCalls: [{ id: 'call_1', name: 'get_ticket', arguments: { ticket_id: 'T1001' } }],
  },
  { role: 'tool', toolCallId: 'call_1', name: 'get_ticket', content: '{"status":"open"}' },
];

function difference(found: Record<string, unknown>, expected: Quirk['expect']): string | undefined {
  if (found.error !== undefined && expected.error === undefined) return `fails: ${found.error} ${found.says}`;
  for (const [key, wanted] of Object.entries(expected)) {
    const is = found[key];
    const fits = key === 'says' ? new RegExp(wanted as string, 'is').test(String(is)) : isDeepStrictEqual(is, wanted);
    if (!fits) return `${key} is ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`;
  }
  return undefined;
}

async function startActor(acts: readonly Act[]) {
  const used = new Map<Act, number>();
  let requests = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests++;
    const sent = Buffer.concat(chunks).toString();
    const act = acts.find((each) => (used.get(each) ?? 0) < (each.times ?? Infinity) && holds(each, sent, request));
    if (act === undefined) return response.writeHead(418).end(`nothing is planned for ${sent}`);
    used.set(act, (used.get(act) ?? 0) + 1);
    perform(act, response);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/v1`, requests: () => requests, close };
}

function holds({ when = {} }: Act, sent: string, { headers }: IncomingMessage): boolean {
  const { has, lacks, matches, misses } = when;
  const body = JSON.parse(sent) as JsonObject;
  const at = (path: string) =>
    path.split('.').reduce<unknown>((part, key) => (part as JsonObject | undefined)?.[key], body);
  const all = `${sent} ${JSON.stringify(headers)}`;
  return (
    (has === undefined || at(has) !== undefined) &&
    (lacks === undefined || at(lacks) === undefined) &&
    (matches === undefined || new RegExp(matches, 's').test(all)) &&
    (misses === undefined || !new RegExp(misses, 's').test(all))
  );
}

function perform(act: Act, response: ServerResponse): void {
  const { status = 200, headers = {}, fails } = act;
  if (fails === 'hang') return;
  const text = bodyOf(act);
  response.writeHead(status, { 'content-type': act.events ? 'text/event-stream' : 'application/json', ...headers });
  if (fails === 'cut') {
    response.write(text.slice(0, text.length >> 1));
    setTimeout(() => response.destroy(), 5);
  } else response.end(text);
}

function bodyOf({ body, message, finish = 'stop', choice = {}, more = {}, events }: Act): string {
  if (events !== undefined)
    return events.map((event) => (typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`)).join('');
  if (body !== undefined) return typeof body === 'string' ? body : JSON.stringify(body);
  const said = typeof message === 'string' ? { role: 'assistant', content: message } : message;
  const usage = { prompt_tokens: 20, completion_tokens: 5 };
  return JSON.stringify({
    model: 'alias-2031',
    choices: [{ index: 0, message: said, finish_reason: finish, ...choice }],
    usage,
    ...more,
  });
}
