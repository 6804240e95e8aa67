// The door to environments on servers. What talks to them is loaded when the first is asked for: most processes never do.

import type { AnyRemoteEnvironment, RemoteOptions } from './remote-environment.js';

/**
 * An environment that `reverie serve` serves at `url`, as one of this process: it is reset, stepped, kept and restored there.
 * Close it: it holds a session.
 * @throws REMOTE_URL_INVALID, SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT, ENV_NOT_SERVED
 */
export async function remoteEnvironment(url: string, options: RemoteOptions = {}): Promise<AnyRemoteEnvironment> {
  const { openRemote } = await import('./remote-environment.js');
  return openRemote(url, options);
}
