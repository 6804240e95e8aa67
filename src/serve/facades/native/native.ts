// The native API: every verb the sessions have, as JSON over HTTP, and batches of rows.

import type { FastifyInstance } from 'fastify';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { batchRoutes } from './batch-routes.js';
import { environmentRoutes } from './environment-routes.js';
import type { NativeRoute } from './native-route.js';
import { sessionRoutes } from './session-routes.js';

const ROUTES: readonly NativeRoute[] = [...environmentRoutes, ...sessionRoutes, ...batchRoutes];

export const nativeFacade: Facade = {
  name: 'native',
  reserved: ['v1'],
  routes: ROUTES,
  register(app: FastifyInstance, { sessions, ownerOf }: FacadeContext) {
    for (const { method, path, handle } of ROUTES) {
      app[method]<{ Params: { id?: string; env?: string } }>(path, async (request, reply) => {
        const { id, env } = request.params;
        const asked = { request, reply, sessions, owner: ownerOf(request), id: id ?? env ?? '' };
        const answer = await handle(asked);
        return answer === undefined ? reply.send() : answer;
      });
    }
  },
};
