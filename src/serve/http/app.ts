// One fastify application: every protocol's routes over the same sessions, behind the same doors, with one way to say what
// went wrong.

import websocket from '@fastify/websocket';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify';
import { reverieError } from '../../core/errors.js';
import type { Sessions } from '../core/sessions.js';
import type { ServerMetrics } from '../observe/server-metrics.js';
import { type AccessRules, accessGuard } from './access.js';
import type { ProtocolRoutes } from './openapi.js';
import { type HeldPort, nodeServer } from './port.js';
import {
  answerFrameworkError,
  BROWSER_HEADERS,
  errorAnswer,
  guardRequest,
  HTTP_LIMITS,
  type HttpLimits,
  readJson,
  traceIdOf,
} from './requests.js';
import { dropDeafSockets } from './sockets.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Code of the error it was answered with. */
    failure: string | undefined;
    /** Milliseconds, until it is logged. */
    startedAt: number | undefined;
  }
}

export type Phase = 'starting' | 'ready' | 'draining';

interface AppOptions {
  readonly sessions: Sessions;
  readonly protocols: readonly ProtocolRoutes[];
  /** What /openapi.json answers; nothing is there unless given. */
  readonly document?: object;
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
  /** Called with every route as it is added. */
  readonly onRoute?: (route: RouteOptions) => void;
}

/** First segments of the paths of the server itself. */
const OWN_PATHS = ['openapi.json', 'health', 'ready', 'metrics'];

/** Environments are named by their paths: these names would clash with routes. @throws ENV_NAME_INVALID */
function checkNames(sessions: Sessions, protocols: readonly ProtocolRoutes[]): void {
  const reserved = new Set([...OWN_PATHS, ...protocols.flatMap((protocol) => protocol.reserved)]);
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
  const { sessions, protocols, version } = options;
  checkNames(sessions, protocols);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const access = options.access ?? { hosts: 'any' as const, pagesOf: [] };
  const app = bareApp(limits, options);
  if (options.onRoute !== undefined) app.addHook('onRoute', options.onRoute);
  await app.register(websocket, { options: { maxPayload: limits.bodyBytes, perMessageDeflate: false } });
  dropDeafSockets(app.websocketServer, limits);
  readJson(app, limits);
  watchRequests(app, access, limits, options);
  addOwnRoutes(app, options);
  const context = { sessions, version, limits, ownerOf: ({ caller }: FastifyRequest) => caller!.owner };
  // Each in a scope of its own: hooks, parsers and error handlers of one are not those of another.
  for (const protocol of protocols) await app.register(async (scope) => protocol.register(scope, context));
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

/** nginx's word for a client that left before it was answered. */
export const LEFT = 499;

/**
 * What is done with every request, in the order of its doing. All in one hook before a request and one after it, which
 * answer by callback: each hook, and each promise, costs every request. Registered after WebSockets: their handshakes are
 * requests.
 */
function watchRequests(
  app: FastifyInstance,
  access: AccessRules,
  limits: HttpLimits,
  { logger, metrics }: AppOptions,
): void {
  app.decorateRequest('failure', undefined);
  app.decorateRequest('startedAt', undefined);
  const letIn = accessGuard(app, access);
  /** Once: what comes later is not logged. */
  const end = (request: FastifyRequest, status: number) => {
    const { method, startedAt, failure } = request;
    if (startedAt === undefined) return;
    request.startedAt = undefined;
    const seconds = (performance.now() - startedAt) / 1000;
    metrics?.onRequest({ method, route: request.routeOptions.url ?? 'unknown', status, seconds });
    if (logger === undefined) return;
    const code = failure === undefined ? {} : { code: failure };
    request.log.info({ ...factsOf(request), status, ...code, ms: Math.round(seconds * 1e4) / 10 }, 'request');
  };
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(BROWSER_HEADERS).header('x-request-id', request.id);
    guardRequest(request, limits);
    request.startedAt = performance.now();
    letIn(request);
    if (request.ws && logger !== undefined) logSocket(request);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply.statusCode);
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    end(request, LEFT);
    done();
  });
}

function logSocket(request: FastifyRequest): void {
  const { socket } = request.raw;
  const facts = factsOf(request);
  socket.once('close', () => request.log.info({ ...facts, bytes: socket.bytesRead }, 'socket closed'));
}

/** Paths are logged without what follows the `?`. */
function factsOf({ method, url, caller }: FastifyRequest): Record<string, unknown> {
  const owner = caller === undefined ? {} : { owner: caller.owner };
  return { method, path: url.split('?', 1)[0], ...owner };
}

/** Probes, metrics for operators, and what this server offers. */
function addOwnRoutes(app: FastifyInstance, { document, metrics, phase = () => 'ready' }: AppOptions): void {
  const open = { config: { access: 'open' as const }, logLevel: 'silent' as const };
  app.get('/health', open, () => ({ status: 'healthy' }));
  app.get('/ready', open, (_request, reply) => {
    const status = phase();
    return reply.status(status === 'ready' ? 200 : 503).send({ status });
  });
  if (metrics !== undefined) {
    const operator = { config: { access: 'operator' as const }, logLevel: 'silent' as const };
    app.get('/metrics', operator, async (_request, reply) =>
      reply.type(metrics.registry.contentType).send(await metrics.text()),
    );
  }
  if (document !== undefined) app.get('/openapi.json', () => document);
}
