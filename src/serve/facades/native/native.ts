// The native API: every verb the sessions have, as JSON over HTTP, and batches of rows in binary.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { VectorTable } from '../../vector/vector-table.js';
import { batchRoutes } from './batch-routes.js';
import { environmentRoutes } from './environment-routes.js';
import type { NativeRoute } from './native-route.js';
import { sessionRoutes, stepShortcut } from './session-routes.js';
import { BINARY_TYPES } from './vector-formats.js';
import { socketRoute, vectorRoutes } from './vector-routes.js';
import { serveRows } from './vector-socket.js';

const ROUTES: readonly NativeRoute[] = [...environmentRoutes, ...sessionRoutes, ...batchRoutes, ...vectorRoutes];

type Params = { Params: { id?: string; env?: string } };

export const nativeFacade: Facade = {
  name: 'native',
  reserved: ['v1'],
  routes: [...ROUTES, socketRoute],
  shortcuts: (sessions) => [stepShortcut(sessions)],
  register(app: FastifyInstance, { sessions, ownerOf }: FacadeContext) {
    const vectors = new VectorTable(sessions);
    app.addHook('onClose', () => vectors.end());
    for (const type of BINARY_TYPES) {
      app.addContentTypeParser(type, { parseAs: 'buffer' }, (_, body, done) => done(null, body));
    }
    for (const { method, path, handle } of ROUTES) {
      // No promise where the handler answers with none: a step that waits for nothing is answered within its request's turn.
      app[method]<Params>(path, (request, reply) => {
        const { id, env } = request.params;
        const asked = { request, reply, sessions, vectors, owner: ownerOf(request), id: id ?? env ?? '' };
        const answer = handle(asked);
        if (answer instanceof Promise) return answer.then((one) => (one === undefined ? reply.send() : one));
        if (answer === undefined) void reply.send();
        return answer;
      });
    }
    const sessionOf = (request: FastifyRequest) => {
      return vectors.get((request.params as { id: string }).id, ownerOf(request));
    };
    // Before the connection is a WebSocket: there is an answer then, with a status.
    const preValidation = async (request: FastifyRequest) => void sessionOf(request);
    app.get(socketRoute.path, { websocket: true, preValidation }, (socket, request) =>
      serveRows(socket, request, () => sessionOf(request)),
    );
  },
};
