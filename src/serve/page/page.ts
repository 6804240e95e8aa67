// The page's routes: its files, and what it asks of the server. For operators alone: it shows what is hidden from agents.

import { existsSync, realpathSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { reverieError } from '../../errors.js';
import type { SessionTable } from '../core/session-table.js';
import type { Facade } from '../http/facade.js';
import { checkedBody } from '../http/request-check.js';
import { ActivityLog } from './activity.js';
import { curvesView } from './curves.js';
import { searchEpisodes } from './episode-search.js';
import { streamEvents } from './event-stream.js';
import { liveView } from './live-view.js';
import { BUILT_PAGE, servePageFiles } from './page-files.js';
import { playableView } from './playable.js';
import { recordedEpisode } from './recorded-episode.js';
import { listReports, REPORT_POLICY, readFidelity, readReport } from './reports.js';
import { RunList } from './run-list.js';
import { runView } from './run-parts.js';
import { hasScene, sceneView } from './scene.js';
import { sessionEpisode } from './session-episode.js';
import { StartStates } from './start-states.js';

export interface PageOptions {
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
    endpoint: '/web/',
    reserved: ['web'],
    async register(app, { version }) {
      liveRoutes(app, sessions, version);
      sessionRoutes(app, sessions);
      runRoutes(app, new RunList(runs && realpathSync(runs)));
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
  app.get<{ Params: { id: string } }>('/web/api/sessions/:id/events', OPERATOR, (request, reply) => {
    const { id } = request.params;
    sessions.history(id);
    const read = () => stateOf(sessions, id) ?? { id, status: 'closed' };
    const revision = () => JSON.stringify({ ...read(), lastUsedAt: 0 });
    streamEvents(request, reply, { name: 'session', revision, read }, stop.signal);
  });
}

function stateOf(sessions: SessionTable, id: string) {
  return sessions.list().find((one) => one.id === id);
}

function sessionRoutes(app: FastifyInstance, sessions: SessionTable): void {
  const scenes = new Map<string, Promise<boolean>>();
  const servedOf = (id: string) => {
    const history = sessions.history(id);
    return { history, served: sessions.environments.get(history.session.env)! };
  };
  app.get('/web/api/environments', OPERATOR, () => [...sessions.environments.values()].map(playableView));
  app.get<{ Params: { id: string } }>('/web/api/sessions/:id', OPERATOR, async ({ params: { id } }) => {
    const { history, served } = servedOf(id);
    const drawn = scenes.get(served.name) ?? hasScene(served);
    scenes.set(served.name, drawn);
    return sessionEpisode({ served, history, isOpen: stateOf(sessions, id) !== undefined, hasScene: await drawn });
  });
  app.get<{ Params: { id: string } }>('/web/api/sessions/:id/scene', OPERATOR, async ({ params: { id } }) => {
    const { history, served } = servedOf(id);
    return (await sceneView(served, history)) ?? null;
  });
}

function runRoutes(app: FastifyInstance, list: RunList): void {
  const starts = new StartStates();
  app.addHook('onClose', async () => starts.close());
  const rootOf = () => {
    if (list.root === undefined) throw reverieError('RUNS_NOT_SHOWN');
    return list.root;
  };
  app.get('/web/api/runs', OPERATOR, () => list.view());
  app.get('/web/api/run', OPERATOR, ({ query }) => runView(rootOf(), checkedBody(runQuery, query).path));
  app.get('/web/api/episodes', OPERATOR, ({ query }) => searchEpisodes(list, checkedBody(episodesQuery, query)));
  app.get('/web/api/episode', OPERATOR, ({ query }) => {
    const { run, at } = checkedBody(episodeQuery, query);
    return recordedEpisode(rootOf(), run, at, starts);
  });
  app.get('/web/api/curves', OPERATOR, ({ query }) => {
    const { run: runs, ...request } = checkedBody(curvesQuery, query);
    return curvesView(rootOf(), { runs, ...request });
  });
  app.get('/web/api/reports', OPERATOR, () => (list.root === undefined ? [] : listReports(list.root)));
  app.get('/web/api/fidelity', OPERATOR, ({ query }) => readFidelity(rootOf(), checkedBody(runQuery, query).path));
  app.get('/web/api/report', OPERATOR, (request, reply) => sendReport(rootOf(), request, reply));
}

async function sendReport(root: string, { query }: FastifyRequest, reply: FastifyReply) {
  const page = await readReport(root, checkedBody(runQuery, query).path);
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', REPORT_POLICY)
    .header('x-content-type-options', 'nosniff')
    .header('x-frame-options', 'SAMEORIGIN')
    .header('cache-control', 'no-store')
    .send(page);
}
