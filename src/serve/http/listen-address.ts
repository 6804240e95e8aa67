// Which address a server listens on, and whether anyone but this machine reaches it.

import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { reverieError } from '../../core/errors.js';

export interface ListenAddress {
  /** What is listened on: names were resolved. */
  readonly address: string;
  readonly isLoopback: boolean;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/**
 * Resolves a host once. A name counts as loopback only if all its addresses do.
 * @throws ADDRESS_UNUSABLE
 */
export async function listenAddress(host: string, port: number): Promise<ListenAddress> {
  const found = await lookup(host.replace(/^\[(.*)\]$/, '$1'), { all: true }).catch((error: NodeJS.ErrnoException) => {
    throw reverieError('ADDRESS_UNUSABLE', { host, port, problem: `no such address (${error.code})` }, error);
  });
  const isLoopback = found.every(({ address, family }) => loopback.check(address, family === 6 ? 'ipv6' : 'ipv4'));
  return { address: found[0].address, isLoopback };
}

/** The URL by which this machine reaches a server; one that listens everywhere, on loopback. */
export function urlOf(address: string, port: number): string {
  const reached = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address] ?? address;
  return `http://${isIPv6(reached) ? `[${reached}]` : reached}:${port}`;
}

/** What listening failed with, as an error of the catalogue. */
export function listenError(host: string, port: number, error: NodeJS.ErrnoException): unknown {
  if (error.code === 'EADDRINUSE') return reverieError('PORT_TAKEN', { host, port }, error);
  const problem = { EACCES: 'not allowed', EADDRNOTAVAIL: 'no address of this machine' }[error.code ?? ''];
  return problem === undefined ? error : reverieError('ADDRESS_UNUSABLE', { host, port, problem }, error);
}
