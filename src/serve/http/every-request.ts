// What is done with every request, in the order of its doing. All in one hook before a request and one after it, which
// answer by callback: each hook, and each promise, costs every request.

import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { LEFT, logRequests } from '../observe/request-log.js';
import type { ServerMetrics } from '../observe/server-metrics.js';
import { type AccessRules, accessBy, accessGuard } from './access.js';
import { ByteMeter, meterBytes, NetworkBytes } from './byte-meter.js';
import { answerHeaders, guardRequest, readJson } from './guard-requests.js';
import type { HttpLimits } from './http-limits.js';
import type { RequestWatch } from './shortcuts.js';

export interface Watch {
  readonly limits: HttpLimits;
  readonly access: AccessRules;
  /** None: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
  readonly metrics?: ServerMetrics;
}

/** Registered after WebSockets: their handshakes are requests. Answers what others are held to by who answers them past fastify. */
export function watchRequests(app: FastifyInstance, { limits, access: rules, logger, metrics }: Watch): RequestWatch {
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
  return { limits, access, log, meter, logger };
}
