// One fastify application: every facade's routes over the same sessions, behind the same doors, with one way to say what
// went wrong.

import type { IncomingMessage } from 'node:http';
import websocket from '@fastify/websocket';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify';
import { reverieError } from '../../core/errors.js';
import type { Sessions } from '../core/session-contract.js';
import type { RequestFacts, ServerMetrics } from '../observe/server-metrics.js';
import { type AccessRules, accessBy, accessGuard, addLogin, BrowserLogins } from './access.js';
import { docsPage, type Facade, type FacadeContext, openApiDocument } from './openapi.js';
import { type HeldPort, nodeServer } from './port.js';
import {
  answerFrameworkError,
  answerHeaders,
  errorAnswer,
  guardRequest,
  HTTP_LIMITS,
  type HttpLimits,
  readJson,
  traceIdOf,
} from './requests.js';
import { ByteMeter, dropDeafSockets, meterBytes, NetworkBytes } from './sockets.js';

export type Phase = 'starting' | 'ready' | 'draining';

const PROBE_PATHS = ['health', 'ready'] as const;

// GET /openapi.json and GET /docs: what this server offers, told by its facades.

/** First segments of these routes' paths. */
const DESCRIPTION_PATHS = ['openapi.json', 'docs'] as const;

function describeRoutes(app: FastifyInstance, facades: readonly Facade[], version: string): void {
  const document = openApiDocument(
    facades.flatMap(({ routes }) => routes ?? []),
    version,
  );
  app.get('/openapi.json', () => document);
  app.get('/docs', (request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send(docsPage(document, `${request.protocol}://${request.host}`)),
  );
}

// GET /metrics, for operators.

const METRICS_PATH = 'metrics';

function addMetrics(app: FastifyInstance, metrics: ServerMetrics): void {
  const config = { access: 'operator' as const };
  app.get(`/${METRICS_PATH}`, { config, logLevel: 'silent' }, async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.text()),
  );
}

interface AppOptions {
  readonly sessions: Sessions;
  readonly facades: readonly Facade[];
  readonly version: string;
  /** Default: no tokens, any host, no page of another site. */
  readonly access?: AccessRules;
  readonly limits?: Partial<HttpLimits>;
  /** Default: none. */
  readonly logger?: FastifyBaseLogger;
  /** Default: none are kept. */
  readonly metrics?: ServerMetrics;
  /** Default: ready. */
  readonly phase?: () => Phase;
  /** Whose requests it answers, once it is ready; it listens by itself unless given. */
  readonly port?: HeldPort;
  /** Told of every route as it is added. */
  readonly onRoute?: (route: RouteOptions) => void;
}

/** Paths of the server itself. */
const OWN_PATHS = [...DESCRIPTION_PATHS, ...PROBE_PATHS, METRICS_PATH, 'login', 'logout'];

/** Environments are named by their paths: these names would clash with routes. @throws ENV_NAME_INVALID */
function checkNames(sessions: Sessions, facades: readonly Facade[]): void {
  const reserved = new Set<string>([...OWN_PATHS, ...facades.flatMap((facade) => facade.reserved)]);
  for (const name of sessions.environments.keys()) {
    if (reserved.has(name))
      throw reverieError('ENV_NAME_INVALID', {
        problem: `An environment cannot be served as "${name}": a route of the server is called so.`,
        hint: 'Give it another name: reverie serve other-name=SCENARIO.',
      });
  }
}

/** @throws ENV_NAME_INVALID */
export async function makeApp(options: AppOptions): Promise<FastifyInstance> {
  const { sessions, facades, version, metrics, phase = () => 'ready' } = options;
  checkNames(sessions, facades);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const access = { hosts: 'any' as const, pagesOf: [], logins: new BrowserLogins(), ...options.access };
  const app = bareApp(limits, options);
  if (options.onRoute !== undefined) app.addHook('onRoute', options.onRoute);
  await app.register(websocket, { options: { maxPayload: limits.bodyBytes, perMessageDeflate: false } });
  dropDeafSockets(app.websocketServer, limits);
  watchRequests(app, { limits, access, logger: options.logger, metrics });
  addProbes(app, phase);
  if (metrics !== undefined) addMetrics(app, metrics);
  if (access.tokens !== undefined) await addLogin(app, access.tokens, access.logins);
  describeRoutes(app, facades, version);
  const context: FacadeContext = { sessions, version, limits, ownerOf: ({ caller }) => caller!.owner };
  // Each in a scope of its own: hooks, parsers and error handlers of one are not those of another.
  for (const facade of facades) await app.register(async (scope) => facade.register(scope, context));
  return app;
}

function bareApp(limits: HttpLimits, { logger, port }: Pick<AppOptions, 'logger' | 'port'>): FastifyInstance {
  const app = Fastify({
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
    bodyLimit: limits.bodyBytes,
    serverFactory: (listener) => {
      port?.handOver(listener);
      return port?.server ?? nodeServer(listener, limits);
    },
    forceCloseConnections: 'idle',
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'trace' }),
    genReqId: traceIdOf,
    frameworkErrors: answerFrameworkError(limits),
    routerOptions: { maxParamLength: 255 },
  });
  app.setErrorHandler(errorAnswer(limits));
  app.setNotFoundHandler(({ method, url }) => {
    throw reverieError('ROUTE_UNKNOWN', { method, path: url.split('?', 1)[0] });
  });
  return app;
}

// What is done with every request, in the order of its doing. All in one hook before a request and one after it, which
// answer by callback: each hook, and each promise, costs every request.

interface Watch {
  readonly limits: HttpLimits;
  readonly access: AccessRules;
  /** None: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
  readonly metrics?: ServerMetrics;
}

/** Registered after WebSockets: their handshakes are requests. */
function watchRequests(app: FastifyInstance, { limits, access: rules, logger, metrics }: Watch): void {
  readJson(app, limits);
  const log = logRequests(app, logger !== undefined, (facts) => metrics?.onRequest(facts));
  const access = accessBy(rules);
  const letsIn = accessGuard(app, access);
  const isMetered = rules.tokens?.callers.some(({ quota }) => quota.bytesPerMinute !== undefined);
  const meter = isMetered ? meterBytes(app, new ByteMeter()) : undefined;
  app.addHook('onRequest', (request, reply, done) => {
    const said = answerHeaders(request.id, request.headers);
    for (let i = 0; i < said.length; i += 2) reply.header(said[i], said[i + 1]);
    guardRequest(request, limits);
    log.begin(request);
    if (!letsIn(request, reply)) return;
    meter?.check(request);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    log.end(request, reply.statusCode);
    meter?.count(request);
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    log.end(request, LEFT);
    meter?.count(request);
    done();
  });
  if (metrics !== undefined) {
    const bytes = new NetworkBytes(app.server, (more) => metrics.onBytes(more));
    metrics.beforeReading(() => bytes.tell());
  }
}

function addProbes(app: FastifyInstance, phase: () => Phase): void {
  const open = { config: { access: 'open' as const }, logLevel: 'silent' as const };
  app.get('/health', open, () => ({ status: 'healthy' }));
  app.get('/ready', open, (_request, reply) => {
    const status = phase();
    return reply.status(status === 'ready' ? 200 : 503).send({ status });
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Code of the error it was answered with. */
    failure: string | undefined;
    /** Milliseconds, until it is told of. */
    startedAt: number | undefined;
  }
}

/** nginx's word for a client that left before it was answered. */
export const LEFT = 499;

/** What is to be done with each request. */
interface RequestLog {
  begin(request: FastifyRequest): void;
  /** Once: what comes later is not told. */
  end(request: FastifyRequest, status: number): void;
}

/** Paths are logged without what follows the `?`. Registered after WebSockets. */
function logRequests(app: FastifyInstance, isLogging: boolean, told: (facts: RequestFacts) => void): RequestLog {
  app.decorateRequest('failure', undefined);
  app.decorateRequest('startedAt', undefined);
  const sockets = new WeakMap<IncomingMessage, FastifyRequest>();
  app.websocketServer.on('connection', (_socket, raw) => {
    const request = sockets.get(raw);
    if (request !== undefined) tellSocket(request);
  });
  return {
    begin(request) {
      request.startedAt = performance.now();
      if (request.ws && isLogging) sockets.set(request.raw, request);
    },
    end(request, status) {
      const { method, startedAt, failure } = request;
      if (startedAt === undefined) return;
      request.startedAt = undefined;
      const seconds = (performance.now() - startedAt) / 1000;
      told({ method, route: request.routeOptions.url ?? 'unknown', status, seconds });
      if (!isLogging) return;
      const code = failure === undefined ? {} : { code: failure };
      request.log.info({ ...factsOf(request), status, ...code, ms: Math.round(seconds * 1e4) / 10 }, 'request');
    },
  };
}

function tellSocket(request: FastifyRequest): void {
  const { socket } = request.raw;
  const facts = factsOf(request);
  socket.once('close', () => request.log.info({ ...facts, bytes: socket.bytesRead }, 'socket closed'));
  request.log.info(facts, 'socket opened');
}

function factsOf({ method, url, caller }: FastifyRequest): Record<string, unknown> {
  const owner = caller === undefined ? {} : { owner: caller.owner };
  return { method, path: url.split('?', 1)[0], ...owner };
}
