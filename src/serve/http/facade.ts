// What a protocol's facade is given: it adds its routes to the application and translates between them and the sessions.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Sessions } from '../core/session-contract.js';
import type { HttpLimits } from './http-limits.js';
import type { RouteDescription } from './route-description.js';

export interface FacadeContext {
  readonly sessions: Sessions;
  /** Who asks, once the request was let in. */
  readonly ownerOf: (request: FastifyRequest) => string;
  readonly version: string;
  /** What frames and bodies are held to; bodies of JSON were already. */
  readonly limits: HttpLimits;
}

export interface Facade {
  readonly name: string;
  /** Path that its clients are given after the server's address; none: the address alone. */
  readonly endpoint?: string;
  /** First segments of its routes' paths, which no environment may be called. */
  readonly reserved: readonly string[];
  /** What /openapi.json and /docs tell of it. */
  readonly routes?: readonly RouteDescription[];
  register(app: FastifyInstance, context: FacadeContext): void | Promise<void>;
}
