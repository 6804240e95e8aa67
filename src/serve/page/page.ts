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
import type { Servable } from '../../run/serving/servable.js';
import { sessionKey } from '../core/session-contract.js';
import type { SessionTable } from '../core/sessions.js';
import type { Facade } from '../http/openapi.js';
import { checkedBody } from '../http/requests.js';
import { ActivityLog, liveView } from './live.js';
import { hasScene, sceneView } from './scene.js';
import { sessionEpisode } from './session-episode.js';
import type { PlayableView, RowSpace, WireJson } from './wire.js';

interface PageOptions {
  readonly sessions: SessionTable;
  /** Folder that holds runs; none are shown unless given. */
  readonly runs?: string;
  /** What vite has built; where a build of the package has it unless given. */
  readonly files?: string;
}

const OPERATOR = { config: { access: 'operator' } } as const;

const text = z.string().max(1_024);
const liveQuery = z.object({ env: text.optional(), status: text.optional() });
const episodesQuery = z.object({
  run: text.optional(),
  words: text.optional(),
  task: text.optional(),
  backend: text.optional(),
  reward: z.enum(['full', 'part', 'none', 'unjudged']).optional(),
  cursor: text.optional(),
});
const episodeQuery = z.object({ run: text, at: z.coerce.number().int().min(0) });
const runQuery = z.object({ path: text });
const curvesQuery = z.object({
  run: z.union([text.transform((one) => [one]), z.array(text).max(12)]),
  quantity: text.optional(),
  axis: text.optional(),
});

/** @throws RUN_NOT_FOUND where `runs` is not there */
export function pageFacade({ sessions, runs, files = BUILT_PAGE }: PageOptions): Facade {
  if (runs !== undefined && !existsSync(runs)) throw reverieError('RUN_NOT_FOUND', { path: runs });
  return {
    name: 'page',
    reserved: ['web'],
    async register(app, { version }) {
      liveRoutes(app, sessions, version);
      sessionRoutes(app, sessions);
      runRoutes(app, runs && realpathSync(runs));
      await servePageFiles(app, files);
    },
  };
}

function liveRoutes(app: FastifyInstance, sessions: SessionTable, version: string): void {
  const activity = new ActivityLog({
    events: sessions.events,
    waiting: () => sessions.waiting,
    sourceOf: (env) => sessions.environments.get(env)?.source ?? 'unknown',
    now: Date.now,
  });
  const stop = new AbortController();
  // Before closing: a server waits for its connections, and streams never end by themselves.
  app.addHook('preClose', async () => stop.abort());
  app.addHook('onClose', async () => activity.close());
  app.get('/web/api/live', OPERATOR, (request) =>
    liveView({ sessions, activity, version }, checkedBody(liveQuery, request.query)),
  );
  app.get('/web/api/live/events', OPERATOR, (request, reply) => {
    const filter = checkedBody(liveQuery, request.query);
    const read = () => liveView({ sessions, activity, version }, filter);
    streamEvents(request, reply, { name: 'live', revision: () => activity.revision, read }, stop.signal);
  });
  app.get<SessionParams>('/web/api/sessions/:key/events', OPERATOR, (request, reply) => {
    const { id, owner } = historyFor(sessions, request).session;
    const read = () => openState(sessions, owner, id) ?? { id, status: 'closed' };
    const revision = () => JSON.stringify({ ...read(), lastUsedAt: 0 });
    streamEvents(request, reply, { name: 'session', revision, read }, stop.signal);
  });
}

type SessionParams = { Params: { key: string } };

/** Of the session of this key; or else of whoever looks, by the id that it has there. @throws SESSION_UNKNOWN */
function historyFor(sessions: SessionTable, { params: { key }, caller }: FastifyRequest<SessionParams>) {
  try {
    return sessions.anyHistory(key);
  } catch {
    return sessions.anyHistory(sessionKey(caller!.owner, key));
  }
}

function openState(sessions: SessionTable, owner: string, id: string) {
  return sessions.list(owner).find((one) => one.id === id);
}

function sessionRoutes(app: FastifyInstance, sessions: SessionTable): void {
  const scenes = new Map<string, Promise<boolean>>();
  const servedFor = (request: FastifyRequest<SessionParams>) => {
    const history = historyFor(sessions, request);
    return { history, served: sessions.environments.get(history.session.env)! };
  };
  app.get('/web/api/environments', OPERATOR, () => [...sessions.environments.values()].map(playableView));
  app.get<SessionParams>('/web/api/sessions/:key', OPERATOR, async (request) => {
    const { history, served } = servedFor(request);
    const { id, owner } = history.session;
    const drawn = scenes.get(served.name) ?? hasScene(served);
    scenes.set(served.name, drawn);
    return sessionEpisode({
      served,
      history,
      isOpen: openState(sessions, owner, id) !== undefined,
      hasScene: await drawn,
    });
  });
  app.get<SessionParams>('/web/api/sessions/:key/scene', OPERATOR, async (request) => {
    const { history, served } = servedFor(request);
    return (await sceneView(served, history)) ?? null;
  });
}

/** What shows runs is loaded when somebody looks at one: a server of environments alone never needs it. */
function runRoutes(app: FastifyInstance, root: string | undefined): void {
  let parts: Promise<RunParts> | undefined;
  const loaded = () => (parts ??= loadRunParts(root));
  app.addHook('onClose', async () => (await parts)?.starts.close());
  const rootOf = () => {
    if (root === undefined) throw reverieError('RUNS_NOT_SHOWN');
    return root;
  };
  app.get('/web/api/runs', OPERATOR, async () => (await loaded()).list.view());
  app.get('/web/api/run', OPERATOR, async ({ query }) =>
    (await loaded()).runView(rootOf(), checkedBody(runQuery, query).path),
  );
  app.get('/web/api/episodes', OPERATOR, async ({ query }) => {
    const { searchEpisodes, list } = await loaded();
    return searchEpisodes(list, checkedBody(episodesQuery, query));
  });
  app.get('/web/api/episode', OPERATOR, async ({ query }) => {
    const { run, at } = checkedBody(episodeQuery, query);
    const { recordedEpisode, starts } = await loaded();
    return recordedEpisode(rootOf(), run, at, starts);
  });
  app.get('/web/api/curves', OPERATOR, async ({ query }) => {
    const { run: runs, ...request } = checkedBody(curvesQuery, query);
    return (await loaded()).curvesView(rootOf(), { runs, ...request });
  });
  app.get('/web/api/reports', OPERATOR, async () => (root === undefined ? [] : (await loaded()).listReports(root)));
  app.get('/web/api/fidelity', OPERATOR, async ({ query }) =>
    (await loaded()).readFidelity(rootOf(), checkedBody(runQuery, query).path),
  );
  app.get('/web/api/report', OPERATOR, async (request, reply) => sendReport(await loaded(), rootOf(), request, reply));
}

type RunParts = Awaited<ReturnType<typeof loadRunParts>>;

async function loadRunParts(root: string | undefined) {
  const [runs, recorded] = await Promise.all([import('./runs.js'), import('./recorded-episode.js')]);
  return { ...runs, ...recorded, list: new runs.RunList(root), starts: new recorded.StartStates() };
}

async function sendReport(
  { readReport, REPORT_POLICY }: RunParts,
  root: string,
  { query }: FastifyRequest,
  reply: FastifyReply,
) {
  const page = await readReport(root, checkedBody(runQuery, query).path);
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', REPORT_POLICY)
    .header('x-content-type-options', 'nosniff')
    .header('x-frame-options', 'SAMEORIGIN')
    .header('cache-control', 'no-store')
    .send(page);
}

// What one must know to play an environment by hand.

/** Tasks that are offered to choose from. */
const MOST_TASKS = 2_000;

function playableView(served: Servable): PlayableView {
  const { name, family, source, description, tasks, tools, observationSpace, actionSpace, maxEpisodeSteps } = served;
  return {
    name,
    family,
    source,
    description,
    tasks: tasks.slice(0, MOST_TASKS).map(({ id, split }) => ({ id, split })),
    tools: tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters as WireJson,
    })),
    ...(faceOf(served).acts === 'numbers'
      ? { actions: rowSpace(actionSpace), observations: rowSpace(observationSpace) }
      : {}),
    ...(maxEpisodeSteps === undefined ? {} : { maxEpisodeSteps }),
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
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  let told: unknown;
  let quiet = 0;
  const look = () => {
    const revision = source.revision();
    quiet = revision === told ? quiet + 1 : 0;
    if ((quiet > 0 && quiet < QUIET_LOOKS) || raw.writableLength > BACKLOG) return;
    quiet = 0;
    told = revision;
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
const POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** @param folder  what vite has built */
async function servePageFiles(app: FastifyInstance, folder: string): Promise<void> {
  const config = { access: 'operator' } as const;
  app.get('/web', { config }, (_, reply) => reply.redirect('/web/', 308));
  if (!existsSync(join(folder, 'index.html'))) {
    app.get('/web/', { config }, () => {
      throw reverieError('PAGE_NOT_BUILT', { file: join(folder, 'index.html') });
    });
    return;
  }
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, ...config };
    });
    await scope.register(files, {
      root: folder,
      prefix: '/web/',
      index: 'index.html',
      cacheControl: false,
      // Names of assets hold their hash; the page names them.
      setHeaders: (reply, path) => {
        reply.header(
          'cache-control',
          /[/\\]assets[/\\]/.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
        );
        for (const [name, value] of Object.entries(PAGE_HEADERS)) reply.header(name, value);
      },
    });
  });
}
