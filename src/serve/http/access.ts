// Who may come in. Checked before anything else is done for a request, so before a WebSocket's handshake too.

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { reverieError } from '../../core/errors.js';
import { type BrowserLogins, LOGIN_PATH } from './login.js';
import { type Caller, cookieIn, type Tokens, tokenIn } from './tokens.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use a route: whoever has a token unless said otherwise. */
    access?: 'open' | 'operator';
  }
  interface FastifyRequest {
    /** Who asks; undefined on open routes. */
    caller: Caller | undefined;
  }
}

export interface AccessRules extends HostRules {
  /** None: whoever reaches the server is `local`, and its operator. */
  readonly tokens?: Tokens;
  /** Browsers that showed a token. */
  readonly logins?: BrowserLogins;
}

const LOCAL: Caller = { owner: 'local', operator: true, quota: {} };

/** Looks at a request and changes nothing. */
export interface Access {
  /** @throws HOST_REFUSED, ORIGIN_REFUSED */
  readonly checkOrigin: (visit: Visit) => void;
  /** Who asks; undefined: nobody who is known. */
  readonly callerOf: (visit: Visit) => Caller | undefined;
}

export function accessBy(rules: AccessRules): Access {
  const callerOf = ({ headers }: Visit) => (rules.tokens === undefined ? LOCAL : callerIn(headers, rules));
  return { checkOrigin: originCheck(rules), callerOf };
}

/** Lets a request in and says so, or has answered it. @throws HOST_REFUSED, ORIGIN_REFUSED, TOKEN_NEEDED, TOKEN_WRONG, OPERATOR_NEEDED */
export type AccessGuard = (request: FastifyRequest, reply: FastifyReply) => boolean;

export function accessGuard(app: FastifyInstance, { checkOrigin, callerOf }: Access): AccessGuard {
  app.decorateRequest('caller', undefined);
  return (request, reply) => {
    checkOrigin(request);
    const { access } = request.routeOptions.config;
    if (access === 'open') return true;
    const caller = callerOf(request);
    if (caller === undefined) {
      if (!isPage(request)) throw reverieError(tokenIn(request.headers) === undefined ? 'TOKEN_NEEDED' : 'TOKEN_WRONG');
      reply.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(request.url)}`, 303);
      return false;
    }
    if (access === 'operator' && !caller.operator) throw reverieError('OPERATOR_NEEDED');
    request.caller = caller;
    return true;
  };
}

function callerIn(headers: IncomingHttpHeaders, { tokens, logins }: AccessRules): Caller | undefined {
  const token = tokenIn(headers);
  if (token !== undefined) return tokens!.find(token);
  const cookie = cookieIn(headers);
  return cookie === undefined ? undefined : logins?.find(cookie);
}

/** Somebody opens a page in a browser and can be asked for a token there. */
function isPage({ method, headers, ws }: FastifyRequest): boolean {
  return method === 'GET' && !ws && (headers.accept ?? '').includes('text/html') && headers.authorization === undefined;
}

// Pages of other sites in the browser of someone who may reach the server: they may not use it. A page whose name was
// rebound to this machine is known by its Host header, any other by what browsers say of where a request comes from.

interface HostRules {
  /** Names and addresses the server may be asked by, without ports; `any`: tokens keep strangers out. */
  readonly hosts: readonly string[] | 'any';
  /** Hosts whose pages may use the server besides its own. */
  readonly pagesOf: readonly string[];
}

/** What is looked at of a request: fastify's and node's own both are one. */
interface Visit {
  readonly method?: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether it is a WebSocket's handshake. */
  readonly ws?: boolean;
}

export const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

const HARMLESS = new Set(['GET', 'HEAD']);

/** What holds a request to the rules. It throws HOST_REFUSED, ORIGIN_REFUSED. */
function originCheck({ hosts, pagesOf }: HostRules): (visit: Visit) => void {
  // Nearly every request says the same: the host that was let in last is not taken apart again.
  let letIn: string | undefined;
  return (visit) => {
    const host = visit.headers.host ?? '';
    if (hosts !== 'any' && host !== letIn) {
      if (!hosts.includes(nameOf(host))) throw reverieError('HOST_REFUSED', { host });
      letIn = host;
    }
    checkPage(visit, host, pagesOf);
  };
}

function checkPage({ headers, method = '', ws }: Visit, host: string, pagesOf: readonly string[]): void {
  const { origin } = headers;
  if (origin !== undefined) {
    const from = hostOf(origin);
    if (from === undefined || (from !== host.toLowerCase() && !pagesOf.includes(nameOf(from)))) {
      throw reverieError('ORIGIN_REFUSED', { origin });
    }
    return;
  }
  const site = headers['sec-fetch-site'];
  const isForeign = site === 'cross-site' || site === 'same-site';
  const isLink = headers['sec-fetch-mode'] === 'navigate' && HARMLESS.has(method) && !ws;
  if (isForeign && !isLink) throw reverieError('ORIGIN_REFUSED', { origin: `another site (${site})` });
}

/** Host and port of an origin; undefined for `null` and what is none. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host || undefined : undefined;
}

/** A host without its port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}
