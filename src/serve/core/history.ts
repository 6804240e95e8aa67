// What happened in the current episode of each session, for whoever looks on: the page, recordings, the operator. Kept in
// memory alone and bounded: steps of an episode, bytes of all; the sessions used least recently make way first, and a
// closed one stays until then.

import { LRUCache } from 'lru-cache';
import type { Json } from '../../json.js';
import type { Action, SessionEvent, SessionHistory, SessionState, Turn } from './session-contract.js';
import { publicInfo } from './turn.js';

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
/** Of a step without its values, as measured: 600 bytes for one of a pendulum in all. */
const STEP_BYTES = 420;

interface Moment {
  readonly action: Action | null;
  readonly turn: Turn;
  readonly seconds: number;
  readonly at: number;
  readonly bytes: number;
}

interface Recorded {
  session: SessionState;
  readonly moments: Moment[];
  bytes: number;
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
    if (event.kind === 'step') this.append(session, event.action, event.turn, event.seconds);
    else if (event.kind === 'reset') this.begin(session, event.turn, event.seconds);
    else if (event.kind === 'restored') this.goOn(session, session.id, event.turn);
    else if (event.kind === 'forked') this.goOn(session, event.parent, event.turn);
    else {
      const known = this.recorded.peek(session.id);
      if (known !== undefined) known.session = session;
    }
  }

  /**
   * The episode a session is in, or was in when it was closed; undefined where nothing of it is kept.
   * @param isOperator  `info` as the environment gave it; else only what a client may see of it
   */
  of(id: string, isOperator: boolean): SessionHistory | undefined {
    const recorded = this.recorded.peek(id);
    if (recorded === undefined) return undefined;
    const steps = recorded.moments.map(({ action, turn, seconds, at }) => {
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
    this.keep(session, newlyRecorded(session), moment(null, turn, seconds));
  }

  /** What led to the turn of a snapshot stays known where the session it is of still has it: then it is the same object. */
  private goOn(session: SessionState, from: string, turn: Turn): void {
    const moments = this.recorded.peek(from)?.moments ?? [];
    const at = moments.findIndex((one) => isSame(one.turn, turn));
    const before = moments.slice(0, Math.max(0, at));
    const bytes = before.reduce((sum, one) => sum + one.bytes, 0);
    this.keep(session, { ...newlyRecorded(session), moments: before, bytes }, moments[at] ?? moment(null, turn, 0));
  }

  private append(session: SessionState, action: Action, turn: Turn, seconds: number): void {
    this.keep(session, this.recorded.peek(session.id) ?? newlyRecorded(session), moment(action, turn, seconds));
  }

  private keep(session: SessionState, recorded: Recorded, next: Moment): void {
    const { moments } = recorded;
    recorded.session = session;
    moments.push(next);
    recorded.bytes += next.bytes;
    while (moments.length > this.limits.steps || recorded.bytes > this.limits.bytes * SHARE) {
      const oldest = moments.shift();
      if (oldest === undefined) break;
      recorded.bytes -= oldest.bytes;
    }
    const blocks = Math.ceil((recorded.bytes + STEP_BYTES) / this.block);
    if (blocks === recorded.blocks && next.at - recorded.toldAt < LULL) return;
    // As a new object: the cache takes the same one for unchanged, and its size too.
    const told = { ...recorded, blocks, toldAt: next.at };
    this.recorded.set(session.id, told, { size: Math.ceil(blocks * this.block) });
  }
}

function newlyRecorded(session: SessionState): Recorded {
  return { session, moments: [], bytes: 0, blocks: 0, toldAt: 0 };
}

function isSame(one: Turn, other: Turn): boolean {
  return one.stepCount === other.stepCount && one.return === other.return && one.observation === other.observation;
}

function moment(action: Action | null, turn: Turn, seconds: number): Moment {
  const bytes = STEP_BYTES + roughBytes(action) + roughBytes(turn.observation) + roughBytes(turn.info);
  return { action, turn, seconds, at: Date.now(), bytes };
}

/** About what a value holds in memory, without writing it out. */
function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  let bytes = 32;
  for (const key in value) bytes += 8 + roughBytes((value as Record<string, unknown>)[key]);
  return bytes;
}

/** A copy in JSON; rows as lists. */
function asJson(value: unknown): Json {
  const text = JSON.stringify(value, (_, one) => (one instanceof Float32Array ? Array.from(one) : one));
  return text === undefined ? null : (JSON.parse(text) as Json);
}
