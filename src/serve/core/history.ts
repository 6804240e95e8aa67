// What happened in the current episode of each session, for whoever looks on: the page, recordings, the operator. Kept in
// memory alone and bounded: steps of an episode, bytes of all; the sessions used least recently make way first, and a
// closed one stays until then.

import { LRUCache } from 'lru-cache';
import type { Json } from '../../core/json.js';

import { type Moment, Moments, momentOf } from './moments.js';
import type { Action, SessionEvent, SessionHistory, SessionState, Turn } from './session-contract.js';
import { sessionKey } from './session-ids.js';
import { publicInfo } from './values.js';

export interface HistoryLimits {
  /** Steps kept of an episode: the latest. */
  readonly steps: number;
  /** Bytes kept of all sessions, roughly counted. */
  readonly bytes: number;
}

export const HISTORY_LIMITS: HistoryLimits = { steps: 2_000, bytes: 64 << 20 };

/** No session may have more than this share of the bytes. */
const SHARE = 1 / 8;
/** Sessions are weighed in blocks of this share of all bytes: not each step makes one heavier. */
const BLOCK = 1 / 16_384;
/** Milliseconds between which the cache is not told that a session is used. */
const LULL = 1000;
/** Of a session without its steps, as measured. */
const SESSION_BYTES = 1500;

interface Recorded {
  session: SessionState;
  readonly moments: Moments;
  /** As the cache weighs it. */
  blocks: number;
  /** When the cache was told of it last, in milliseconds since the epoch. */
  toldAt: number;
}

export class Histories {
  private readonly recorded: LRUCache<string, Recorded>;
  /** Bytes. */
  private readonly block: number;

  constructor(private readonly limits: HistoryLimits = HISTORY_LIMITS) {
    this.block = Math.max(1, limits.bytes * BLOCK);
    this.recorded = new LRUCache({ maxSize: limits.bytes });
  }

  /** Takes down what a session's event tells. */
  record(event: SessionEvent): void {
    const { session } = event;
    const key = sessionKey(session.owner, session.id);
    if (event.kind === 'step') this.append(session, event.action, event.turn, event.seconds);
    else if (event.kind === 'reset') this.begin(session, event.turn, event.seconds);
    else if (event.kind === 'restored') this.goOn(session, key, event.turn);
    else if (event.kind === 'forked') this.goOn(session, sessionKey(session.owner, event.parent), event.turn);
    else {
      const known = this.recorded.peek(key);
      if (known !== undefined) known.session = session;
    }
  }

  /**
   * The episode a session is in, or was in when it was closed; undefined where nothing of it is kept.
   * @param isOperator  `info` as the environment gave it; else only what a client may see of it
   */
  of(key: string, isOperator: boolean): SessionHistory | undefined {
    const recorded = this.recorded.peek(key);
    if (recorded === undefined) return undefined;
    const steps = recorded.moments.all().map(({ action, turn, seconds, at }) => {
      const { observation, reward, terminated, truncated, info, stepCount: index } = turn;
      return {
        index,
        action: asJson(action),
        observation: asJson(observation),
        reward,
        terminated,
        truncated,
        info: asJson(isOperator ? info : publicInfo(info)),
        seconds,
        at,
      };
    });
    return { session: recorded.session, steps };
  }

  private begin(session: SessionState, turn: Turn, seconds: number): void {
    this.keep(session, newlyRecorded(session), momentOf(null, turn, seconds));
  }

  /** What led to the turn of a snapshot stays known where the session it is of still has it. */
  private goOn(session: SessionState, from: string, turn: Turn): void {
    const moments = this.recorded.peek(from)?.moments.endingWith(turn);
    if (moments === undefined) this.begin(session, turn, 0);
    else this.tell({ ...newlyRecorded(session), moments }, Date.now());
  }

  private append(session: SessionState, action: Action, turn: Turn, seconds: number): void {
    const known = this.recorded.peek(sessionKey(session.owner, session.id));
    this.keep(session, known ?? newlyRecorded(session), momentOf(action, turn, seconds));
  }

  private keep(session: SessionState, recorded: Recorded, next: Moment): void {
    const { moments } = recorded;
    recorded.session = session;
    moments.push(next);
    while (moments.length > this.limits.steps || moments.bytes > this.limits.bytes * SHARE) moments.dropOldest();
    this.tell(recorded, next.at);
  }

  /** Tells the cache that a session is used, and what it holds. */
  private tell(recorded: Recorded, at: number): void {
    const blocks = Math.ceil((recorded.moments.bytes + SESSION_BYTES) / this.block);
    if (blocks === recorded.blocks && at - recorded.toldAt < LULL) return;
    // As a new object: the cache takes the same one for unchanged, and its size too.
    const told = { ...recorded, blocks, toldAt: at };
    const { owner, id } = recorded.session;
    this.recorded.set(sessionKey(owner, id), told, { size: Math.ceil(blocks * this.block) });
  }
}

function newlyRecorded(session: SessionState): Recorded {
  return { session, moments: new Moments(), blocks: 0, toldAt: 0 };
}

/** A copy in JSON; rows as lists. */
function asJson(value: unknown): Json {
  const text = JSON.stringify(value, (_, one) => (one instanceof Float32Array ? Array.from(one) : one));
  return text === undefined ? null : (JSON.parse(text) as Json);
}
