// `domain: { agentgym: URL }`.

import { z } from 'zod';
import type { ServerProtocol } from '../server-protocol.js';
import { AGENTGYM_DIALECTS, type AgentGymDialect } from './dialects.js';

export const agentGym: ServerProtocol = {
  name: 'agentgym',
  title: 'AgentGym',
  summary: 'An environment on a server of AgentGym.',
  schema: z.strictObject({
    agentgym: z.string().min(1).describe('address of a server of AgentGym'),
    dialect: z
      .enum(AGENTGYM_DIALECTS)
      .default('todo')
      .describe(
        'agentgym: how the server names things: `todo` (also movie, weather, sheet, academia, searchqa), `textcraft` (also babyai, sciworld), `game` (alfworld) or `webshop`',
      ),
  }),
  make: async () => {
    const { AgentGymServer } = await import('./agentgym-server.js');
    return ({ agentgym, dialect }, options) =>
      new AgentGymServer(String(agentgym), dialect as AgentGymDialect, options);
  },
};
