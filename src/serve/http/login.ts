// How a browser shows its token: once, in a form; from then on a cookie stands for it. Scripts cannot read the cookie and
// pages of other sites cannot send it, and unlike a token in an address it stays out of logs and histories. Browsers can
// set no header on a WebSocket, but they do send the cookie.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { reverieError } from '../../core/errors.js';
import { unguessable } from '../core/session-ids.js';
import { type Caller, COOKIE, cookieIn, type Tokens } from './tokens.js';

export const LOGIN_PATH = '/login';

const HOURS = 12;
const BROWSERS = 1000;
const FORM = 'application/x-www-form-urlencoded';

/** Browsers that showed a token, for twelve hours. */
export class BrowserLogins {
  private readonly known = new LRUCache<string, Caller>({ max: BROWSERS, ttl: HOURS * 3600_000 });

  /** Answers the cookie's value. */
  add(caller: Caller): string {
    const id = unguessable();
    this.known.set(id, caller);
    return id;
  }

  find(id: string): Caller | undefined {
    return this.known.get(id);
  }

  remove(id: string): void {
    this.known.delete(id);
  }
}

/** GET and POST /login, POST /logout. */
export async function addLogin(app: FastifyInstance, tokens: Tokens, logins: BrowserLogins): Promise<void> {
  await app.register(async (scope) => {
    scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
      done(null, Object.fromEntries(new URLSearchParams(String(body))));
    });
    const open = { config: { access: 'open' as const } };
    scope.get(LOGIN_PATH, open, (request, reply) => sendForm(reply, nextOf(request.query)));
    scope.post(LOGIN_PATH, open, (request, reply) => {
      const { token = '' } = (request.body ?? {}) as { token?: unknown };
      const caller = tokens.find(String(token));
      const next = nextOf(request.body);
      if (caller === undefined) return sendForm(reply.status(401), next, reverieError('TOKEN_WRONG').message);
      return reply.header('set-cookie', cookieOf(request, logins.add(caller), HOURS * 3600)).redirect(next, 303);
    });
    scope.post('/logout', open, (request, reply) => {
      const id = cookieIn(request.headers);
      if (id !== undefined) logins.remove(id);
      return reply.header('set-cookie', cookieOf(request, '', 0)).redirect(LOGIN_PATH, 303);
    });
  });
}

/** Where to go afterwards: never to another site. */
function nextOf(given: unknown): string {
  const { next } = (given ?? {}) as { next?: unknown };
  return typeof next === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/docs';
}

function cookieOf({ headers }: FastifyRequest, value: string, seconds: number): string {
  const secure = headers['x-forwarded-proto'] === 'https' ? '; Secure' : '';
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}

const STYLE =
  'body{font:16px system-ui,sans-serif;max-width:22rem;margin:15vh auto;padding:0 1rem}input,button{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:.25rem 0}';

function sendForm(reply: FastifyReply, next: string, problem = ''): FastifyReply {
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Reverie</title><style>${STYLE}</style></head><body><h1>Reverie</h1><p role="alert">${problem}</p>
<form method="post" action="${LOGIN_PATH}"><label>Token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
<input type="hidden" name="next" value="${next.replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`)}"><button>Log in</button></form></body></html>`;
  return (
    reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      // Without a referrer a browser sends this form with `Origin: null`, which is no page of ours.
      .header('referrer-policy', 'same-origin')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
      .send(page)
  );
}
