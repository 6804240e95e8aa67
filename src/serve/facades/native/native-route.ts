// A route of the native API: what is told of it and what it does.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Owner, Sessions } from '../../core/session-contract.js';
import type { RouteDescription } from '../../http/route-description.js';
import type { VectorTable } from '../../vector/vector-table.js';

export interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly sessions: Sessions;
  readonly vectors: VectorTable;
  readonly owner: Owner;
  /** The path's `:id` or `:env`. */
  readonly id: string;
}

export interface NativeRoute extends RouteDescription {
  /** Answers what is sent; undefined: nothing is. */
  handle(asked: Asked): unknown;
}
