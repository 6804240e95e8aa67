// The Open Reward Standard (openrewardstandard.io): sessions over HTTP, calls of tools as streams. Its routes stand at the
// root of the server, as its clients cannot have a prefix. Lists of tasks are facades/tasks.

import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Owner, Sessions, Turn } from '../../core/session-contract.js';
import { unguessable } from '../../core/session-ids.js';
import { environmentNamed } from '../../core/task-choice.js';
import { encodeInfo, publicInfo } from '../../core/values.js';
import { tellDetail } from '../../http/error-answer.js';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { checkedBody } from '../../http/request-guards.js';
import { type PythonTool, pythonTools } from '../python-names.js';
import { actionOfCall, observationText, offeredTools, openingOf } from '../tool-calls.js';
import { CallTable, callEvents, event, type Outcome } from './call-stream.js';
import { callBody, createEpisode, sessionHeader } from './create-episode.js';

import { orsDescriptions } from './route-descriptions.js';

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
