// The token in a request: in a header, in the header that a URL's user and password become, or behind a page's cookie.

import type { IncomingHttpHeaders } from 'node:http';

/** Name of the cookie that a browser gets for its token at /login. */
export const COOKIE = 'reverie';

/**
 * What a request shows. `Basic` is for clients that can set no header but put the user and password of their URL into
 * one, such as OpenEnv's; the user's name does not count.
 */
export function tokenIn(headers: IncomingHttpHeaders): string | undefined {
  const [scheme, given] = splitOnce(headers.authorization ?? '', ' ');
  if (scheme.toLowerCase() === 'bearer') return given.trim();
  if (scheme.toLowerCase() === 'basic') return splitOnce(Buffer.from(given, 'base64').toString('utf8'), ':')[1];
  const key = headers['x-api-key'];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

/** Value of the cookie that stands for a token. */
export function cookieIn({ cookie = '' }: IncomingHttpHeaders): string | undefined {
  const pairs = cookie.split(';').map((pair) => splitOnce(pair.trim(), '='));
  return pairs.find(([name]) => name === COOKIE)?.[1];
}

function splitOnce(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}
