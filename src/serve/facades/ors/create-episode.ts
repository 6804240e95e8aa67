// POST /create: an episode for a session id that a client has. Asked again, as clients do when an answer got lost, it
// answers the same and starts no second one.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Json } from '../../../core/json.js';
import type { Owner, SessionState, Sessions } from '../../core/session-contract.js';
import { checkedBody } from '../../http/request-check.js';
import { environmentNamed } from '../named-environment.js';
import { resetOf } from '../task-specs.js';
import { createBody, wishIn } from './bodies.js';

export interface EpisodeRequest {
  readonly sid: string;
  readonly owner: Owner;
  readonly body: unknown;
  /** Of the environment, where the body has none. */
  readonly deployment?: string;
}

/**
 * @throws REQUEST_INVALID, ENV_NOT_SERVED, TASK_NOT_CHOSEN, SESSION_GONE for an id that was deleted, SESSION_EXISTS for one
 *   that is in another episode; as Sessions.open and Sessions.reset
 */
export async function createEpisode(sessions: Sessions, request: EpisodeRequest): Promise<void> {
  const { sid, owner } = request;
  const body = checkedBody(createBody, request.body);
  const served = environmentNamed(sessions, body.env_name ?? request.deployment);
  const reset = resetOf(served, wishIn(body));
  const episodeId = identityOf(sid, served.name, reset);
  const known = stateOf(sessions, sid, owner);
  if (known?.episodeId === episodeId) return;
  if (known !== undefined && (known.episodeId !== null || known.env !== served.name)) {
    throw reverieError('SESSION_EXISTS', { id: sid });
  }
  if (known === undefined) sessions.open({ env: served.name, id: sid, owner });
  await sessions.reset(sid, { ...reset, episodeId, requestId: episodeId }, owner);
}

/** The same for the same request in the same session. */
function identityOf(sid: string, env: string, reset: object): string {
  const content = JSON.parse(JSON.stringify({ sid, env, reset })) as Json;
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
}

/** undefined where there never was such a session. @throws SESSION_GONE */
function stateOf(sessions: Sessions, sid: string, owner: Owner): SessionState | undefined {
  try {
    return sessions.state(sid, owner);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'SESSION_UNKNOWN') return undefined;
    throw error;
  }
}
