// The page's routes: its files, and what it asks of the server. For operators alone: it shows what is hidden from agents.

import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import files from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Space } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import { sessionKey } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import type { ProtocolRoutes } from '../http/openapi.js';
import { checkedBody } from '../http/requests.js';
import { sessionEpisode } from './episode-view.js';
import { LiveLog } from './live.js';
import type { PlayableView, RowSpace, WireJson } from './wire.js';

interface PageOptions {
  readonly sessions: Sessions;
  /** Folder that holds runs; none are shown unless given. */
  readonly runs?: string;
  /** What vite has built; where a build of the package has it unless given. */
  readonly files?: string;
}

const OPERATOR = { config: { access: 'operator' } } as const;

const text = z.string().max(1_024);
const episodesQuery = z.object({
  run: text.optional(),
  task: text.optional(),
  cursor: text.optional(),
});
const episodeQuery = z.object({ run: text, at: z.coerce.number().int().min(0) });
const runQuery = z.object({ path: text });

/** @throws RUN_NOT_FOUND where `runs` is not there */
export function pageRoutes({ sessions, runs, files = BUILT_PAGE }: PageOptions): ProtocolRoutes {
  if (runs !== undefined && !existsSync(runs)) throw reverieError('RUN_NOT_FOUND', { path: runs });
  return {
    name: 'page',
    reserved: ['web'],
    async register(app, { version }) {
      sessionRoutes(app, sessions, version);
      runRoutes(app, runs && realpathSync(runs));
      await servePageFiles(app, files);
    },
  };
}

type SessionParams = { Params: { key: string } };

function sessionRoutes(app: FastifyInstance, sessions: Sessions, version: string): void {
  const log = new LiveLog(sessions, version);
  const stop = new AbortController();
  // Before closing: a server waits for its connections, and streams never end by themselves.
  app.addHook('preClose', async () => stop.abort());
  app.addHook('onClose', async () => log.close());
  const open = (owner: string, id: string) => sessions.list(owner).find((one) => one.id === id);
  /** Of the session of this key; or of the caller, by its own id. @throws SESSION_UNKNOWN */
  const historyFor = ({ params: { key }, caller }: FastifyRequest<SessionParams>) => {
    try {
      return sessions.history(key);
    } catch {
      return sessions.history(sessionKey(caller!.owner, key));
    }
  };
  app.get('/web/api/live', OPERATOR, () => log.view());
  app.get('/web/api/live/events', OPERATOR, (request, reply) => {
    const source = { name: 'live', revision: () => log.revision, read: () => log.view() };
    streamEvents(request, reply, source, stop.signal);
  });
  app.get('/web/api/environments', OPERATOR, () => [...sessions.environments.values()].map(playableView));
  app.get<SessionParams>('/web/api/sessions/:key', OPERATOR, (request) => {
    const history = historyFor(request);
    const { env, owner, id } = history.session;
    return sessionEpisode(sessions.environments.get(env)!, history, open(owner, id) !== undefined);
  });
  app.get<SessionParams>('/web/api/sessions/:key/events', OPERATOR, (request, reply) => {
    const { id, owner } = historyFor(request).session;
    const read = () => open(owner, id) ?? { id, status: 'closed' };
    const revision = () => JSON.stringify({ ...read(), lastUsedAt: 0 });
    streamEvents(request, reply, { name: 'session', revision, read }, stop.signal);
  });
}

/** What shows runs is loaded when somebody looks at one: a server of environments alone never needs it. */
function runRoutes(app: FastifyInstance, root: string | undefined): void {
  const load = async () => {
    const [runs, recorded] = await Promise.all([import('./runs.js'), import('./recorded-episode.js')]);
    return { ...runs, ...recorded, list: new runs.RunList(root) };
  };
  type Parts = Awaited<ReturnType<typeof load>>;
  let loading: Promise<Parts> | undefined;
  const get = <Q>(
    path: string,
    query: z.ZodType<Q>,
    answer: (parts: Parts, asked: Q, reply: FastifyReply) => unknown,
  ) =>
    app.get(`/web/api/${path}`, OPERATOR, async (request, reply) => {
      loading ??= load();
      return answer(await loading, checkedBody(query, request.query), reply);
    });
  const rootOf = () => {
    if (root === undefined) throw reverieError('RUNS_NOT_SHOWN');
    return root;
  };
  const nothing = z.object({});
  get('runs', nothing, ({ list }) => list.view());
  get('episodes', episodesQuery, ({ listEpisodes, list }, filter) => listEpisodes(list, filter));
  get('episode', episodeQuery, ({ recordedEpisode }, { run, at }) => recordedEpisode(rootOf(), run, at));
  get('report', runQuery, async ({ readReport, REPORT_POLICY }, { path }, reply) => {
    const page = await readReport(rootOf(), path);
    return reply
      .type('text/html; charset=utf-8')
      .headers({ 'content-security-policy': REPORT_POLICY, 'cache-control': 'no-store' })
      .send(page);
  });
}

// What one must know to play an environment by hand.

/** Tasks that are offered to choose from. */
const MOST_TASKS = 2_000;

function playableView(served: Servable): PlayableView {
  const { name, family, source, description, tasks, tools, observationSpace, actionSpace, maxEpisodeSteps } = served;
  const isNumbers = faceOf(served).acts === 'numbers';
  return {
    ...{ name, family, source, description, maxEpisodeSteps },
    tasks: tasks.slice(0, MOST_TASKS).map(({ id, split }) => ({ id, split })),
    tools: tools.map((tool) => {
      return { name: tool.name, description: tool.description, parameters: tool.parameters as WireJson };
    }),
    ...(isNumbers && { actions: rowSpace(actionSpace), observations: rowSpace(observationSpace) }),
  };
}

function rowSpace(space: Space): RowSpace | undefined {
  if (space.type === 'box') return { low: space.low, high: space.high };
  if (space.type !== 'discrete') return undefined;
  const { n, start } = space;
  return { discrete: { n, start }, low: [start], high: [start + n - 1] };
}

// Server-sent events: what is live, as it changes, but never faster than an eye or a slow line can take.

/** Milliseconds between two looks. */
const PERIOD = 500;
/** Looks after which something is said even where nothing changed, so that charts move and lines stay open. */
const QUIET_LOOKS = 4;
/** Bytes that may wait on a slow line before it is spared. */
const BACKLOG = 1 << 20;

interface EventSource {
  readonly name: string;
  /** Differs from the last one where there is something new to say. */
  readonly revision: () => unknown;
  readonly read: () => unknown;
}

/** Streams until the client leaves or `stop` is aborted. */
function streamEvents(request: FastifyRequest, reply: FastifyReply, source: EventSource, stop: AbortSignal): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  let last: unknown;
  let quiet = 0;
  const look = () => {
    const revision = source.revision();
    quiet = revision === last ? quiet + 1 : 0;
    if ((quiet > 0 && quiet < QUIET_LOOKS) || raw.writableLength > BACKLOG) return;
    quiet = 0;
    last = revision;
    raw.write(`event: ${source.name}\ndata: ${JSON.stringify(source.read())}\n\n`);
  };
  const timer = setInterval(look, PERIOD);
  const end = () => {
    clearInterval(timer);
    stop.removeEventListener('abort', end);
    raw.end();
  };
  request.raw.socket.once('close', end);
  stop.addEventListener('abort', end, { once: true });
  look();
}

// The page itself: what vite has built, under a policy that lets nothing from elsewhere in.

/** Where a build of the package has the page. */
const BUILT_PAGE = fileURLToPath(new URL('../../web/', import.meta.url));

/** Scripts, styles, requests and frames of this server alone; none of them inline. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** @param folder  what vite has built */
async function servePageFiles(app: FastifyInstance, folder: string): Promise<void> {
  app.get('/web', OPERATOR, (_, reply) => reply.redirect('/web/', 308));
  if (!existsSync(join(folder, 'index.html'))) {
    app.get('/web/', OPERATOR, () => {
      throw reverieError('PAGE_NOT_BUILT', { file: join(folder, 'index.html') });
    });
    return;
  }
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, ...OPERATOR.config };
    });
    await scope.register(files, {
      root: folder,
      prefix: '/web/',
      index: 'index.html',
      cacheControl: false,
      // Names of assets hold their hash; the page names them.
      setHeaders: (reply, path) => {
        const isAsset = /[/\\]assets[/\\]/.test(path);
        reply.header('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache');
        for (const [name, value] of Object.entries(PAGE_HEADERS)) reply.header(name, value);
      },
    });
  });
}
