// `domain: { ors: URL }`.

import { z } from 'zod';
import type { ServerProtocol } from '../server-protocol.js';

export const ors: ServerProtocol = {
  name: 'ors',
  title: 'Open Reward Standard',
  summary: 'An environment on a server of the Open Reward Standard.',
  schema: z.strictObject({ ors: z.string().min(1).describe('address of a server of the Open Reward Standard') }),
  make: async () => {
    const { OrsServer } = await import('./ors-server.js');
    return ({ ors: url }, options) => new OrsServer(String(url), options);
  },
};
