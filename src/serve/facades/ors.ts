// The Open Reward Standard (openrewardstandard.io): sessions over HTTP, calls of tools as streams. Its routes stand at the
// root of the server, as its clients cannot have a prefix. Lists of tasks are facades/tasks.

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { canonicalJson } from '../../core/canonical-json.js';
import { type ErrorCode, ReverieError, reverieError } from '../../core/errors.js';
import type { Json } from '../../core/json.js';
import type { Servable } from '../../run/serving/servable.js';
import { type Owner, type SessionState, type Sessions, type Turn, unguessable } from '../core/session-contract.js';
import { encodeInfo, environmentNamed, publicInfo, resetOf, type TaskRequest } from '../core/tasks.js';
import type { Facade, FacadeContext, RouteDescription } from '../http/openapi.js';
import { checkedBody, tellDetail } from '../http/requests.js';
import { actionOfCall, observationText, offeredTools, openingOf, type PythonTool, pythonTools } from './tools.js';

// What clients of the Open Reward Standard send. Its Python models write null for what is not given.

const taskSpec = z.looseObject({
  id: z.string().nullish(),
  split: z.string().nullish(),
  index: z.int().min(0).nullish(),
  seed: z.int().min(0).nullish(),
  from_snapshot: z.string().nullish().describe('A snapshot to go on from'),
});

export const createBody = z
  .strictObject({
    env_name: z.string().nullish(),
    task_spec: taskSpec.nullish().describe('A task as it came from the lists of tasks, or parts of one'),
    split: z.string().nullish(),
    index: z.int().min(0).nullish(),
    secrets: z.record(z.string(), z.unknown()).nullish().describe('Not used here, and not kept'),
    toolset_name: z.null().optional().describe('Toolsets are of environments in Python'),
  })
  .refine(({ task_spec, split, index }) => (task_spec == null) === (split != null && index != null), {
    error: 'give either task_spec or both split and index',
  });

export const callBody = z.strictObject({
  name: z.string().max(255),
  input: z.record(z.string(), z.json()),
  task_id: z.string().max(255).nullish().describe('Of a call whose stream broke: its answer, without a second step'),
});

export const sessionHeader = z.object({ 'x-session-id': z.string().trim().min(1).max(255) });

const tag = 'Open Reward Standard';
const headers = { 'X-Session-ID': 'Id of the session' };
const parameters = { env: 'Name of the environment, capitals or not' };

const sid = z.object({ sid: z.string() });
const block = z.object({ text: z.string(), detail: z.null(), type: z.literal('text') }).meta({ id: 'OrsTextBlock' });
const tools = z.object({
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), input_schema: z.record(z.string(), z.unknown()) }),
  ),
});
const messages = z.array(z.object({ role: z.enum(['system', 'user']), blocks: z.array(block), detail: z.null() }));

const EVENTS = 'Server-sent events';

export const orsDescriptions: readonly RouteDescription[] = [
  {
    method: 'post',
    path: '/create_session',
    tag,
    summary: 'Get an id for a session',
    answer: { status: 200, description: `${EVENTS}: task_id, which is the id, and end` },
  },
  {
    method: 'post',
    path: '/create',
    tag,
    summary: 'Start an episode',
    description: 'Once for a session; sent again it answers the same and starts no other.',
    headers,
    body: { schema: createBody, example: { env_name: 'helpdesk', split: 'train', index: 0 } },
    answer: { status: 200, description: 'The session', schema: sid },
  },
  {
    method: 'get',
    path: '/:env/tools',
    tag,
    summary: 'List the tools, under names that are Python identifiers',
    parameters,
    answer: { status: 200, description: 'The tools', schema: tools },
  },
  {
    method: 'get',
    path: '/:env/task_tools',
    tag,
    summary: 'List the tools of a session',
    parameters,
    headers,
    answer: { status: 200, description: 'The same ones', schema: tools },
  },
  {
    method: 'get',
    path: '/:env/prompt',
    tag,
    summary: 'Read rules, and what there is to see',
    parameters,
    headers,
    answer: { status: 200, description: 'Blocks of text', schema: z.array(block) },
  },
  {
    method: 'get',
    path: '/:env/messages',
    tag,
    summary: 'Read the same as a conversation',
    parameters,
    headers,
    answer: { status: 200, description: 'Messages', schema: messages },
  },
  {
    method: 'post',
    path: '/:env/call',
    tag,
    summary: 'Call a tool: a step',
    description:
      'Rewards are null but on the last step, which has the return. A broken stream is taken up by its task_id.',
    parameters,
    headers,
    body: { schema: callBody, example: { name: 'step', input: { action: [0.5] } } },
    answer: { status: 200, description: `${EVENTS}: task_id, chunk, end or error` },
  },
  ...(['ping', 'delete', 'delete_session'] as const).map((name): RouteDescription => {
    const summary = name === 'ping' ? 'Say that a session is still wanted' : 'Close a session';
    const schema = name === 'ping' ? z.object({ status: z.literal('ok') }) : sid;
    return {
      method: 'post',
      path: `/${name}`,
      tag,
      summary,
      headers,
      answer: { status: 200, description: 'Done', schema },
    };
  }),
];

export interface OrsOptions {
  /** Longest silence in a stream; clients give up after 30 s. */
  readonly pingSeconds?: number;
}

/** Routes of an environment that clients also ask for without its name. */
const OF_ENVIRONMENT = ['tools', 'splits', 'tasks', 'num_tasks', 'task', 'task_range'];
const OF_SESSION = ['prompt', 'messages', 'task_tools', 'call'];
const VERBS = ['create_session', 'create', 'ping', 'delete', 'delete_session'];

/** A session that a request is about. */
interface Asked {
  readonly sid: string;
  readonly owner: Owner;
  readonly served: Servable;
}

export function makeOrsFacade({ pingSeconds = 10 }: OrsOptions = {}): Facade {
  return {
    name: 'ors',
    reserved: [...VERBS, ...OF_ENVIRONMENT, ...OF_SESSION],
    routes: orsDescriptions,
    register: async (app, context) => {
      await app.register(async (scope) => {
        acceptEmptyBodies(scope);
        tellDetail(scope);
        sessionRoutes(scope, context);
        environmentRoutes(scope, context);
        episodeRoutes(scope, context, pingSeconds);
      });
    },
  };
}

export const orsFacade = makeOrsFacade();

/** aiohttp, which the clients are built on, says of a POST without a body that it is of this type. */
function acceptEmptyBodies(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/octet-stream',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => {
      if (body.length > 0) throw reverieError('REQUEST_INVALID', { problem: 'a body is JSON here' });
    },
  );
}

function sessionRoutes(app: FastifyInstance, { sessions, ownerOf }: FacadeContext): void {
  app.post('/create_session', (_request, reply) => {
    return stream(reply, [event('task_id', unguessable()), event('end', '')]);
  });
  app.post('/create', async (request) => {
    const sid = sidOf(request);
    await createEpisode(sessions, {
      sid,
      owner: ownerOf(request),
      body: request.body,
      deployment: deploymentOf(request),
    });
    return { sid };
  });
  app.post('/ping', async (request) => {
    sessions.touch(sidOf(request), ownerOf(request));
    return { status: 'ok' };
  });
  // Clients send both, and `delete_session` for sessions that never had an episode: neither may fail.
  for (const path of ['/delete', '/delete_session']) {
    app.post(path, async (request) => {
      const sid = sidOf(request);
      const owner = ownerOf(request);
      if (sessions.list(owner).some(({ id }) => id === sid)) await sessions.close(sid, owner);
      return { sid };
    });
  }
}

function environmentRoutes(app: FastifyInstance, { sessions }: FacadeContext): void {
  app.get<{ Params: { env: string } }>('/:env/tools', (request, reply) => {
    const served = environmentNamed(sessions, request.params.env);
    const isNamed = served.name.toLowerCase() === request.params.env.toLowerCase();
    return isNamed ? reply.send(toolList(served)) : reply.redirect(`/${served.name}/tools`, 308);
  });
  for (const route of OF_ENVIRONMENT) {
    app.route({
      method: route === 'tools' || route === 'splits' ? 'GET' : 'POST',
      url: `/${route}`,
      handler: (request, reply) => {
        const named = environmentNamed(sessions, deploymentOf(request));
        return reply.redirect(`/${named.name}/${route}`, 308);
      },
    });
  }
}

/** The session says which environment it is of; clients put its name before the route, or none. */
function episodeRoutes(app: FastifyInstance, { sessions, ownerOf }: FacadeContext, pingSeconds: number): void {
  const asked = (request: FastifyRequest): Asked => {
    const sid = sidOf(request);
    const owner = ownerOf(request);
    sessions.touch(sid, owner);
    const served = sessions.environments.get(sessions.state(sid, owner).env)!;
    const { env } = request.params as { env?: string };
    if (env === undefined || environmentNamed(sessions, env) === served) return { sid, owner, served };
    throw reverieError('SESSION_OF_OTHER_ENV', { id: sid, env: served.name, asked: env });
  };
  const opening = (request: FastifyRequest) => {
    const { sid, owner, served } = asked(request);
    return openingOf(served, sessions.observe(sid, owner).observation);
  };
  const calls = new CallTable();
  for (const prefix of ['', '/:env']) {
    app.get(`${prefix}/task_tools`, (request) => toolList(asked(request).served));
    app.get(`${prefix}/prompt`, (request) => {
      const { rules, first } = opening(request);
      return [rules, first].filter((text) => text !== '').map(textBlock);
    });
    app.get(`${prefix}/messages`, (request) => {
      const { rules, first } = opening(request);
      const system = rules === '' ? [] : [message('system', rules)];
      return [...system, message('user', first)];
    });
    app.post(`${prefix}/call`, (request, reply) => {
      const about = asked(request);
      const { name, input, task_id: known } = checkedBody(callBody, request.body);
      const call = known
        ? calls.find(known, about.sid, about.owner)
        : calls.start(about.sid, about.owner, () => step(sessions, about, { name, arguments: input }));
      return stream(reply, call === undefined ? [event('error', 'unknown task_id')] : callEvents(call, pingSeconds));
    });
  }
}

async function step(sessions: Sessions, { sid, owner, served }: Asked, call: { name: string; arguments: object }) {
  try {
    const tool = toolsOf(served).get(call.name);
    const given = tool === undefined ? call.arguments : tool.argumentsOf(call.arguments as never);
    const action = actionOfCall(served, { name: tool?.name ?? call.name, arguments: given });
    return outcomeOf(await sessions.step(sid, { action }, owner));
  } catch (error) {
    return outcomeOfError(error);
  }
}

function toolsOf(served: Servable): ReadonlyMap<string, PythonTool> {
  return pythonTools(offeredTools(served));
}

function toolList(served: Servable) {
  const tools = [...toolsOf(served).values()];
  return {
    tools: tools.map(({ tool: { name, description, parameters } }) => ({
      name,
      description,
      input_schema: parameters,
    })),
  };
}

function message(role: string, text: string) {
  return { role, blocks: [textBlock(text)], detail: null };
}

function sidOf(request: FastifyRequest): string {
  return checkedBody(sessionHeader, { 'x-session-id': request.headers['x-session-id'] })['x-session-id'];
}

/** What the OpenReward client calls the environment, where it has no name of a variant. */
function deploymentOf({ headers }: FastifyRequest): string | undefined {
  const { 'x-deployment': name } = headers;
  return typeof name === 'string' ? name : undefined;
}

function stream(reply: FastifyReply, events: Iterable<string> | AsyncIterable<string>): FastifyReply {
  return reply
    .type('text/event-stream; charset=utf-8')
    .header('cache-control', 'no-cache')
    .header('x-accel-buffering', 'no')
    .send(Readable.from(events));
}

// What the Open Reward Standard is told: blocks of text, the return on the last step alone, errors as tools have them.

/** Why a call was refused, in the words of the OpenReward client. What is not here ends the rollout. */
const REASONS: Partial<Record<ErrorCode, string | null>> = {
  REQUEST_INVALID: 'input_validation',
  ACTION_OUT_OF_SPACE: 'input_validation',
  TOOL_NOT_OFFERED: 'not_found',
  ENV_NOT_RESET: 'episode_finished',
  STEP_DEADLINE: null,
};

function textBlock(text: string) {
  return { text, detail: null, type: 'text' };
}

/**
 * Rewards: clients keep the last that is not null, so steps have null and the last one has the return (null where the
 * episode could not be judged). The step's own is in `metadata`.
 */
function outcomeOf(turn: Turn): Outcome {
  const { terminated, truncated, reward, stepCount, info } = turn;
  const finished = terminated || truncated;
  const metadata = {
    step_reward: reward,
    terminated,
    truncated,
    step_count: stepCount,
    info: encodeInfo(publicInfo(info)),
  };
  const blocks = [textBlock(observationText(turn.observation))];
  return answer({ ok: true, output: { blocks, metadata, reward: finished ? turn.return : null, finished } });
}

function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof ReverieError)) return { event: 'error', text: 'The server failed to answer.' };
  const text = `${error.message} ${error.hint}`;
  const reason = REASONS[error.code];
  if (reason === undefined) return { event: 'error', text };
  if (reason === 'episode_finished') {
    return answer({ ok: false, error: 'The episode has finished. Open another session for the next one.', reason });
  }
  return answer({ ok: false, error: text, ...(reason === null ? {} : { reason }) });
}

function answer(value: object): Outcome {
  return { event: 'end', text: JSON.stringify(value) };
}

/** Characters of one `data:` line; the client's limit is 64 KB, as UTF-8. */
const PIECE = 4096;
/** What Python's str.lstrip takes away and JSON does not escape by itself; in compact JSON it stands in strings alone. */
const BLANK = /[\s\x85]/;

/** @param pingSeconds  longest silence; the client gives up after 30 */
export async function* callEvents({ id, outcome }: Call, pingSeconds: number): AsyncGenerator<string> {
  yield event('task_id', id);
  for (;;) {
    const settled = await within(pingSeconds, outcome);
    if (settled === undefined) {
      yield ': ping\n\n';
      continue;
    }
    const { event: name, text } = settled;
    if (name === 'error') yield event('error', text.replace(/\s+/g, ' '));
    else {
      const all = pieces(text);
      for (const [i, piece] of all.entries()) yield event(i === all.length - 1 ? 'end' : 'chunk', piece);
    }
    return;
  }
}

export function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

/**
 * Compact JSON in pieces that mean it when joined. The client strips blanks before a piece, so one that would begin with a
 * blank has it escaped; a pair of surrogates stays together.
 */
export function pieces(json: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < json.length; ) {
    const to = endOfPiece(json, from);
    const piece = json.slice(from, to);
    found.push(BLANK.test(piece[0]) ? `\\u${hex(piece.charCodeAt(0))}${piece.slice(1)}` : piece);
    from = to;
  }
  return found;
}

function endOfPiece(text: string, from: number): number {
  const to = from + PIECE;
  const before = text.charCodeAt(to - 1);
  return before >= 0xd800 && before <= 0xdbff ? to - 1 : to;
}

function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}

/** undefined where it has not settled by then. */
async function within<R>(seconds: number, promise: Promise<R>): Promise<R | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), seconds * 1000);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

// Calls by their task id, so that a client whose stream broke gets the answer of the call it made, not a second step.

/** How a call ended; `text` is what the stream's last event carries. */
export interface Outcome {
  readonly event: 'end' | 'error';
  readonly text: string;
}

interface Call {
  readonly id: string;
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
}

interface Entry extends Call {
  readonly session: string;
  readonly owner: Owner;
}

/** Milliseconds that the outcome of a call is kept (ORS, call stream). */
const LINGER = 60_000;
/** Characters of all outcomes that are kept; the oldest make way. */
const KEPT = 64 << 20;

export class CallTable {
  private readonly running = new Map<string, Entry>();
  private readonly finished = new LRUCache<string, Entry>({ maxSize: KEPT, ttl: LINGER });

  start(session: string, owner: Owner, work: () => Promise<Outcome>): Call {
    const entry: Entry = { id: unguessable(), session, owner, outcome: work() };
    this.running.set(entry.id, entry);
    void entry.outcome.then(({ text }) => {
      this.running.delete(entry.id);
      this.finished.set(entry.id, entry, { size: text.length + 1 });
    });
    return entry;
  }

  /** The call of this id that was made in this session. */
  find(id: string, session: string, owner: Owner): Call | undefined {
    const entry = this.running.get(id) ?? this.finished.get(id);
    return entry?.session === session && entry.owner === owner ? entry : undefined;
  }
}

export interface EpisodeRequest {
  readonly sid: string;
  readonly owner: Owner;
  readonly body: unknown;
  /** Of the environment, where the body has none. */
  readonly deployment?: string;
}

/**
 * @throws REQUEST_INVALID, ENV_NOT_SERVED, TASK_NOT_CHOSEN, SESSION_GONE for an id that was deleted, SESSION_EXISTS for one
 *   that is in another episode; as Sessions.open and Sessions.reset
 */
export async function createEpisode(sessions: Sessions, request: EpisodeRequest): Promise<void> {
  const { sid, owner } = request;
  const body = checkedBody(createBody, request.body);
  const served = environmentNamed(sessions, body.env_name ?? request.deployment);
  const reset = resetOf(served, taskRequest(body));
  const episodeId = identityOf(sid, served.name, reset);
  const known = stateOf(sessions, sid, owner);
  if (known?.episodeId === episodeId) return;
  if (known !== undefined && (known.episodeId !== null || known.env !== served.name)) {
    throw reverieError('SESSION_EXISTS', { id: sid });
  }
  if (known === undefined) sessions.open({ env: served.name, id: sid, owner });
  await sessions.reset(sid, { ...reset, episodeId, requestId: episodeId }, owner);
}

/** The same for the same request in the same session. */
function identityOf(sid: string, env: string, reset: object): string {
  const content = JSON.parse(JSON.stringify({ sid, env, reset })) as Json;
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
}

/** undefined where there never was such a session. @throws SESSION_GONE */
function stateOf(sessions: Sessions, sid: string, owner: Owner): SessionState | undefined {
  try {
    return sessions.state(sid, owner);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'SESSION_UNKNOWN') return undefined;
    throw error;
  }
}

/** The task that is asked for, without the nulls. */
function taskRequest({ task_spec: spec, split, index }: z.infer<typeof createBody>): TaskRequest {
  const { id, seed, from_snapshot, ...place } = spec ?? { split, index };
  return {
    id: given(id),
    split: given(place.split),
    index: given(place.index),
    seed: given(seed),
    from_snapshot: given(from_snapshot),
  };
}

function given<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}
