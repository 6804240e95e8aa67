// `domain: { openenv: URL }`.

import { z } from 'zod';
import type { ServerProtocol } from '../server-protocol.js';
import type { OpenEnvSocket } from './socket.js';

/** A connection to `/ws`, for who looks at its frames one by one. @throws Error where there is none to be had in time */
export async function connectOpenEnv(
  url: string,
  headers: Readonly<Record<string, string>>,
  timeoutSeconds: number,
): Promise<OpenEnvSocket> {
  const { OpenEnvSocket: Socket } = await import('./socket.js');
  return Socket.connect(url, headers, timeoutSeconds);
}

export const openEnv: ServerProtocol = {
  name: 'openenv',
  title: 'OpenEnv',
  summary: 'An environment on a server of OpenEnv.',
  schema: z.strictObject({
    openenv: z.string().min(1).describe('address of a server of OpenEnv, or of one of its environments (…/envs/NAME)'),
  }),
  make: async () => {
    const { OpenEnvServer } = await import('./openenv-server.js');
    return ({ openenv }, options) => new OpenEnvServer(String(openenv), options);
  },
};
