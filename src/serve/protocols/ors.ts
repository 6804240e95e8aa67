// The Open Reward Standard (openrewardstandard.io): sessions over HTTP, calls of tools as streams. Its routes stand at the
// root of the server, as its clients cannot have a prefix. Lists of tasks are in tasks.ts.

import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import { type ErrorCode, ReverieError, reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/servable.js';
import { type Owner, type Turn, unguessable } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { encodeInfo, environmentOf, publicInfo, resetOf } from '../core/tasks.js';
import type { ProtocolContext, ProtocolRoutes } from '../http/openapi.js';
import { checkedBody, requestInvalid, tellDetail } from '../http/requests.js';
import { actionOfCall, type GivenCall, observationText, offeredTools, openingOf, pythonTools } from './tools.js';

// What clients send. Their Python models write null for what is not given.

const place = z.int().min(0).nullish();
const taskSpec = z.looseObject({
  id: z.string().nullish(),
  split: z.string().nullish(),
  index: place,
  seed: place,
  from_snapshot: z.string().nullish(),
});
const createBody = z
  .strictObject({
    env_name: z.string().nullish(),
    task_spec: taskSpec.nullish(),
    split: z.string().nullish(),
    index: place,
    secrets: z.record(z.string(), z.unknown()).nullish(),
    toolset_name: z.null().optional(),
  })
  .refine(({ task_spec, split, index }) => (task_spec == null) === (split != null && index != null), {
    error: 'give either task_spec or both split and index',
  });
const callBody = z.strictObject({
  name: z.string().max(255),
  input: z.record(z.string(), z.json()),
  /** Of a call whose stream broke: its answer, without a second step. */
  task_id: z.string().max(255).nullish(),
});
const sessionHeader = z.object({ 'x-session-id': z.string().trim().min(1).max(255) });

/** Routes of an environment that clients also ask for without its name. */
const OF_ENVIRONMENT = ['tools', 'splits', 'tasks', 'num_tasks', 'task', 'task_range'];
const OF_SESSION = ['prompt', 'messages', 'task_tools', 'call'];
const VERBS = ['create_session', 'create', 'ping', 'delete', 'delete_session'];

/** @param pingSeconds  longest silence in a stream; clients give up after 30 */
export function makeOrsRoutes(pingSeconds = 10): ProtocolRoutes {
  return {
    name: 'ors',
    variables: ['OPENREWARD_API_URL', 'OPENREWARD_SESSION_URL'],
    reserved: [...VERBS, ...OF_ENVIRONMENT, ...OF_SESSION],
    register: async (app, context) => {
      await app.register(async (scope) => {
        // aiohttp, which the clients are built on, says of a POST without a body that it is of this type.
        const type = 'application/octet-stream';
        scope.addContentTypeParser(type, { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => {
          if (body.length > 0) throw requestInvalid('a body is JSON here');
        });
        tellDetail(scope);
        sessionRoutes(scope, context);
        environmentRoutes(scope, context);
        episodeRoutes(scope, context, pingSeconds);
      });
    },
  };
}

export const orsRoutes = makeOrsRoutes();

function sessionRoutes(app: FastifyInstance, { sessions, ownerOf }: ProtocolContext): void {
  app.post('/create_session', (_request, reply) => stream(reply, [event('task_id', unguessable()), event('end', '')]));
  app.post('/create', async (request) => {
    const id = sidOf(request);
    await createEpisode(sessions, id, ownerOf(request), request);
    return { sid: id };
  });
  app.post('/ping', async (request) => {
    sessions.touch(sidOf(request), ownerOf(request));
    return { status: 'ok' };
  });
  // Clients send both, and `delete_session` for sessions that never had an episode: neither may fail.
  for (const path of ['/delete', '/delete_session']) {
    app.post(path, async (request) => {
      const [id, owner] = [sidOf(request), ownerOf(request)];
      if (sessions.list(owner).some((one) => one.id === id)) await sessions.close(id, owner);
      return { sid: id };
    });
  }
}

/**
 * An episode for a session id that a client has. Asked again, as clients do when an answer got lost, it answers the same and
 * starts no second one.
 * @throws REQUEST_INVALID, ENV_NOT_SERVED, TASK_NOT_CHOSEN, SESSION_GONE for an id that was deleted, REQUEST_CONFLICT for one
 *   that is in another episode; as Sessions.open and Sessions.reset
 */
async function createEpisode(sessions: Sessions, id: string, owner: Owner, request: FastifyRequest): Promise<void> {
  const { env_name, task_spec, split, index } = checkedBody(createBody, request.body);
  const served = environmentOf(sessions, env_name ?? deploymentOf(request));
  const reset = resetOf(served, task_spec ?? { split, index });
  const known = envOf(sessions, id, owner);
  if (known !== undefined && known !== served) throw reverieError('SESSION_EXISTS', { id });
  if (known === undefined) sessions.open({ env: served.name, id, owner });
  await sessions.reset(id, { ...reset, requestId: 'create' }, owner);
}

/** undefined where there never was such a session. @throws SESSION_GONE */
function envOf(sessions: Sessions, id: string, owner: Owner): Servable | undefined {
  try {
    return sessions.environmentOf(id, owner);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'SESSION_UNKNOWN') return undefined;
    throw error;
  }
}

function environmentRoutes(app: FastifyInstance, { sessions }: ProtocolContext): void {
  app.get<{ Params: { env: string } }>('/:env/tools', (request, reply) => {
    const served = environmentOf(sessions, request.params.env);
    const isNamed = served.name.toLowerCase() === request.params.env.toLowerCase();
    return isNamed ? reply.send(toolList(served)) : reply.redirect(`/${served.name}/tools`, 308);
  });
  for (const route of OF_ENVIRONMENT) {
    app.route({
      method: route === 'tools' || route === 'splits' ? 'GET' : 'POST',
      url: `/${route}`,
      handler: (request, reply) =>
        reply.redirect(`/${environmentOf(sessions, deploymentOf(request)).name}/${route}`, 308),
    });
  }
}

/** A session that a request is about. */
interface Asked {
  readonly id: string;
  readonly owner: Owner;
  readonly served: Servable;
}

/** The session says which environment it is of; clients put its name before the route, or none. */
function episodeRoutes(app: FastifyInstance, { sessions, ownerOf }: ProtocolContext, pingSeconds: number): void {
  const asked = (request: FastifyRequest): Asked => {
    const [id, owner] = [sidOf(request), ownerOf(request)];
    sessions.touch(id, owner);
    const served = sessions.environmentOf(id, owner);
    const { env } = request.params as { env?: string };
    if (env === undefined || environmentOf(sessions, env) === served) return { id, owner, served };
    throw reverieError('SESSION_OF_OTHER_ENV', { id, env: served.name, asked: env });
  };
  const opening = (request: FastifyRequest) => {
    const { id, owner, served } = asked(request);
    return openingOf(served, sessions.observe(id, owner).observation);
  };
  const message = (role: string, text: string) => ({ role, blocks: [textBlock(text)], detail: null });
  const calls = new CallTable();
  for (const prefix of ['', '/:env']) {
    app.get(`${prefix}/task_tools`, (request) => toolList(asked(request).served));
    app.get(`${prefix}/prompt`, (request) => {
      const { rules, first } = opening(request);
      return [rules, first].filter((text) => text !== '').map(textBlock);
    });
    app.get(`${prefix}/messages`, (request) => {
      const { rules, first } = opening(request);
      return [...(rules === '' ? [] : [message('system', rules)]), message('user', first)];
    });
    app.post(`${prefix}/call`, (request, reply) => {
      const about = asked(request);
      const { name, input, task_id: known } = checkedBody(callBody, request.body);
      const start = () => calls.start(about, step(sessions, about, { name, arguments: input }));
      const call = known ? calls.find(known, about) : start();
      return stream(reply, call === undefined ? [event('error', 'unknown task_id')] : callEvents(call, pingSeconds));
    });
  }
}

/** Never rejects. */
async function step(sessions: Sessions, { id, owner, served }: Asked, call: GivenCall): Promise<Outcome> {
  try {
    const found = pythonTools(offeredTools(served)).get(call.name);
    const given = found?.argumentsOf(call.arguments as JsonObject) ?? call.arguments;
    const action = actionOfCall(served, { name: found?.name ?? call.name, arguments: given });
    return outcomeOf(await sessions.step(id, { action }, owner));
  } catch (error) {
    return outcomeOfError(error);
  }
}

function toolList(served: Servable) {
  const offered = [...pythonTools(offeredTools(served)).values()];
  return {
    tools: offered.map(({ tool: { name, description, parameters } }) => {
      return { name, description, input_schema: parameters };
    }),
  };
}

function textBlock(text: string) {
  return { text, detail: null, type: 'text' };
}

function sidOf(request: FastifyRequest): string {
  return checkedBody(sessionHeader, { 'x-session-id': request.headers['x-session-id'] })['x-session-id'];
}

/** What the OpenReward client calls the environment, where it has no name of a variant. */
function deploymentOf({ headers: { 'x-deployment': name } }: FastifyRequest): string | undefined {
  return typeof name === 'string' ? name : undefined;
}

// A call as a stream of server-sent events: `task_id`, then `chunk`s and an `end`, or an `error`; comments while it lasts. A
// client whose stream broke gets the answer of the call it made by its task id, and no second step.

/** How a call ended; `text` is what the stream's last event carries. */
interface Outcome {
  readonly event: 'end' | 'error';
  readonly text: string;
}

interface Call {
  readonly id: string;
  readonly about: Asked;
  readonly outcome: Promise<Outcome>;
}

/** Milliseconds that the outcome of a call is kept (ORS, call stream). */
const LINGER = 60_000;
/** Characters of all outcomes that are kept; the oldest make way. */
const KEPT = 64 << 20;

class CallTable {
  private readonly running = new Map<string, Call>();
  private readonly finished = new LRUCache<string, Call>({ maxSize: KEPT, ttl: LINGER });

  start(about: Asked, outcome: Promise<Outcome>): Call {
    const call = { id: unguessable(), about, outcome };
    this.running.set(call.id, call);
    void outcome.then(({ text }) => {
      this.running.delete(call.id);
      this.finished.set(call.id, call, { size: text.length + 1 });
    });
    return call;
  }

  /** The call of this task id that was made in this session. */
  find(taskId: string, { id, owner }: Asked): Call | undefined {
    const call = this.running.get(taskId) ?? this.finished.get(taskId);
    return call?.about.id === id && call.about.owner === owner ? call : undefined;
  }
}

function stream(reply: FastifyReply, events: Iterable<string> | AsyncIterable<string>): FastifyReply {
  return reply
    .type('text/event-stream; charset=utf-8')
    .headers({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    .send(Readable.from(events));
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

async function* callEvents({ id, outcome }: Call, pingSeconds: number): AsyncGenerator<string> {
  yield event('task_id', id);
  for (;;) {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), pingSeconds * 1000);
    });
    const settled = await Promise.race([outcome, silence]);
    clearTimeout(timer);
    if (settled === undefined) {
      yield ': ping\n\n';
      continue;
    }
    if (settled.event === 'error') return yield event('error', settled.text.replace(/\s+/g, ' '));
    const all = pieces(settled.text);
    for (const [i, piece] of all.entries()) yield event(i === all.length - 1 ? 'end' : 'chunk', piece);
    return;
  }
}

/** Characters of one `data:` line; the client's limit is 64 KB, as UTF-8. */
const PIECE = 4096;
/** What Python's str.lstrip takes away and JSON does not escape by itself; in compact JSON it stands in strings alone. */
const BLANK = /[\s\x85]/;

/**
 * Compact JSON in pieces that mean it when joined. The client strips blanks before a piece, so one that would begin with a
 * blank has it escaped; a pair of surrogates stays together.
 */
export function pieces(json: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < json.length; ) {
    const before = json.charCodeAt(from + PIECE - 1);
    const to = from + PIECE - (before >= 0xd800 && before <= 0xdbff ? 1 : 0);
    const piece = json.slice(from, to);
    const code = piece.charCodeAt(0).toString(16).padStart(4, '0');
    found.push(BLANK.test(piece[0]) ? `\\u${code}${piece.slice(1)}` : piece);
    from = to;
  }
  return found;
}

/** Why a call was refused, in the words of the OpenReward client. What is not here ends the rollout. */
const REASONS: Partial<Record<ErrorCode, string | null>> = {
  REQUEST_INVALID: 'input_validation',
  ACTION_OUT_OF_SPACE: 'input_validation',
  TOOL_NOT_OFFERED: 'not_found',
  ENV_NOT_RESET: 'episode_finished',
  STEP_DEADLINE: null,
};

/**
 * Rewards: clients keep the last that is not null, so steps have null and the last one has the return (null where the
 * episode could not be judged). The step's own is in `metadata`.
 */
function outcomeOf({ observation, terminated, truncated, reward, return: sum, stepCount, info }: Turn): Outcome {
  const finished = terminated || truncated;
  const shown = encodeInfo(publicInfo(info));
  const metadata = { step_reward: reward, terminated, truncated, step_count: stepCount, info: shown };
  const blocks = [textBlock(observationText(observation))];
  return ended({ ok: true, output: { blocks, metadata, reward: finished ? sum : null, finished } });
}

function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof ReverieError)) return { event: 'error', text: 'The server failed to answer.' };
  const text = `${error.message} ${error.hint}`;
  const reason = REASONS[error.code];
  if (reason === undefined) return { event: 'error', text };
  const finished = 'The episode has finished. Open another session for the next one.';
  const said = reason === 'episode_finished' ? finished : text;
  return ended({ ok: false, error: said, ...(reason === null ? {} : { reason }) });
}

function ended(value: object): Outcome {
  return { event: 'end', text: JSON.stringify(value) };
}
