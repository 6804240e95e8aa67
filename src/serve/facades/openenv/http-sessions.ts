// Which session a plain request means. The reference makes a new environment for each, so that no episode gets beyond its
// first observation; here a request may name its session, and then it goes on.

import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import type { FacadeContext } from '../../http/facade.js';
import { checkedMessage } from './field-errors.js';
import { Player } from './player.js';
import type { ReplyLimits } from './reply-in-time.js';

/** How sessions are named: told in the documentation of the routes. */
export const SESSION_HEADER = 'x-session-id';

export interface NamedSession {
  readonly id: string;
  /** Named by its episode alone: then it ends with it. */
  readonly endsWithEpisode: boolean;
}

const nameSchema = z.string().min(1).max(255);
const episodeSchema = z.looseObject({ episode_id: nameSchema.nullish() });

/** The header's session; else one called as the episode is. @throws MessageInvalid */
export function sessionNamed({ headers, query }: FastifyRequest, body: unknown): NamedSession | undefined {
  const header = headers[SESSION_HEADER];
  if (header !== undefined) {
    return { id: checkedMessage(nameSchema, header, ['header', 'X-Session-ID']), endsWithEpisode: false };
  }
  const { episode_id: inBody } = checkedMessage(episodeSchema, body ?? {}, ['body']);
  const { episode_id: inQuery } = checkedMessage(episodeSchema, query, ['query']);
  const id = inBody ?? inQuery;
  return id === null || id === undefined ? undefined : { id, endsWithEpisode: true };
}

export class HttpSessions {
  constructor(private readonly context: FacadeContext & { readonly replies: ReplyLimits }) {}

  /** The session called `id`, opened where there is none. @throws SESSION_EXISTS if it is another's */
  opened(request: FastifyRequest, served: Servable, { id }: NamedSession): Player {
    const { sessions, ownerOf } = this.context;
    const owner = ownerOf(request);
    try {
      if (sessions.state(id, owner).env !== served.name) throw reverieError('SESSION_EXISTS', { id });
    } catch (error) {
      if (!isUnknown(error)) throw error;
      sessions.open({ env: served.name, id, owner });
    }
    return this.player(request, served, id);
  }

  /** @throws SESSION_UNKNOWN, SESSION_GONE, SESSION_EXISTS if it is of another environment */
  known(request: FastifyRequest, served: Servable, { id }: NamedSession): Player {
    const { sessions, ownerOf } = this.context;
    if (sessions.state(id, ownerOf(request)).env !== served.name) throw reverieError('SESSION_EXISTS', { id });
    return this.player(request, served, id);
  }

  /** Does `work` with a session of its own, which is closed then. */
  async once<R>(request: FastifyRequest, served: Servable, work: (player: Player) => Promise<R>): Promise<R> {
    const { sessions, ownerOf } = this.context;
    const owner = ownerOf(request);
    const { id } = sessions.open({ env: served.name, owner });
    try {
      return await work(this.player(request, served, id));
    } finally {
      await sessions.close(id, owner);
    }
  }

  async close(request: FastifyRequest, { id }: NamedSession): Promise<void> {
    await this.context.sessions.close(id, this.context.ownerOf(request));
  }

  private player(request: FastifyRequest, served: Servable, id: string): Player {
    const { sessions, ownerOf, replies } = this.context;
    return new Player({ sessions, served, id, owner: ownerOf(request), replies });
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof ReverieError && (error.code === 'SESSION_UNKNOWN' || error.code === 'SESSION_GONE');
}
