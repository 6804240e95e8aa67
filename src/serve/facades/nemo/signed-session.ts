// Sessions as NeMo-Gym knows them: a cookie with the session's id, signed with a key of this server's own.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { unguessable } from '../../core/unguessable.js';

const NAME = 'reverie_session';

export class SignedSessions {
  private readonly key = unguessable();

  /** Id of the session; undefined without a cookie of this server. */
  read({ headers }: FastifyRequest): string | undefined {
    const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
    const value = pairs.find(([name]) => name === NAME)?.[1] ?? '';
    const [id, signature = ''] = value.split('.');
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.sign(id));
    return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
  }

  write(reply: FastifyReply, id: string): void {
    void reply.header('set-cookie', `${NAME}=${id}.${this.sign(id)}; Path=/; HttpOnly; SameSite=Lax`);
  }

  private sign(id: string): string {
    return createHmac('sha256', this.key).update(id).digest('base64url');
  }
}
