// One fastify application: every facade's routes over the same sessions, behind the same doors, with one way to say what
// went wrong.

import websocket from '@fastify/websocket';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController, type RouteOptions } from 'fastify';
import { reverieError } from '../../errors.js';
import type { Sessions } from '../core/session-contract.js';
import { addMetrics, METRICS_PATH } from '../observe/metrics-route.js';
import type { ServerMetrics } from '../observe/server-metrics.js';
import type { AccessRules } from './access.js';
import { DESCRIPTION_PATHS, describeRoutes } from './describe-routes.js';
import { answerFrameworkError, errorAnswer } from './error-answer.js';
import { watchRequests } from './every-request.js';
import type { Facade, FacadeContext } from './facade.js';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.js';
import { addLogin, BrowserLogins } from './login.js';
import { nodeServer } from './node-server.js';
import { addProbes, type Phase, PROBE_PATHS } from './probes.js';
import { Shortcuts } from './shortcuts.js';
import { dropDeafSockets } from './sockets.js';
import { traceIdOf } from './trace-id.js';

export interface AppOptions {
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
  /** Default: true. false: every request walks through fastify. */
  readonly shortcuts?: boolean;
  /** Told of every route as it is added. */
  readonly onRoute?: (route: RouteOptions) => void;
}

/** Paths of the server itself. */
const OWN_PATHS = [...DESCRIPTION_PATHS, ...PROBE_PATHS, METRICS_PATH, 'login', 'logout'];

/** Environments are named by their paths: these names would clash with routes. @throws ENV_NAME_RESERVED */
function checkNames(sessions: Sessions, facades: readonly Facade[]): void {
  const reserved = new Set<string>([...OWN_PATHS, ...facades.flatMap((facade) => facade.reserved)]);
  for (const name of sessions.environments.keys()) {
    if (reserved.has(name)) throw reverieError('ENV_NAME_RESERVED', { name });
  }
}

/** @throws ENV_NAME_RESERVED */
export async function makeApp(options: AppOptions): Promise<FastifyInstance> {
  const { sessions, facades, version, metrics, phase = () => 'ready' } = options;
  checkNames(sessions, facades);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const access = { hosts: 'any' as const, pagesOf: [], logins: new BrowserLogins(), ...options.access };
  const shortcuts = new Shortcuts();
  const app = bareApp(limits, shortcuts, options.logger);
  // Before all others: fastify closes its routes in the same moment.
  app.addHook('preClose', async () => shortcuts.close());
  if (options.onRoute !== undefined) app.addHook('onRoute', options.onRoute);
  await app.register(websocket, { options: { maxPayload: limits.bodyBytes, perMessageDeflate: false } });
  dropDeafSockets(app.websocketServer, limits);
  const watch = watchRequests(app, { limits, access, logger: options.logger, metrics });
  addProbes(app, phase);
  if (metrics !== undefined) addMetrics(app, metrics);
  if (access.tokens !== undefined) await addLogin(app, access.tokens, access.logins);
  describeRoutes(app, facades, version);
  const context: FacadeContext = { sessions, version, limits, ownerOf: ({ caller }) => caller!.owner };
  // Each in a scope of its own: hooks, parsers and error handlers of one are not those of another.
  for (const facade of facades) await app.register(async (scope) => facade.register(scope, context));
  if (options.shortcuts !== false) {
    const all = facades.flatMap((facade) => facade.shortcuts?.(sessions) ?? []);
    shortcuts.open(all, watch);
  }
  return app;
}

function bareApp(limits: HttpLimits, shortcuts: Shortcuts, logger: FastifyBaseLogger | undefined): FastifyInstance {
  const app = Fastify({
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
    bodyLimit: limits.bodyBytes,
    serverFactory: (usual) => nodeServer(shortcuts.listener(usual), limits),
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
