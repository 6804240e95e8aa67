// What a protocol's facade is given: it adds its routes to the application and translates between them and the sessions.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Sessions } from '../core/session-contract.js';

export interface FacadeContext {
  readonly sessions: Sessions;
  /** Who asks, once the request was let in. */
  readonly ownerOf: (request: FastifyRequest) => string;
  readonly version: string;
}

export interface Facade {
  readonly name: string;
  /** First segments of its routes' paths, which no environment may be called. */
  readonly reserved: readonly string[];
  register(app: FastifyInstance, context: FacadeContext): void | Promise<void>;
}
