// The page: what vite has built, what may be looked at of the runs below a folder, and what is live.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import files from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { glob } from 'glob';
import { z } from 'zod';
import type { Space } from '../../core/environment.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { faceOf } from '../../kinds/registry.js';
import { readRunRecord } from '../../run/run-folder.js';
import type { Servable } from '../../run/servable.js';
import { sessionKey } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import type { ProtocolRoutes } from '../http/openapi.js';
import { checkedBody } from '../http/requests.js';
import { LiveLog, sessionEpisode } from './live.js';
import type { PlayableView, RowSpace, RunRow, RunsView, WireJson } from './wire.js';

// Runs below a folder, and those of their files that really lie there, not by way of a link out.

/** Folders below the root that are looked into. */
const DEPTH = 4;

const REPORTS = ['report.html', 'fidelity.html'];

/** The latest first; links are not followed. @param root  undefined: none are shown */
async function listRuns(root: string | undefined): Promise<RunsView> {
  if (root === undefined) return { root: null, runs: [] };
  const records = await glob('**/run.json', { cwd: root, absolute: true, dot: true, nodir: true, maxDepth: DEPTH + 1 });
  const runs = records.flatMap((record) => runRow(root, dirname(record)) ?? []);
  return { root, runs: runs.sort((a, b) => b.startedAt.localeCompare(a.startedAt) || a.path.localeCompare(b.path)) };
}

/** undefined where its record cannot be read, e.g. while it is being written. */
function runRow(root: string, folder: string): RunRow | undefined {
  const has = (name: string) => fileIn(root, folder, name) !== undefined;
  if (!has('run.json')) return undefined;
  const path = relative(root, folder).split(sep).join('/') || '.';
  try {
    const record = readRunRecord(folder);
    if (record === undefined) return undefined;
    const { job, status, startedAt } = record;
    const report = REPORTS.find(has);
    return { path, job, status, startedAt, ...(report && { report: `${path}/${report}` }) };
  } catch (error) {
    if (error instanceof ReverieError) return undefined;
    throw error;
  }
}

/**
 * The real path of `name` below `root`.
 * @throws RUN_PATH_REFUSED for a name that leads out, also through a link; RUN_NOT_FOUND for one that is not there
 */
function pathBelow(root: string, name: string): string {
  const clean = normalize(name);
  if (isAbsolute(name) || leadsOut(clean) || name.includes('\0'))
    throw reverieError('RUN_PATH_REFUSED', { path: name });
  const path = join(root, clean);
  if (!existsSync(path)) throw reverieError('RUN_NOT_FOUND', { path: name });
  if (!isBelow(root, path)) throw reverieError('RUN_PATH_REFUSED', { path: name });
  return realpathSync(path);
}

/** Whether what is at `path`, links followed, lies in `root`. */
function isBelow(root: string, path: string): boolean {
  return !leadsOut(relative(realpathSync(root), realpathSync(path)));
}

/** A file within a folder below the root; undefined where it is missing, no file, or elsewhere. */
function fileIn(root: string, folder: string, name: string): string | undefined {
  const path = join(folder, name);
  return existsSync(path) && statSync(path).isFile() && isBelow(root, path) ? path : undefined;
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}

/** No script, no request, no form, an origin of its own; styles and pictures within the file. */
const REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED */
async function readReport(root: string, name: string): Promise<Buffer> {
  const path = pathBelow(root, name);
  if (!path.endsWith('.html') || !statSync(path).isFile()) throw reverieError('RUN_NOT_FOUND', { path: name });
  return readFile(path);
}

interface PageOptions {
  readonly sessions: Sessions;
  /** Folder that holds runs; none are shown unless given. */
  readonly runs?: string;
  /** What vite has built; where a build of the package has it unless given. */
  readonly files?: string;
}

const OPERATOR = { config: { access: 'operator' } } as const;

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

function sessionRoutes(app: FastifyInstance, sessions: Sessions, version: string): void {
  const log = new LiveLog(sessions, version);
  const stop = new AbortController();
  // Before closing: a server waits for its connections, and streams never end by themselves.
  app.addHook('preClose', async () => stop.abort());
  app.addHook('onClose', async () => log.close());
  app.get('/web/api/live', OPERATOR, () => log.view());
  app.get('/web/api/live/events', OPERATOR, (request, reply) => streamLive(request, reply, log, stop.signal));
  app.get('/web/api/environments', OPERATOR, () => [...sessions.environments.values()].map(playableView));
  app.get<{ Params: { key: string } }>('/web/api/sessions/:key', OPERATOR, ({ params: { key }, caller }) => {
    // The caller's own may be asked for by their ids alone.
    const history = sessions.history(key.includes('/') ? key : sessionKey(caller!.owner, key));
    const { env, owner, id } = history.session;
    const isOpen = sessions.list(owner).some((one) => one.id === id);
    return sessionEpisode(sessions.environments.get(env)!, history, isOpen);
  });
}

function runRoutes(app: FastifyInstance, root: string | undefined): void {
  app.get('/web/api/runs', OPERATOR, () => listRuns(root));
  app.get('/web/api/report', OPERATOR, async (request, reply) => {
    const { path } = checkedBody(z.object({ path: z.string().max(1_024) }), request.query);
    if (root === undefined) throw reverieError('RUNS_NOT_SHOWN');
    return reply
      .type('text/html; charset=utf-8')
      .headers({ 'content-security-policy': REPORT_POLICY, 'cache-control': 'no-store' })
      .send(await readReport(root, path));
  });
}

// What one must know to play an environment by hand.

function playableView(served: Servable): PlayableView {
  const { name, family, source, description, tasks, tools, observationSpace, actionSpace, maxEpisodeSteps } = served;
  const isNumbers = faceOf(served).acts === 'numbers';
  return {
    ...{ name, family, source, description, maxEpisodeSteps },
    tasks: tasks.map(({ id, split }) => ({ id, split })),
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

/** Streams until the client leaves or `stop` is aborted. */
function streamLive(request: FastifyRequest, reply: FastifyReply, log: LiveLog, stop: AbortSignal): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  let last: number | undefined;
  let quiet = 0;
  const look = () => {
    quiet = log.revision === last ? quiet + 1 : 0;
    if ((quiet > 0 && quiet < QUIET_LOOKS) || raw.writableLength > BACKLOG) return;
    quiet = 0;
    last = log.revision;
    raw.write(`event: live\ndata: ${JSON.stringify(log.view())}\n\n`);
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
