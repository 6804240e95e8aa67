// Who may come in. Checked before anything else is done for a request, so before a WebSocket's handshake too.

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { reverieError } from '../../core/errors.js';
import { cookieIn, tokenIn } from './credentials.js';
import { type BrowserLogins, LOGIN_PATH } from './login.js';
import { type HostRules, originCheck, type Visit } from './origin-check.js';
import type { Caller, Tokens } from './tokens.js';

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
