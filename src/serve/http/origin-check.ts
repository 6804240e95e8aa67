// Pages of other sites in the browser of someone who may reach the server: they may not use it. A page whose name was
// rebound to this machine is known by its Host header, any other by what browsers say of where a request comes from.

import type { IncomingHttpHeaders } from 'node:http';
import { reverieError } from '../../core/errors.js';

export interface HostRules {
  /** Names and addresses the server may be asked by, without ports; `any`: tokens keep strangers out. */
  readonly hosts: readonly string[] | 'any';
  /** Hosts whose pages may use the server besides its own. */
  readonly pagesOf: readonly string[];
}

/** What is looked at of a request: fastify's and node's own both are one. */
export interface Visit {
  readonly method?: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether it is a WebSocket's handshake. */
  readonly ws?: boolean;
}

export const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

const HARMLESS = new Set(['GET', 'HEAD']);

/** What holds a request to the rules. It throws HOST_REFUSED, ORIGIN_REFUSED. */
export function originCheck({ hosts, pagesOf }: HostRules): (visit: Visit) => void {
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
