// What a protocol's facade is given: it adds its routes to the application and translates between them and the sessions.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Sessions } from '../core/session-contract.js';
import type { HttpLimits } from './http-limits.js';

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
  /** First segments of its routes' paths, which no environment may be called. */
  readonly reserved: readonly string[];
  /** What /openapi.json and /docs tell of it. */
  readonly routes?: readonly RouteDescription[];
  register(app: FastifyInstance, context: FacadeContext): void | Promise<void>;
}

// What is told of a route: enough for the OpenAPI document and the page made of it.

export interface RouteDescription {
  readonly method: 'get' | 'post' | 'delete';
  /** As fastify has it: `/v1/sessions/:id`. */
  readonly path: string;
  /** Heading it stands under. */
  readonly tag: string;
  /** A few words; imperative. */
  readonly summary: string;
  readonly description?: string;
  /** What the parts of the path are, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** An object of what may stand behind the `?`. */
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyDescription;
  readonly answer: AnswerDescription;
}

export interface BodyDescription {
  readonly schema: z.ZodType;
  readonly example?: unknown;
  /** Whether there must be one. Default: true. */
  readonly required?: boolean;
  /** Other content types it may come in, and what they hold. */
  readonly binary?: Readonly<Record<string, string>>;
}

export interface AnswerDescription {
  readonly status: number;
  readonly description: string;
  /** None: an empty answer. */
  readonly schema?: z.ZodType;
  readonly binary?: Readonly<Record<string, string>>;
}
